package relay_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
)

// calls are all calls of a worker about a run, each in the form that the holder of the run may send.
func (w *fixture) calls(seq int64) map[string]func(ctx context.Context, h execution.Leaseholder) error {
	r := w.relay
	save := func(s execution.RelaySave) func(context.Context, execution.Leaseholder) error {
		return func(ctx context.Context, h execution.Leaseholder) error { return r.Save(ctx, h, s) }
	}
	facts := func(host string) func(context.Context, execution.Leaseholder) error {
		return func(ctx context.Context, h execution.Leaseholder) error {
			return r.SaveFacts(ctx, h, []runs.HostFacts{{Host: host, GatheredAt: now(), Facts: []byte(`{"forged":1}`)}})
		}
	}
	return map[string]func(ctx context.Context, h execution.Leaseholder) error{
		"beat":     func(ctx context.Context, h execution.Leaseholder) error { _, err := r.Beat(ctx, h); return err },
		"run":      func(ctx context.Context, h execution.Leaseholder) error { _, err := r.Run(ctx, h); return err },
		"running":  save(ends(runs.Running)),
		"pending":  save(ends(runs.Pending)),
		"failed":   save(execution.RelaySave{Status: runs.Failed, Error: "forged"}),
		"canceled": save(ends(runs.Canceled)),
		"divided": func(ctx context.Context, h execution.Leaseholder) error {
			return r.Divide(ctx, h, execution.RelayDivision{Hosts: []string{"forged"}})
		},
		"log": func(ctx context.Context, h execution.Leaseholder) error {
			_, err := r.AppendLog(ctx, h, runs.LogChunk{Data: []byte("forged")})
			return err
		},
		"no log": func(ctx context.Context, h execution.Leaseholder) error {
			_, err := r.AppendLog(ctx, h, runs.LogChunk{})
			return err
		},
		"events": func(ctx context.Context, h execution.Leaseholder) error {
			_, err := r.AppendEvents(ctx, h, []runs.Event{{Seq: seq, Type: runs.EventHostOK, Host: "forged"}})
			return err
		},
		"no events": func(ctx context.Context, h execution.Leaseholder) error {
			_, err := r.AppendEvents(ctx, h, nil)
			return err
		},
		"hosts": func(ctx context.Context, h execution.Leaseholder) error {
			return r.SaveHosts(ctx, h, []runs.HostSummary{{Host: "forged", OK: 1, Worst: runs.HostOK}})
		},
		"no hosts": func(ctx context.Context, h execution.Leaseholder) error { return r.SaveHosts(ctx, h, nil) },
		"tasks": func(ctx context.Context, h execution.Leaseholder) error {
			return r.SaveTasks(ctx, h, []runs.TaskSummary{{Task: "forged"}})
		},
		"facts":               facts("known"),
		"facts of a stranger": facts("forged"),
		"a plan": func(ctx context.Context, h execution.Leaseholder) error {
			_, err := r.ProposeApply(ctx, h, runs.Plan{Digest: "d"})
			return err
		},
		"no facts": func(ctx context.Context, h execution.Leaseholder) error { return r.SaveFacts(ctx, h, nil) },
		"inventory": func(ctx context.Context, h execution.Leaseholder) error {
			_, err := r.Inventory(ctx, h)
			return err
		},
		"project": func(ctx context.Context, h execution.Leaseholder) error {
			return r.Project(ctx, h, func() (io.Writer, error) { return io.Discard, nil })
		},
	}
}

// picture is the stored state of runs, except the times that advance by themselves.
func (w *fixture) picture() string {
	w.t.Helper()
	var out strings.Builder
	for _, q := range []string{
		"SELECT id, status, epoch, worker, begun, error, warnings, shard_count, host_counts, hosts_touched, event_count, " +
			"log_bytes, log_sha256, revision, lease_expires_at FROM runs ORDER BY id",
		"SELECT run_seq, first_seq, last_seq FROM run_events ORDER BY 1, 2",
		"SELECT run_seq, start, length FROM run_logs ORDER BY 1, 2",
		"SELECT run_seq, host, ok, worst FROM run_hosts ORDER BY 1, 2",
		"SELECT run_seq, position, task FROM run_tasks ORDER BY 1, 2",
		"SELECT host, gathered_at, run_id FROM run_facts ORDER BY 1, 2, 3",
		"SELECT run_id, epoch, worker, hash FROM relay_claims ORDER BY 1",
	} {
		rows, err := w.d.Read(w.t.Context()).QueryContext(w.t.Context(), q)
		w.must(err)
		columns, err := rows.Columns()
		w.must(err)
		for rows.Next() {
			values := make([]any, len(columns))
			for i := range values {
				values[i] = new(any)
			}
			w.must(rows.Scan(values...))
			for _, v := range values {
				fmt.Fprintf(&out, "%v ", *v.(*any))
			}
			out.WriteByte('\n')
		}
		w.must(rows.Err())
		w.must(rows.Close())
	}
	return out.String()
}

