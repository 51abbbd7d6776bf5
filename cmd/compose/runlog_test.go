package compose

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/runs"
)

// TestRunsInTheLog logs ends and holds of runs, with the parts of a run at the level debug.
func TestRunsInTheLog(t *testing.T) {
	t.Parallel()
	var log logBuffer
	l := log.log()
	send := func(s events.Subscription, e events.Event) {
		t.Helper()
		raw, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Handle(t.Context(), events.Message{ID: "m", Name: e.EventName(), Data: raw}); err != nil {
			t.Error(err)
		}
	}
	send(logEnded(l), runs.Finished{RunID: "run_1", Tool: "ansible", Status: runs.Failed, TopLevel: true, DurationMS: 7,
		Touched: 3, By: "ola", Worker: "relay/edge", Hosts: runs.HostCounts{runs.HostFailed: 1, runs.HostUnreachable: 1}})
	send(logEnded(l), runs.Finished{RunID: "run_2", Status: runs.Succeeded})
	send(logHeld(l), runs.HeldBy(&runs.Run{ID: "run_3", Approvals: &runs.Approvals{Holds: []runs.Hold{{Name: "prod"}}}}))
	text := log.String()
	for _, want := range []string{
		`level=WARN msg="run ended" run=run_1 status=failed tool=ansible duration_ms=7 hosts=3 failed_hosts=2 by=ola ` +
			"worker=edge\n", `level=INFO msg="run held" run=run_3 by="" policies=[prod]` + "\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	if strings.Contains(text, "level=INFO msg=\"run ended\" run=run_2") {
		t.Errorf("a part of a run is logged at the level info: %s", text)
	}
}
