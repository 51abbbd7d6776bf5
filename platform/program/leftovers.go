package program

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// EndLeftovers kills, without waiting, every other process that was started with a HOME below the directory home.
// Those are the processes that left the process group of their program, and those that outlived a killed process: the
// kernel ended the programs that it had started itself, but not their children. Only one process at a time may use the
// directory, and each program that is started for it must get a HOME below it. A process that changed its environment
// on purpose is not found, nor is one of another account. An empty directory name ends nothing.
func EndLeftovers(home string) {
	if home == "" {
		return // every home is below that
	}
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return
	}
	below := []byte("\x00HOME=" + home + "/")
	found := func(dir string) bool {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		return err == nil && bytes.Contains(append([]byte{0}, env...), below)
	}
	for _, dir := range all {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() || !found(dir) {
			continue
		}
		p, err := os.FindProcess(pid) // refers to this process even if its pid is reused
		if err != nil {
			continue
		}
		if found(dir) { // the pid may have been reused before
			_ = p.Kill() // it may be gone already
		}
		_ = p.Release()
	}
}
