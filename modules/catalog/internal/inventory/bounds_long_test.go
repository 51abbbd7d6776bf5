//go:build long

package inventory_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/writ-automation/writ/modules/catalog/internal/inventory"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
)

// TestLargeBounds uses content that is only refused after much of it was parsed.
func TestLargeBounds(t *testing.T) {
	t.Parallel()
	bomb := "x:\n  vars:\n    a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n"
	for i := 1; i < 30; i++ {
		bomb += fmt.Sprintf("    a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9), i-1)
	}
	for name, c := range map[string]struct {
		format catalog.Format
		text   string
	}{
		"mentions":         {catalog.INI, strings.Repeat("h[1:200000]\n", 20)},
		"variables":        {catalog.INI, "h[1:200000]" + strings.Repeat(" x=1", 20)},
		"aliases":          {catalog.YAML, bomb},
		"range, many vars": {catalog.YAML, "x: {hosts: {'h[1:200000]': {" + manyVars(20) + "}}}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := inventory.Parse([]byte(c.text), c.format); !fault.Is(err, fault.Invalid) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func manyVars(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "v%d: 1, ", i)
	}
	return b.String()
}
