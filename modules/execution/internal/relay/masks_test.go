package relay_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/writ-automation/writ/modules/execution/internal/masking"
	"github.com/writ-automation/writ/modules/execution/internal/relay"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
)

// keyed is a run whose claim hands out the canary.
func keyed(r *runs.Run) { r.Spec.CredentialIDs = []string{"crd_1"} }

func (w *fixture) report(h execution.Leaseholder, offset int64, text string) int64 {
	w.t.Helper()
	next, err := w.relay.AppendLog(w.t.Context(), h, runs.LogChunk{Offset: offset, Data: []byte(text)})
	w.must(err)
	return next
}

// restart replaces the relay by one of another process.
func (w *fixture) restart() {
	w.relay.Close()
	w.deps.Masks = masking.New(w.store, w.sealer, w.d)
	w.relay = relay.New(w.deps, w.cfg)
	w.t.Cleanup(w.relay.Close)
}

func stars(text string) string {
	for _, form := range []string{canary, base64.RawStdEncoding.EncodeToString([]byte(canary)),
		hex.EncodeToString([]byte(canary))} {
		text = strings.ReplaceAll(text, form, strings.Repeat("*", len(form)))
	}
	return text
}

// TestReportedOutputIsMasked sends secrets in pieces, some of them repeated, and to several processes: what is
// stored has stars, and the offsets of the worker stay right.
func TestReportedOutputIsMasked(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *fixture) {
		text := "a " + canary + "\n" + hex.EncodeToString([]byte(canary)) + " CANARY " + canary + canary + " CANA"
		for _, size := range []int{9, len(canary), len(text)} {
			_, h := w.begun(keyed)
			at := 0
			for at < len(text) {
				piece := text[at:min(at+size, len(text))]
				next := w.report(h, int64(at), piece)
				if next != int64(at+len(piece)) {
					t.Fatalf("%d bytes at %d end at %d", len(piece), at, next)
				}
				if rand.IntN(3) == 0 {
					w.restart()
				}
				if rand.IntN(3) == 0 {
					if got := w.report(h, int64(at), piece); got != next {
						t.Fatalf("again it ends at %d, not at %d", got, next)
					}
				}
				if stored := string(w.output(h.RunID)); !strings.HasPrefix(stars(text), stored) {
					t.Fatalf("stored %q", stored)
				}
				at += len(piece)
			}
			if got := w.report(h, 0, ""); got != int64(len(text)) {
				t.Errorf("the output ends at %d", got)
			}
			w.must(w.relay.Save(t.Context(), h, execution.RelaySave{Status: runs.Succeeded, LogBytes: int64(len(text))}))
			if got := string(w.output(h.RunID)); got != stars(text) {
				t.Errorf("in pieces of %d: %q, want %q", size, got, stars(text))
			}
			w.must(w.relay.Save(t.Context(), h, execution.RelaySave{Status: runs.Succeeded, LogBytes: int64(len(text))}))
		}
	})
}

