// Package harness runs the real writ binary for end-to-end tests: it builds it once, starts servers on free loopback
// ports over either engine, speaks their REST API as any client does, and kills them as rudely as a test asks.
package harness
