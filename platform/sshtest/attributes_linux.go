package sshtest

import "syscall"

// processAttributes makes the kernel kill an sshd when its parent ends, so that a killed test binary leaves none
// behind.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
