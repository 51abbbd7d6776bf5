package cli

import (
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/importer"
)

// TestSameFires: times that one list has because it began earlier do not differ; an end of one schedule does.
func TestSameFires(t *testing.T) {
	t.Parallel()
	at := func(hours ...int) []time.Time {
		out := []time.Time{}
		for _, h := range hours {
			out = append(out, time.Date(2030, time.May, 4, h, 0, 0, 0, time.UTC))
		}
		return out
	}
	from := at(2)[0]
	for name, x := range map[string]struct {
		old, here []time.Time
		same      bool
	}{
		"equal":                 {at(2, 3, 4, 5, 6), at(2, 3, 4, 5, 6), true},
		"neither fires":         {at(), at(), true},
		"began earlier":         {at(1, 2, 3, 4, 5), at(2, 3, 4, 5, 6), true},
		"began later":           {at(2, 3, 4, 5, 6), at(1, 2, 3, 4, 5), true},
		"another time":          {at(2, 3, 4, 5, 6), at(2, 3, 4, 5, 7), false},
		"skips one to come":     {at(2, 3, 4, 5, 6), at(3, 4, 5, 6, 7), false},
		"ends there":            {at(2, 3), at(2, 3, 4, 5, 6), false},
		"ends here":             {at(2, 3, 4, 5, 6), at(2, 3), false},
		"never fires here":      {at(2, 3, 4, 5, 6), at(), false},
		"both end, one is past": {at(1, 2, 3), at(2, 3), true},
	} {
		if got := sameFires(importer.FiresBody{Source: x.old, Writ: x.here}, from); got != x.same {
			t.Errorf("%s: %v", name, got)
		}
	}
}
