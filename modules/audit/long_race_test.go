//go:build race

package audit_test

// longChain is shorter where everything takes ten times as long; then it shows races and little about memory.
const longChain = 5_000
