package relayclient_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

func TestTheNextLifeSettlesWhatWasHeld(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	at := time.Date(2026, time.January, 5, 8, 30, 0, 0, time.UTC)
	running := w.claimed(func(r *execution.RelayRun) { r.StartedAt, r.LogOmitted, r.LogBytes = &at, 5, 9 })
	w.must(w.Begin(t.Context(), running.Lease))
	waiting, lost, ended := w.claimed(), w.begun(), w.begun()
	w.fake.expire(lost.Lease.RunID)
	w.fake.set(func() { w.fake.records[ended.Lease.RunID].run.Status = runs.Succeeded })
	w.again()
	list, err := w.Leased(t.Context(), worker)
	w.must(err)
	slices.SortFunc(list, func(a, b *runs.Run) int { return strings.Compare(a.ID, b.ID) })
	want := []*runs.Run{
		{ID: running.Lease.RunID, Kind: runs.Single, Status: runs.Running, Worker: worker, Epoch: 1, Begun: true,
			StartedAt: at, LogOmitted: 5, LogBytes: 9},
		{ID: waiting.Lease.RunID, Kind: runs.Single, Status: runs.Running, Worker: worker, Epoch: 1},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
	w.kept(running.Lease.RunID, waiting.Lease.RunID)
	if next, err := w.AppendEvents(t.Context(), running.Lease, nil); err != nil || next != 3 {
		t.Errorf("the next event is %d, %v", next, err)
	}
	w.must(w.Release(t.Context(), waiting.Lease))
	w.must(w.Finish(t.Context(), running.Lease,
		runs.Ending{Status: runs.Interrupted, Log: runs.LogChunk{Data: []byte("x")}}))
	w.kept()
	if r := w.fake.see(running.Lease.RunID); r.run.Status != runs.Interrupted || string(r.log) != "x" {
		t.Errorf("the run is %s with %q", r.run.Status, r.log)
	}
	if list, err := w.Leased(t.Context(), worker); len(list) != 0 || err != nil {
		t.Errorf("held are %v, %v", list, err)
	}
}

func TestHeldAsksAgainWhereTheServerIsAway(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	a := w.begun()
	w.again()
	for _, r := range []reply{{502, "text/html", page}, problemReply(401, execution.BadWorkerToken.Name),
		problemReply(404, execution.RelayDisabled.Name)} {
		w.fake.set(func() {
			w.fake.instead = func(rw http.ResponseWriter, _ *http.Request, _ []byte) bool { r.give(rw); return true }
		})
		if list, err := w.Leased(t.Context(), worker); list != nil || !fault.Is(err, fault.Unavailable) {
			t.Errorf("held are %v, %v", list, err)
		}
		w.kept(a.Lease.RunID)
	}
	w.fake.set(func() { w.fake.instead = nil })
	if list, err := w.Leased(t.Context(), worker); len(list) != 1 || err != nil {
		t.Errorf("held are %v, %v", list, err)
	}
	w.fake.set(func() {
		w.fake.instead = func(rw http.ResponseWriter, _ *http.Request, _ []byte) bool {
			problemReply(400, "invalid").give(rw)
			return true
		}
	})
	if list, err := w.Leased(t.Context(), worker); len(list) != 0 || err != nil { // it will never say more
		t.Errorf("held are %v, %v", list, err)
	}
	w.kept()
}

func TestHeldOfAnotherEpoch(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	w.begun()
	w.again()
	w.fake.set(func() {
		w.fake.instead = func(rw http.ResponseWriter, _ *http.Request, _ []byte) bool {
			answer(rw, execution.RelayRun{ID: "run_001", Status: runs.Running, Worker: worker, Epoch: 2})
			return true
		}
	})
	if list, err := w.Leased(t.Context(), worker); len(list) != 0 || err != nil {
		t.Errorf("held are %v, %v", list, err)
	}
	w.kept()
}

func TestHeldTellsWorkersApart(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	a := w.claimed()
	w.fake.submit(runs.Single, "q")
	b, err := w.Claim(t.Context(), runs.ClaimRequest{Worker: "relay/w2", Queues: []string{"q"}})
	w.must(err)
	w.again()
	for name, id := range map[string]string{"": a.Lease.RunID, "w1": a.Lease.RunID, worker: a.Lease.RunID,
		"relay/w2": b.Lease.RunID} {
		if list, err := w.Leased(t.Context(), name); err != nil || len(list) != 1 || list[0].ID != id {
			t.Errorf("%q holds %v, %v", name, list, err)
		}
	}
	if err := w.Begin(t.Context(), runs.Lease{RunID: a.Lease.RunID, Worker: "relay/w2",
		Epoch: 1}); !runs.LeaseLost.Is(err) {
		t.Errorf("the lease of another worker: %v", err)
	}
}

func TestFilesThatAreNoClaims(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	a := w.begun()
	claims := filepath.Join(w.dir, "claims")
	good, err := os.ReadFile(filepath.Join(claims, a.Lease.RunID+".json"))
	w.must(err)
	bad := map[string]string{
		"empty": "", "half": string(good[:len(good)/2]), "other": string(good), "array": "[]",
		"large": `{"run_id":"` + strings.Repeat("x", 20<<10) + `"}`,
		"epoch": `{"run_id":"epoch","epoch":0,"capability":"c"}`, "proof": `{"run_id":"proof","epoch":1,"capability":"a b"}`,
		"no proof": `{"run_id":"no proof","epoch":1}`,
	}
	for name, text := range bad {
		w.must(os.WriteFile(filepath.Join(claims, name+".json"), []byte(text), 0o600))
	}
	w.must(os.Symlink(filepath.Join(claims, a.Lease.RunID+".json"), filepath.Join(claims, "link.json")))
	w.must(os.WriteFile(filepath.Join(claims, "run_9.part"), good, 0o600))
	w.again()
	list, err := w.Leased(t.Context(), worker)
	if err != nil || len(list) != 1 || list[0].ID != a.Lease.RunID {
		t.Errorf("held are %v, %v", list, err)
	}
	want := []string{a.Lease.RunID + ".json", "link.json.bad"}
	for name := range bad {
		want = append(want, name+".json.bad")
		if !strings.Contains(w.log.String(), name+".json") {
			t.Errorf("nothing is logged of %s", name)
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, w.files()); diff != "" {
		t.Error(diff)
	}
}

func TestClaimsOnDiskArePrivate(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	claims := filepath.Join(w.dir, "claims")
	w.must(os.Chmod(claims, 0o755))
	w.again()
	a := w.claimed(func(r *execution.RelayRun) { r.ProjectID, r.InventoryID, r.Commit = "prj_1", "inv_1", "c0ffee" })
	path := filepath.Join(claims, a.Lease.RunID+".json")
	for path, mode := range map[string]fs.FileMode{claims: fs.ModeDir | 0o700, path: 0o600} {
		info, err := os.Stat(path)
		w.must(err)
		if info.Mode() != mode {
			t.Errorf("%s is %v", path, info.Mode())
		}
	}
	raw, err := os.ReadFile(path)
	w.must(err)
	var got map[string]any
	w.must(json.Unmarshal(raw, &got))
	want := map[string]any{
		"run_id": a.Lease.RunID, "epoch": 1.0, "worker": worker, "capability": "capability-of-run_001-1", "kind": "single",
		"project": "prj_1", "inventory": "inv_1", "commit": "c0ffee",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A run that this worker claims again is its newest claim; the end of the older one leaves that alone.
func TestARunThatIsClaimedAgain(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	old := w.claimed()
	w.fake.expire(old.Lease.RunID)
	anew := w.claim()
	if err := w.Release(t.Context(), old.Lease); !runs.LeaseLost.Is(err) {
		t.Errorf("the older claim: %v", err)
	}
	w.kept(anew.Lease.RunID)
	w.must(w.Begin(t.Context(), anew.Lease))
	w.must(w.Finish(t.Context(), anew.Lease, runs.Ending{Status: runs.Succeeded}))
	w.kept()
}

// An ended claim whose file could not be removed is not requested again.
func TestAFileThatCameBack(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	a := w.begun()
	path := filepath.Join(w.dir, "claims", a.Lease.RunID+".json")
	raw, err := os.ReadFile(path)
	w.must(err)
	w.must(w.Finish(t.Context(), a.Lease, runs.Ending{Status: runs.Succeeded}))
	w.must(os.WriteFile(path, raw, 0o600))
	calls := len(w.fake.calls(a.Lease.RunID))
	if list, err := w.Leased(context.Background(), worker); len(list) != 0 || err != nil ||
		len(w.fake.calls(a.Lease.RunID)) != calls {
		t.Errorf("held are %v, %v", list, err)
	}
	w.kept()
}
