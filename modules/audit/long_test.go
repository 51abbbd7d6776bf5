//go:build !race

package audit_test

// longChain is how many entries the chain of TestMemoryStaysFlat has.
const longChain int64 = 50_000
