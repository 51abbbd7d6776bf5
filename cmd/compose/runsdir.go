package compose

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// memoryFree is the free space that a file system in memory needs to hold the directories of runs.
const memoryFree = 512 << 20

// runsDir returns the parent of the private directories of runs: the configured one, else a directory of this process
// on a file system in memory, else one below the data directory. Every run creates and removes a few small files, some
// with secrets; on a disk this costs more than the rest of a short run, and waits for the writes of the database. Files
// that may grow are spooled below the data directory in any case.
func (x *Executor) runsDir(d *dataDir) string {
	if x.RunsDir != "" {
		return x.RunsDir
	}
	sum := sha256.Sum256([]byte(d.root))
	name := "writ-" + hex.EncodeToString(sum[:6])
	for _, base := range []string{os.Getenv("XDG_RUNTIME_DIR"), "/dev/shm"} {
		if base == "" || !inMemory(base) {
			continue
		}
		path := filepath.Join(base, name)
		if err := ownDir(path); err == nil {
			d.scratch = path
			return path
		}
	}
	return d.path(localRuns)
}

// inMemory reports whether dir is on a file system in memory with free space that permits programs to execute.
func inMemory(dir string) bool {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return false
	}
	//nolint:gosec // sizes are positive
	return st.Type == unix.TMPFS_MAGIC && st.Flags&unix.ST_NOEXEC == 0 && st.Bavail*uint64(st.Bsize) >= memoryFree
}

// ownDir creates a directory for this user only, in a place where every user may create one: an existing one must be a
// directory of this user that no other user may enter.
func ownDir(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(st.Uid) != os.Geteuid() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s is not this user's own directory", path)
	}
	return nil
}
