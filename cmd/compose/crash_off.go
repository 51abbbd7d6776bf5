//go:build !crashpoints

package compose

import "github.com/writ-automation/writ/ports/tx"

// crash is nothing outside of builds for tests.
func crash() func(point string) { return nil }

// crashing is the unit itself outside of builds for tests.
func crashing(u tx.Unit) tx.Unit { return u }
