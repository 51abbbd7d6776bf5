// Package fleet starts real SSH servers on loopback addresses, for tests that want hosts.
//
// Each host is one sshd on an address of its own with its own host key, home directory, temporary directory and root
// directory, and lets in whoever started it, by key alone. It works as root and as an ordinary user and writes
// nothing outside of its directory, apart from sshd's privilege separation folder where root has none yet. Hosts
// can be stopped, started again, frozen and thawed one by one. They end with the test, and with the process that
// started them if that dies.
//
// Loopback addresses other than 127.0.0.1 exist on Linux without being set up, which is where this package works.
package fleet
