package relayclient_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/relayclient"
	"github.com/writ-automation/writ/ports/execution"
)

func TestHeadsAreStoredAndShown(t *testing.T) {
	t.Parallel()
	s := &store{}
	for i := range 20 {
		s.notes = append(s.notes, fmt.Sprint("note ", i))
	}
	w := newFixture(t, func(c *relayclient.Config) { c.Heads = s })
	lastHeads := func() []string {
		var q execution.RelayClaim
		calls := w.fake.calls("/claim")
		w.must(json.Unmarshal(calls[len(calls)-1].body, &q))
		return q.Heads
	}
	for range 3 {
		w.nothing()
	}
	if got := lastHeads(); len(got) != execution.RelayHeads || got[0] != "note 0" || s.reads != 1 {
		t.Errorf("%v are shown after %d readings", got, s.reads)
	}
	s.notes = []string{"old"}
	w.fake.set(func() { w.fake.head = "new\n" })
	w.claimed()
	for range 3 {
		w.nothing()
	}
	if diff := cmp.Diff([]string{"old", "new\n"}, lastHeads()); diff != "" || s.reads != 2 || len(s.notes) != 2 {
		t.Errorf("%s after %d readings, kept are %q", diff, s.reads, s.notes)
	}
	s.fail = errors.New("the disk is full")
	w.fake.set(func() { w.fake.head = "newer\n" })
	w.claimed()
	w.fake.set(func() {
		w.fake.head, w.fake.instead = "", func(rw http.ResponseWriter, _ *http.Request, _ []byte) bool {
			rw.Header().Set(execution.HeadHeader, "no base64!")
			rw.WriteHeader(http.StatusNoContent)
			return true
		}
	})
	w.nothing()
	if log := w.log.String(); !strings.Contains(log, "the disk is full") || !strings.Contains(log, "illegal base64") {
		t.Errorf("the log is %s", log)
	}
}

// TestADamagedHeadHidesNoOthers checks that readable heads are sent, and that the damaged one is logged once.
func TestADamagedHeadHidesNoOthers(t *testing.T) {
	t.Parallel()
	s := &store{notes: []string{"old"}, fail: errors.New("a head is damaged")}
	w := newFixture(t, func(c *relayclient.Config) { c.Heads = s })
	for range 3 {
		w.nothing()
	}
	for _, call := range w.fake.calls("/claim") {
		var q execution.RelayClaim
		w.must(json.Unmarshal(call.body, &q))
		if diff := cmp.Diff([]string{"old"}, q.Heads); diff != "" {
			t.Errorf("a claim shows %s", diff)
		}
	}
	if n := strings.Count(w.log.String(), "a head is damaged"); n != 1 {
		t.Errorf("it is told %d times", n)
	}
}

// TestHeadsAreShownWithEveryClaim checks that also a claim without a run sends the heads, since its answer may contain
// a replacement.
func TestHeadsAreShownWithEveryClaim(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(c *relayclient.Config) { c.Heads = &store{notes: []string{"old"}} })
	w.must(w.Leave(t.Context()))
	var q execution.RelayClaim
	w.must(json.Unmarshal(w.fake.calls("/claim")[0].body, &q))
	if diff := cmp.Diff([]string{"old"}, q.Heads); diff != "" || q.Worker.Executors != 0 {
		t.Errorf("%s of %+v", diff, q.Worker)
	}
}
