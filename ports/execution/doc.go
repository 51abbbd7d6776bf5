// Package execution is the contract between the holder of the runs and their executors: the executor's loop, its tools
// and the processes that it leaves behind.
package execution
