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
	if r := e.get(1, 3); r == nil || r.Name != "kept" {
		t.Fatalf("got %+v", r)
	}
	e.get(1, 3).Name = "changed by its reader"
	if r := e.get(1, 3); r.Name != "kept" {
		t.Errorf("a reader changed what is kept: %q", r.Name)
	}
	for _, c := range [][2]int64{{1, 4}, {2, 1}, {3, 1}} {
		if r := e.get(c[0], c[1]); r != nil {
			t.Errorf("run %d at revision %d is kept: %+v", c[0], c[1], r)
		}
	}
	for i := range int64(3 * endedGeneration) {
		e.put(&runs.Run{Seq: 10 + i, Status: runs.Canceled})
	}
	if n := len(e.young) + len(e.old); n > 2*endedGeneration {
		t.Errorf("%d records are kept", n)
	}
	if e.get(1, 3) != nil {
		t.Error("what nobody asked for is still kept")
	}
}
