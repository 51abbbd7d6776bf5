// Package arch holds the gates for the shape of the code: the allowed imports, the size limits, the names, and the
// forbidden words and calls.
//
// The rules are data in rules.go. The tests read the source of every file, whatever its build constraints. "go test
// ./e2e/arch -update" writes the table in docs/architecture.md from the same data. A failure names the rule, the file
// and the reason of the rule.
package arch
