package runs_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	module "github.com/writ-automation/writ/modules/runs"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/platform/ids"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
)

// sealed checks the entry of a run's end against the store, and returns its document.
func (b *bundle) sealed(id string) map[string]any {
	b.t.Helper()
	all := b.trail.of(id)
	last := all[len(all)-1]
	d := must[*runs.RunDigest](b.t)(b.Digests.Digest(b.t.Context(), id))
	if diff := cmp.Diff(d.Document(), last.Detail); diff != "" || !last.Final {
		b.t.Errorf("the last entry (%s) is not of what is stored:\n%s", last.Action, diff)
	}
	log, _ := b.log(id, runs.LogRange{})
	sum := sha256.Sum256([]byte(log))
	if d.Log.SHA256 != hex.EncodeToString(sum[:]) || d.Events.Count != b.get(id).EventCount {
		b.t.Errorf("log %+v, events %+v", d.Log, d.Events)
	}
	return last.Detail
}

func warnings(from int64, n int) []runs.Event {
	out := make([]runs.Event, n)
	for i := range out {
		out[i] = runs.Event{Seq: from + int64(i), Type: runs.EventWarning, Message: fmt.Sprintf("<%d> \xff & \u2028", i),
			Diff: []byte(`{"n": 1.50}`)}
	}
	return out
}

func hosts(n int) []runs.HostSummary {
	out := make([]runs.HostSummary, n)
	for i := range out {
		out[i] = runs.HostSummary{Host: fmt.Sprintf("host%d", n-i), OK: i, Worst: runs.HostOK,
			Duration: time.Duration(i) * 1234567}
	}
	return out
}

func TestTheDigestIsOfWhatIsStored(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		for name, work := range map[string]func(a *runs.Assignment) runs.Ending{
			"nothing": func(*runs.Assignment) runs.Ending { return runs.Ending{} },
			"short": func(a *runs.Assignment) runs.Ending {
				return runs.Ending{Log: runs.LogChunk{Data: []byte("ok\n")}, LogBytes: 3, LogSHA256: "made up",
					Events: warnings(a.NextSeq, 3), Hosts: hosts(3), Touched: 3}
			},
			"many events before, none with the end": func(a *runs.Assignment) runs.Ending {
				must[int64](t)(b.Journal.AppendEvents(ctx, a.Lease, warnings(a.NextSeq, 1700)))
				return runs.Ending{}
			},
			"many events before and with the end": func(a *runs.Assignment) runs.Ending {
				must[int64](t)(b.Journal.AppendEvents(ctx, a.Lease, warnings(a.NextSeq, 900)))
				return runs.Ending{Events: warnings(a.NextSeq+900, 1200)}
			},
			"events that are held already": func(a *runs.Assignment) runs.Ending {
				must[int64](t)(b.Journal.AppendEvents(ctx, a.Lease, warnings(a.NextSeq, 5)))
				e := runs.Ending{Events: warnings(a.NextSeq, 8)}
				e.Events[0].Message = "something else"
				return e
			},
			"a long log": func(a *runs.Assignment) runs.Ending {
				at := must[int64](t)(b.Journal.AppendLog(ctx, a.Lease, runs.LogChunk{Data: make([]byte, 700<<10)}))
				return runs.Ending{Log: runs.LogChunk{Offset: at, Data: []byte("end")}, LogBytes: at + 3}
			},
			"a log that is stored already": func(a *runs.Assignment) runs.Ending {
				at := must[int64](t)(b.Journal.AppendLog(ctx, a.Lease, runs.LogChunk{Data: []byte("all of it")}))
				return runs.Ending{LogBytes: at}
			},
			"other output than was stored": func(a *runs.Assignment) runs.Ending {
				must[int64](t)(b.Journal.AppendLog(ctx, a.Lease, runs.LogChunk{Data: []byte("evil")}))
				return runs.Ending{Log: runs.LogChunk{Data: []byte("good")}, LogBytes: 4}
			},
			"output that the end denies": func(a *runs.Assignment) runs.Ending {
				must[int64](t)(b.Journal.AppendLog(ctx, a.Lease, runs.LogChunk{Data: []byte("hidden")}))
				return runs.Ending{}
			},
			"a gap": func(a *runs.Assignment) runs.Ending {
				must[int64](t)(b.Journal.AppendLog(ctx, a.Lease, runs.LogChunk{Data: []byte("one")}))
				return runs.Ending{Log: runs.LogChunk{Offset: 10, Data: []byte("two")}, LogBytes: 20, LogOmitted: 7}
			},
			"hosts before the end": func(a *runs.Assignment) runs.Ending {
				if err := b.Journal.SaveHosts(ctx, a.Lease, hosts(1500)); err != nil {
					t.Error(err)
				}
				return runs.Ending{Touched: 1500, Counts: runs.HostCounts{runs.HostOK: 1500}}
			},
		} {
			r := b.submit(runs.Submission{Spec: runs.Spec{Tool: "bash", Command: "true", Inventory: "hosts.ini"}})
			a := b.claim()
			b.begin(a)
			e := work(a)
			e.Status, e.Commit, e.ExitCode = runs.Succeeded, "c0ffee", new(int)
			b.finish(a, e)
			doc := b.sealed(r.ID)
			if doc["commit"] != "c0ffee" || doc["exit_code"] != "0" || doc["started_at"] == nil ||
				(doc["hosts"] != nil) != (e.Touched > 0) {
				t.Errorf("%s: %v", name, doc)
			}
			if n := len(b.trail.of(r.ID)); n != 3 {
				t.Errorf("%s: %d entries", name, n)
			}
		}
	})
}

