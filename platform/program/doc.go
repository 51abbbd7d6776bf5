// Package program runs the programs that the server itself needs, such as git and ansible-inventory. Each runs in a
// session of its own with nothing inherited and with bounded output, and is gone with its whole process group when it
// is returned from. It needs Linux.
package program
