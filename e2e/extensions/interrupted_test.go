package extensions

import (
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestNotifierOfInterrupted checks that a notifier is called once for a run whose server was killed.
func TestNotifierOfInterrupted(t *testing.T) {
	t.Parallel()
	w := start(t, "")
	id := w.Submit(harness.Body{"tool": "bash", "command": "echo begun; sleep 3600"}).ID
	eventually(t, "the process runs", func() bool { return strings.Contains(w.Log(id), "begun") })
	w.Kill()
	w.Server = w.Again()
	if r := w.Await(id); r.Status != "interrupted" {
		t.Errorf("the run is %s", r.Status)
	}
	eventually(t, "the notifier is called", func() bool { return len(w.noted(t)) > 0 })
	// A later run is announced after it.
	last := w.Await(w.Submit(harness.Body{"tool": "bash", "command": "true"}).ID)
	eventually(t, "the notifier is called again", func() bool { return len(w.noted(t)) > 1 })
	got := w.noted(t)
	if len(got) != 2 || got[0].ID != id || got[0].Status != "interrupted" || got[0].Error == "" ||
		got[0].EndedAt.IsZero() || got[1].ID != last.ID {
		t.Errorf("the notifier has %+v", got)
	}
}