// nagging appends to a run's journal just before the ending reads it, a few times.
type nagging struct {
	runs.EventStore
	left atomic.Int64
	nag  func(n int64)
}

func (n *nagging) Events(ctx context.Context, id string, after int64, limit int) ([]runs.Event, error) {
	list, err := n.EventStore.Events(ctx, id, after, limit)
	if k := n.left.Add(-1); k >= 0 {
		n.nag(k)
	}
	return list, err
}

func TestWhatIsAddedMeanwhileIsNoticed(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		b := setup(t, d, module.Config{})
		s := b.store
		n := &nagging{EventStore: s}
		res := must[module.Result](t)(module.New(module.Params{
			Store: s, Queue: s, Logs: s, EventStore: n, Summaries: s, Keys: s, TicketStore: s, Purger: s,
			Unit: d, Publisher: b.heard, Signals: d.Signals(), Clock: clock.New(), IDs: ids.New(clock.New()),
			Tools: execution.Tools{"bash": nil}, Targets: masking{}, Guard: openGate{}, Objects: s, Recorder: b.trail,
		}))
		b.Worklist, b.Journal = res.Worklist, res.Journal
		r := b.submit(script())
		a := b.claim()
		b.begin(a)
		next := must[int64](t)(b.Journal.AppendEvents(t.Context(), a.Lease, warnings(a.NextSeq, 900)))
		at := must[int64](t)(b.Journal.AppendLog(t.Context(), a.Lease, runs.LogChunk{Data: []byte("begin")}))
		n.nag = func(int64) {
			next = must[int64](t)(b.Journal.AppendEvents(t.Context(), a.Lease, warnings(next, 600)))
			at = must[int64](t)(b.Journal.AppendLog(t.Context(), a.Lease, runs.LogChunk{Offset: at, Data: []byte("more")}))
		}
		n.left.Store(2)
		b.finish(a, runs.Ending{Status: runs.Failed, LogBytes: 5, Hosts: hosts(1), Touched: 1})
		b.sealed(r.ID)
		if got := b.status(r.ID, runs.Failed); got.LogBytes != 13 || got.EventCount != 2102 {
			t.Errorf("%d bytes, %d events", got.LogBytes, got.EventCount)
		}
	})
}

func TestTheDigestTellsWhatWasAltered(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		r := b.submit(script())
		a := b.claim()
		b.begin(a)
		b.finish(a, runs.Ending{Status: runs.Succeeded, Log: runs.LogChunk{Data: []byte("x")}, LogBytes: 1,
			Events: warnings(a.NextSeq, 2)})
		was := b.sealed(r.ID)
		err := b.d.Do(t.Context(), func(ctx context.Context) error {
			_, err := b.store.PurgeEvents(ctx, time.Now().Add(time.Hour), 10)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		d := must[*runs.RunDigest](t)(b.Digests.Digest(t.Context(), r.ID))
		if d.Events != nil || was["events"] == nil {
			t.Errorf("events that are gone have the digest %+v", d.Events)
		}
		if _, err := b.Digests.Digest(t.Context(), "run_none"); !runs.RunNotFound.Is(err) {
			t.Errorf("unknown run: %v", err)
		}
	})
}
