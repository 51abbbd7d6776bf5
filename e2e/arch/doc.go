// Package arch holds the gates that keep the shape of the code: who may import whom, how large things may grow,
// what they are called and which words and calls have no place in the tree.
//
// The rules are data in rules.go; the tests read the source of every file, whatever its build constraints, and the
// table in docs/architecture.md is written from the same data by "go test ./e2e/arch -update". A failure names
// the rule, the file and the reason of the rule.
package arch
