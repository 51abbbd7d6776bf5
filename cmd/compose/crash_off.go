//go:build !crashpoints

package compose

import "github.com/writ-automation/writ/ports/tx"

// crash returns nil outside builds for tests.
func crash() func(point string) { return nil }

// crashing returns the unit unchanged outside builds for tests.
func crashing(u tx.Unit) tx.Unit { return u }
