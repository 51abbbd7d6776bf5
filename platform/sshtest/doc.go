// Package sshtest runs a real SSH server for tests.
//
// The test process itself holds the server's port, from the first moment to the last, so that no other process can take
// it and nobody has to wait until the server answers. Each connection gets an sshd of its own (sshd -i). All that the
// connections started ends with the server: also what left its session, as long as it keeps the environment that sshd
// gave it. Where the test process is killed, its sshd processes are killed with it.
//
// A server needs OpenSSH's sshd and, to find its processes, Linux's /proc.
package sshtest
