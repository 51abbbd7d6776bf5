package audit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/proof"
)

// record records entries of a run in one unit.
func (tr *trail) record(t *testing.T, entries ...audit.Entry) {
	t.Helper()
	must(t, tr.d.Do(t.Context(), func(ctx context.Context) error {
		for _, e := range entries {
			if err := tr.Recorder.Record(ctx, e); err != nil {
				return err
			}
		}
		return nil
	}))
}

func ofRun(act audit.Action, top, run string) audit.Entry {
	e := audit.Entry{Action: act, Run: top, Object: audit.Object{Kind: "run", ID: run, Name: "patch"}}
	if e.Final = act == audit.RunFinal; e.Final {
		e.Detail = map[string]any{"v": 1, "id": run, "kind": "single", "status": "succeeded"}
	}
	return e
}

// receipt makes the receipt of a run and verifies it with the product's verifier.
func (tr *trail) receipt(t *testing.T, run string, q audit.ReceiptQuery) (proof.Verdict, []byte) {
	t.Helper()
	r, err := tr.prover.Receipt(t.Context(), run, q)
	must(t, err)
	seal, err := tr.prover.Seal(t.Context())
	must(t, err)
	v, err := proof.VerifyFile(t.Context(), bytes.NewReader(r.Body), proof.Trust{Seal: seal}, time.Now())
	must(t, err)
	if !v.OK || !v.Pinned {
		t.Errorf("the receipt of %s, %+v: %+v", run, q, v)
	}
	return v, r.Body
}

// TestReceiptsOfManyParts makes a split of many shards, with other entries between, whose parts end one after the
// other.
func TestReceiptsOfManyParts(t *testing.T) {
	t.Parallel()
	eachEngine(t, 12, func(t *testing.T, tr *trail) {
		shards := depthtest.Of[int64](12, 100)
		tr.record(t, ofRun(audit.RunSubmit, "run_top", "run_top"))
		for i := range shards {
			tr.record(t, ofRun(audit.RunStart, "run_top", fmt.Sprintf("run_s%d", i)))
		}
		tr.grow(t, 3)
		// A refusal has the run as its object and belongs to no run.
		tr.record(t, audit.Entry{Action: audit.RunCancel, Object: audit.Object{Kind: "run", ID: "run_top"},
			Outcome: audit.Denied})
		if v, _ := tr.receipt(t, "run_top", audit.ReceiptQuery{Sparse: true}); v.Count != 1+shards ||
			detail(audit.ChainVerdict{Verdict: v}, "subject") == "" {
			t.Errorf("one that has not ended: %+v", v)
		}
		for i := range shards {
			tr.record(t, ofRun(audit.RunFinal, "run_top", fmt.Sprintf("run_s%d", i)))
		}
		tr.record(t, ofRun(audit.RunFinal, "run_top", "run_top"))
		if v, _ := tr.receipt(t, "run_top", audit.ReceiptQuery{Sparse: true, Private: true}); v.Count != 2+2*shards {
			t.Errorf("sparse: %+v", v)
		}
		v, body := tr.receipt(t, "run_top", audit.ReceiptQuery{Private: true})
		if v.Count != 2+2*shards+4 || !strings.Contains(detail(audit.ChainVerdict{Verdict: v}, "completeness"),
			fmt.Sprint("all ", 1+2*shards)) {
			t.Errorf("contiguous, of %d bytes: %+v", len(body), v)
		}
		if v, _ := tr.receipt(t, "run_s7", audit.ReceiptQuery{Sparse: true}); v.Count != 2 {
			t.Errorf("of a shard: %+v", v)
		}
		tr.erased(t, v.Size)
	})
}

// erased erases all private parts of the entries. The digest of a run's results has none and stays.
func (tr *trail) erased(t *testing.T, size int64) {
	t.Helper()
	var seqs []int64
	for seq := int64(1); seq <= size; seq++ {
		seqs = append(seqs, seq)
	}
	must(t, tr.Admin.Erase(t.Context(), seqs, "gdpr_17"))
	if v, _ := tr.receipt(t, "run_top", audit.ReceiptQuery{Private: true}); !strings.Contains(
		detail(audit.ChainVerdict{Verdict: v}, "disclosures"), "withheld") {
		t.Errorf("after an erasure: %+v", v)
	}
	if v := tr.verify(t); !v.OK {
		t.Errorf("%+v", v)
	}
	_, err := tr.prover.Receipt(t.Context(), "run_before", audit.ReceiptQuery{})
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.NotFound || !strings.Contains(f.Message, "older than the trail") {
		t.Errorf("a run without an entry: %v", err)
	}
}
