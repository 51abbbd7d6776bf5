package goplugin

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/writ-automation/writ/ports/extension/plugin/wire"
)

// maxPlugins bounds the executables of a directory.
const maxPlugins = 64

// found is an executable of the directory.
type found struct {
	name string // of its file
	path string // without links
	err  error  // why it is not started
}

// discover lists the executables of a directory by name. What begins with a dot, is a directory or may not be executed
// is no plugin. The directory and the directories above it have to be closed to other users, as each plugin has.
func discover(dir string) ([]found, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("plugins-dir: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("plugins-dir: %w", err)
	}
	if err := trusted(dir); err != nil {
		return nil, fmt.Errorf("plugins-dir: %w", err)
	}
	var out []found
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		f := found{name: e.Name()}
		if f.path, err = filepath.EvalSymlinks(filepath.Join(dir, e.Name())); err != nil {
			f.err = err
		} else if info, err := os.Stat(f.path); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			continue
		} else if !wire.ValidName(e.Name()) {
			f.err = fmt.Errorf("its name has other characters than letters, digits, dots, underscores and hyphens, or "+
				"more than %d of them", wire.MaxName)
		} else {
			f.err = trusted(f.path)
		}
		out = append(out, f)
	}
	if len(out) > maxPlugins {
		return nil, fmt.Errorf("plugins-dir: %s has %d executables, and at most %d are started", dir, len(out), maxPlugins)
	}
	return out, nil
}

// trusted returns an error with the remedy if another account than root or that of this process may replace a path.
func trusted(path string) error {
	for at := path; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil {
			return err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok || st.Uid != 0 && int(st.Uid) != os.Geteuid() {
			return fmt.Errorf("%s belongs to another account, which could replace plugins: chown it to root or to the "+
				"account of writ", at)
		}
		// In a sticky directory others cannot replace what they do not own.
		shared := at != path && info.Mode()&fs.ModeSticky != 0
		if info.Mode().Perm()&0o022 != 0 && !shared {
			return fmt.Errorf("%s may be written by other accounts, which could replace plugins: chmod go-w %s", at, at)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}
