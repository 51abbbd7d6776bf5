// Package audit records who did what in a hash chain, proves it with signed files, and checks such files without a
// server, a database or a network.
package audit
