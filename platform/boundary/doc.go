// Package boundary keeps the processes of runs apart from the server and from each other.
//
// A tool is not started by the server itself but by a small process inside the boundary (internal/child). Its program
// is embedded (internal/shim), or this binary again. That process builds the boundary from system calls, starts the
// tool in it, and ends what the tool leaves. How much it can close depends on the machine: Open tries the levels, the
// strongest first, by running a program in each, and takes the first that works.
package boundary
