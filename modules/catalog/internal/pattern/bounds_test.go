package pattern_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/modules/catalog/internal/pattern"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/fault"
)

// large returns an inventory with one group.
func large(hosts int) *pattern.Index {
	c := &catalog.InventoryContent{Groups: map[string]*catalog.InventoryGroup{}}
	for i := range hosts {
		c.Hosts = append(c.Hosts, fmt.Sprintf("web-%06d.example.com", i))
	}
	c.Groups["all"] = &catalog.InventoryGroup{Hosts: slices.Clone(c.Hosts)}
	return pattern.NewIndex(c)
}

// many returns a limit of patterns with the numbers from 0.
func many(count int, format string) string {
	var list []string
	for i := range count {
		list = append(list, fmt.Sprintf(format, i))
	}
	return strings.Join(list, ",")
}

// TestBounds uses thousands of wildcards on a large inventory. With a prefix they are resolved; without one they are
// refused before the work is done, with a fault that names the member.
func TestBounds(t *testing.T) {
	t.Parallel()
	hosts := depthtest.Of(20_000, 100_000)
	e := large(hosts)
	for name, c := range map[string]struct {
		limit string
		count int // -1 means refused
	}{
		"beginnings":    {many(3000, "web-%06d*"), 3000},
		"sets":          {many(2500, "web-%06d.[a-z]*.com"), 2500},
		"subtracted":    {many(1000, "!web-%06d?example.com"), hosts - 1000},
		"backtracking":  {many(4000, strings.Repeat("*e", 5)+"*%d"), -1},
		"expressions":   {many(4000, "~.*(a|b|c)*%d$"), -1},
		"intersections": {strings.TrimSuffix(strings.Repeat("&w*,", 10_000), ","), depthtest.Of(hosts, -1)},
	} {
		r, err := e.Resolve(t.Context(), c.limit)
		refused := fault.Is(err, fault.Invalid) && strings.HasPrefix(err.Error(), "limit: ")
		if c.count < 0 && !refused || c.count >= 0 && (err != nil || r.Count != c.count) {
			t.Errorf("%s: %d hosts, %v", name, r.Count, err)
		}
	}
}
