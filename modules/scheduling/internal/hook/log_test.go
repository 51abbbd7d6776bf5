package hook

import (
	"strings"
	"testing"
	"time"
)

// TestRefusals logs one refusal of each trigger in a pause, however many come.
func TestRefusals(t *testing.T) {
	t.Parallel()
	var r refusals
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for i, c := range []struct {
		trigger string
		after   time.Duration
		want    bool
	}{
		{"a", 0, true}, {"a", 0, false}, {"b", time.Second, true}, {"a", refusalPause - 1, false},
		{"a", refusalPause, true}, {"a", refusalPause + 1, false}, {"b", refusalPause + time.Second, true},
	} {
		if got := r.logs(c.trigger, start.Add(c.after)); got != c.want {
			t.Errorf("%d: %s after %s: %t", i, c.trigger, c.after, got)
		}
	}
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"push": "push", "a\r\nb\x1b[2Jc\u2028": "a b [2Jc", "\u202egnp": "gnp", "\xff": "", "tür 京": "tür 京",
		strings.Repeat("京", 100): strings.Repeat("京", 66), strings.Repeat("x\xff", 200): strings.Repeat("x", 100),
	} {
		if got := oneLine(text); got != want || len(got) > maxLine {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
