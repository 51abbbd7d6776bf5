// Package program runs programs for the server itself, such as git and ansible-inventory. Each program gets a session
// of its own, inherits nothing and has bounded output, and its whole process group has ended when Run returns. It
// needs Linux.
package program
