package fleet

import "syscall"

// processAttributes ties a host to the life of its parent: a test binary that is killed leaves no server behind.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
