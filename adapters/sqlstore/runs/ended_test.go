package runs

import (
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/runs"
)

func TestEndedRunsAreKeptWithinBounds(t *testing.T) {
	t.Parallel()
	e := newEnded()
	e.put(&runs.Run{Seq: 1, Revision: 3, Status: runs.Succeeded, Name: "kept"})
	e.put(&runs.Run{Seq: 2, Revision: 1, Status: runs.Running})
	e.put(&runs.Run{Seq: 3, Revision: 1, Status: runs.Failed, Error: strings.Repeat("x", endedText+1)})
	list := []version{{1, 4}, {2, 1}, {1, 3}, {3, 1}}
	got, missing := e.get(list)
	if got[2] == nil || got[2].Name != "kept" || len(missing) != 3 {
		t.Fatalf("got %+v, missing %v", got, missing)
	}
	for i, r := range got {
		if i != 2 && r != nil {
			t.Errorf("run %d at revision %d is kept: %+v", list[i].seq, list[i].revision, r)
		}
	}
	for i := range int64(3 * endedGeneration) {
		e.put(&runs.Run{Seq: 10 + i, Status: runs.Canceled})
	}
	if n := len(e.young) + len(e.old); n > 2*endedGeneration {
		t.Errorf("%d records are kept", n)
	}
	if got, _ := e.get([]version{{1, 3}}); got[0] != nil {
		t.Error("what nobody asked for is still kept")
	}
}
