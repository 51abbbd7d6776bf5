package records_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/writ-automation/writ/modules/scheduling/internal/records"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// TestReason keeps the message of a refusal, what its reasons add, and what has to happen next, in one short line.
func TestReason(t *testing.T) {
	t.Parallel()
	busy := runs.TemplateBusy.New("the template is\nbusy")
	for want, err := range map[string]error{
		"an internal error, which the server's log names": errors.New("secret"),
		"the template is busy":                            busy,
		"the template is busy; run_1 runs since noon; run_1 ends": runs.WithReasons(busy,
			runs.Reason{}, runs.Reason{Text: "run_1 runs since noon", Next: "run_1 ends"}),
		strings.Repeat("x", 500): runs.WithReasons(fault.BadField("a", "b"),
			runs.Reason{Text: strings.Repeat("y", 600)}),
	} {
		got := records.Reason(err)
		if strings.HasPrefix(want, "xx") {
			if utf8.RuneCountInString(got) != len(want) {
				t.Errorf("%d characters", utf8.RuneCountInString(got))
			}
		} else if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
