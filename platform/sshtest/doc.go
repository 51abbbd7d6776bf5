// Package sshtest runs a real SSH server for tests.
//
// The test process itself listens on the server's port, from beginning to end, so that no other process can take the
// port and no test has to wait for the server. Each connection gets an sshd of its own (sshd -i). All processes of the
// connections end with the server: also those that left their session, if they keep the environment from sshd. If the
// test process is killed, its sshd processes are killed with it.
//
// A server needs OpenSSH's sshd and, to find its processes, Linux's /proc.
package sshtest
