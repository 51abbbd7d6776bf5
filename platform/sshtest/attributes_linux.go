package sshtest

import "syscall"

// processAttributes ties an sshd to the life of its parent: a test binary that is killed leaves none behind.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
