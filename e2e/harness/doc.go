// Package harness runs the real writ binary for end-to-end tests: it builds the binary once, starts servers on free
// loopback ports over either engine, calls their REST API, and stops or kills them.
package harness
