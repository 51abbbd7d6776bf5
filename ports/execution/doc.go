// Package execution is the contract between whatever holds the runs and whatever executes them: the executor's loop,
// the tools that it knows and the processes that it leaves behind.
package execution
