package near_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/near"
)

func TestEdits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b  string
		bound int
		want  int
	}{
		{"", "", 3, 0}, {"web", "web", 3, 0}, {"web", "wbe", 3, 1}, {"web", "webs", 3, 1}, {"web", "wob", 3, 1},
		{"statsu", "status", 3, 1}, {"abc", "xyz", 2, 2}, {"", "abc", 2, 2}, {"", "abc", 9, 3}, {"Ärger", "Arger", 9, 1},
	} {
		if got := near.Edits([]rune(c.a), []rune(c.b), c.bound); got != c.want {
			t.Errorf("%q and %q up to %d: %d, want %d", c.a, c.b, c.bound, got, c.want)
		}
	}
}

// TestEditsHaveABound checks the laws of a distance: a bound only cuts it, and the order of the texts does not matter.
func TestEditsHaveABound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.SampledFrom([]rune("abc")), 0, 7)
		a, b, bound := text.Draw(t, "a"), text.Draw(t, "b"), rapid.IntRange(1, 9).Draw(t, "bound")
		whole := near.Edits(a, b, 100)
		if got := near.Edits(a, b, bound); got != min(whole, bound) || near.Edits(b, a, 100) != whole ||
			(whole == 0) != (string(a) == string(b)) || whole > max(len(a), len(b)) {
			t.Fatalf("%d up to %d, %d in all", got, bound, whole)
		}
	})
}
