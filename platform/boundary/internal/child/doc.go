// Package child is the part of the boundary that runs inside it: the process that the server starts in place of a tool,
// builds the boundary around itself, starts the tool and ends what the tool leaves.
//
// The process is a program with nothing else, or the server's binary again. Its init function takes over before the
// packages of the server are initialised, which would cost ten times as much. That depends on the imports: the runtime
// initialises ready packages in the order of their paths, so this package imports syscall, unsafe, os, os/signal and
// what these need, and nothing else.
package child
