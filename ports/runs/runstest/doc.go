// Package runstest tests implementations of the stores of ports/runs against their contract. An adapter calls Run
// with a function that opens fresh, empty stores, and so does a custom store.
package runstest