// TestACapabilityIsForOneClaim makes every call about every run with every capability that does not hold it: that of
// another run, of an earlier claim, of a run that ended or was divided, an invented one, and none. Every call returns
// LeaseLost and changes nothing.
// Keeps T01.
func TestACapabilityIsForOneClaim(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *fixture) {
		ctx := t.Context()
		material := func(r *runs.Run) { r.Spec.InventoryID, r.Spec.ProjectID = "inv_1", "prj_1" }
		for range 3 {
			w.submit(material)
		}
		ended, endedBy := w.claim("a")
		released, releasedBy := w.claim("a")
		_, mine := w.claim("b")
		w.submit(func(r *runs.Run) { r.Kind, r.Spec.Playbook = runs.Split, "site.yml" })
		_, divided := w.claim("a")
		w.must(w.relay.Save(ctx, endedBy, ends(runs.Running)))
		w.must(w.relay.SaveHosts(ctx, endedBy, []runs.HostSummary{{Host: "known", OK: 1, Worst: runs.HostOK}}))
		w.must(w.relay.Save(ctx, endedBy, ends(runs.Succeeded)))
		w.must(w.relay.Save(ctx, releasedBy, ends(runs.Pending)))
		w.must(w.relay.Divide(ctx, divided, execution.RelayDivision{Hosts: []string{"a", "b"}}))
		anew, anewBy := w.claim("a")
		if anew.Run.ID != released.Run.ID || anew.Run.Epoch != 2 || anew.Capability == released.Capability {
			t.Fatalf("claimed anew is %+v", anew.Run)
		}
		w.must(w.relay.Save(ctx, mine, ends(runs.Running)))
		forged := secret.Text(base64.RawURLEncoding.EncodeToString(make([]byte, 32)))
		before := w.picture()
		for run, capabilities := range map[string]map[string]secret.Text{
			mine.RunID: {"another's": anewBy.Capability, "an ended run's": endedBy.Capability,
				"an old": releasedBy.Capability, "nobody's": forged, "no": "", "a short": "x"},
			anewBy.RunID: {"another's": mine.Capability, "an ended run's": endedBy.Capability, "the old": releasedBy.Capability,
				"nobody's": forged, "no": ""},
			endedBy.RunID: {"another's": mine.Capability, "its own": ended.Capability, "nobody's": forged, "no": ""},
			divided.RunID: {"another's": mine.Capability, "its own": divided.Capability},
			"run_none":    {"another's": mine.Capability, "no": ""},
		} {
			for whose, capability := range capabilities {
				for what, call := range w.calls(50) {
					if err := call(ctx, bearer(run, capability)); !runs.LeaseLost.Is(err) {
						t.Errorf("%s capability of %s, %s: %v", whose, run, what, err)
					}
				}
			}
		}
		if after := w.picture(); after != before {
			t.Errorf("something changed:\n%s\nwas\n%s", after, before)
		}
		w.expire(mine.RunID)
		before = w.picture()
		for what, call := range w.calls(50) {
			if err := call(ctx, mine); !runs.LeaseLost.Is(err) {
				t.Errorf("after the lease ran out, %s: %v", what, err)
			}
		}
		if after := w.picture(); after != before {
			t.Errorf("something changed:\n%s\nwas\n%s", after, before)
		}
	})
}

// TestTheBearerMayDoAllOfIt makes the same calls with the right capability.
func TestTheBearerMayDoAllOfIt(t *testing.T) {
	t.Parallel()
	w := one(t)
	g, h := w.begun(func(r *runs.Run) {
		r.Spec.InventoryID, r.Spec.ProjectID, r.Spec.DryRun = "inv_1", "prj_1", true
	})
	w.must(w.relay.SaveHosts(t.Context(), h, []runs.HostSummary{{Host: "known", OK: 1, Worst: runs.HostOK}}))
	calls := w.calls(g.Run.NextSeq)
	last := []string{"facts of a stranger", "pending", "divided", "failed", "canceled"}
	for _, what := range last[:3] {
		if err := calls[what](t.Context(), h); err == nil || runs.LeaseLost.Is(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	failed := calls["failed"]
	for _, what := range last {
		delete(calls, what)
	}
	for what, call := range calls {
		if err := call(t.Context(), h); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for range 2 {
		w.must(failed(t.Context(), h))
	}
	if r := w.run(h.RunID); r.Status != runs.Failed || r.Error != "forged" {
		t.Errorf("%+v", r)
	}
}
