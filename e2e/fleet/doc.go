// Package fleet starts real SSH servers on loopback addresses, for tests that need hosts.
//
// Each host is one sshd on an address of its own with its own host key, home directory, temporary directory and root
// directory. It accepts the user who started it, only by key. It works as root and as an ordinary user, and writes
// nothing outside of its directory, except a missing privilege separation folder of sshd as root. Hosts can be
// stopped, started again, frozen and thawed one by one. They end with the test, and with the process that started
// them if that dies.
//
// The package needs Linux, where loopback addresses other than 127.0.0.1 exist without configuration.
package fleet
