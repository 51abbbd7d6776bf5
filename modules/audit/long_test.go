//go:build !race

package audit_test

// longChain is the number of entries in TestMemoryStaysFlat.
const longChain int64 = 50_000