// TestAHoleEndsNoSecret: output that a worker leaves out cannot hide that a secret goes on behind it.
func TestAHoleEndsNoSecret(t *testing.T) {
	t.Parallel()
	w := one(t)
	_, h := w.begun(keyed)
	half := len(canary) / 2
	w.report(h, 0, "a "+canary[:half])
	w.report(h, int64(2+half+1), canary[half:]+"\n")
	want := "a " + strings.Repeat("*", half) + "\x00" + canary[half:] + "\n"
	if got := string(w.output(h.RunID)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestReportsAreMasked sends the secret in each text of each report.
func TestReportsAreMasked(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *fixture) {
		ctx := t.Context()
		g, h := w.begun(keyed, func(r *runs.Run) {
			r.Vars, r.Spec.DryRun = runs.Vars{"db_password": json.RawMessage(`"an0ther-canary"`)}, true
		})
		const vars = "an0ther-canary"
		doc := json.RawMessage(fmt.Sprintf(`{"a":%q,%q:[1,"x%s"]}`, canary, canary, vars))
		w.report(h, 0, vars+"\n")
		_, err := w.relay.AppendEvents(ctx, h, []runs.Event{{
			Seq: g.Run.NextSeq, Type: runs.EventHostOK, Play: canary, Task: canary, TaskID: canary, Host: canary, Item: canary,
			Message: vars, Stdout: "a\n" + canary, Stderr: base64.StdEncoding.EncodeToString([]byte(canary)), Diff: doc,
			Stats: doc, Facts: doc, Outputs: doc,
		}})
		w.must(err)
		w.must(w.relay.SaveHosts(ctx, h, []runs.HostSummary{{Host: canary, OK: 1, Worst: runs.HostOK}}))
		w.must(w.relay.SaveTasks(ctx, h, []runs.TaskSummary{{Task: canary, TaskID: canary, Play: canary}}))
		w.must(w.relay.SaveFacts(ctx, h, []runs.HostFacts{{Host: canary, GatheredAt: now(), Facts: doc}}))
		_, err = w.relay.ProposeApply(ctx, h, runs.Plan{Summary: canary, Digest: "d", Findings: []runs.PlanFinding{
			{Resource: canary, Action: vars, Diff: "+ " + canary}}})
		w.must(err)
		w.must(w.relay.Save(ctx, h, execution.RelaySave{
			Status: runs.Failed, Error: "it says " + canary, Outputs: runs.Vars{"a": doc, canary: doc},
			Warnings: []runs.Warning{{Code: "a", Message: vars + canary}}, LogBytes: int64(len(vars) + 1),
		}))
		reported, err := json.Marshal(w.events(h.RunID))
		w.must(err)
		proposed, err := json.Marshal(w.plane.proposed)
		w.must(err)
		texts := []string{string(reported), string(proposed), string(w.output(h.RunID))} // both are stored compressed
		for _, table := range []string{"runs", "run_hosts", "run_tasks", "run_facts", "relay_claims", "relay_secrets"} {
			texts = append(texts, w.cells(table)...)
		}
		run := w.run(h.RunID)
		run.Vars = nil // as they were submitted
		record, err := json.Marshal(run)
		w.must(err)
		for _, text := range append(texts, string(record)) {
			for _, form := range []string{canary, vars, hex.EncodeToString([]byte(canary)),
				base64.StdEncoding.EncodeToString([]byte(canary))} {
				if strings.Contains(text, form) {
					t.Errorf("%q is in %.300q", form, text)
				}
			}
		}
		r := w.run(h.RunID)
		if r.Error != "it says ***" || string(r.Outputs["***"]) != `{"a":"***","***":[1,"x***"]}` ||
			r.Warnings[0].Message != "******" || len(texts) < 50 {
			t.Errorf("%q %s %+v, %d values", r.Error, r.Outputs, r.Warnings, len(texts))
		}
	})
}

// TestSecretsGoWithTheirClaim: nothing is stored for a claim without secrets, and nothing stays of one that is over.
func TestSecretsGoWithTheirClaim(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *fixture) {
		stored := func(want int) {
			t.Helper()
			if got := len(w.cells("relay_secrets")) / 4; got != want {
				t.Errorf("of %d claims is something stored, not of %d", got, want)
			}
		}
		w.begun()
		stored(0)
		_, h := w.begun(keyed)
		w.report(h, 0, "abc"+canary[:4])
		stored(1)
		for _, text := range w.cells("relay_secrets") {
			if strings.Contains(text, canary) || strings.Contains(text, canary[:4]) {
				t.Errorf("it is stored as %q", text)
			}
		}
		w.must(w.deps.Masks.Forget(t.Context()))
		stored(1)
		w.must(w.relay.Save(t.Context(), h, ends(runs.Canceled)))
		stored(0)
		// One that is taken over leaves nothing either.
		_, lost := w.begun(keyed)
		w.expire(lost.RunID)
		w.must(w.deps.Masks.Forget(t.Context()))
		stored(0)
		if _, err := w.relay.AppendLog(t.Context(), lost, runs.LogChunk{Data: []byte(canary)}); !runs.LeaseLost.Is(err) {
			t.Errorf("a lost lease: %v", err)
		}
	})
}

// TestNoSecretsWithoutAMask: a claim whose secrets cannot be stored is given back.
func TestNoSecretsWithoutAMask(t *testing.T) {
	t.Parallel()
	w := one(t)
	w.sealer.fails(errors.New("no key"))
	id := w.submit(keyed)
	if g, _, err := w.relay.Claim(t.Context(), asks("w")); g != nil || err == nil {
		t.Errorf("%+v, %v", g, err)
	}
	if r := w.run(id); r.Status != runs.Pending {
		t.Errorf("the run is %s", r.Status)
	}
	w.sealer.fails(nil)
	if g, _ := w.claim("w"); g.Run.ID != id {
		t.Errorf("claimed %s", g.Run.ID)
	}
}

// cells returns each value of a table as text.
func (w *fixture) cells(table string) (out []string) {
	w.t.Helper()
	rows, err := w.d.Read(w.t.Context()).QueryContext(w.t.Context(), "SELECT * FROM "+table)
	w.must(err)
	defer func() { w.must(rows.Close()) }()
	columns, err := rows.Columns()
	w.must(err)
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		w.must(rows.Scan(values...))
		for _, v := range values {
			switch x := (*v.(*any)).(type) {
			case []byte:
				out = append(out, string(x))
			default:
				out = append(out, fmt.Sprint(x))
			}
		}
	}
	w.must(rows.Err())
	return out
}
