// Package setup tests the scripts beside it: what "make run" and "make test" do on a machine, and the example that a
// newcomer sees first.
package setup
