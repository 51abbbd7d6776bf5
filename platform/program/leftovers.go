package program

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// EndLeftovers ends, at once and without waiting for it, every other process whose HOME was set to something below
// the directory home when it was started. Those are the ones that left the process group of their program, and those
// that outlived a process that was killed: the kernel ended the programs that it had started itself, and not what
// these had started. The directory has to belong to one process at a time, and each program that is started for it
// has to get a HOME below it. A process that changed its environment on purpose is not found, nor is one of another
// account. An empty directory ends nothing.
func EndLeftovers(home string) {
	if home == "" {
		return // every home is below that
	}
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return
	}
	for _, dir := range all {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() {
			continue
		}
		p, err := os.FindProcess(pid) // which stays this process, whoever gets its number
		if err != nil {
			continue
		}
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err == nil && bytes.Contains(append([]byte{0}, env...), []byte("\x00HOME="+home+"/")) {
			_ = p.Kill() // it may be gone already
		}
		_ = p.Release()
	}
}
