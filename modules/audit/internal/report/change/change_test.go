package change_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/modules/audit/internal/report/change"
	"github.com/writ-automation/writ/modules/audit/internal/report/evidence"
	"github.com/writ-automation/writ/modules/audit/internal/report/reporttest"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

var update = flag.Bool("update", false, "write the golden file")

const envelope = `{"payload":"eyJhIjoxfQ==","payloadType":"application/vnd.in-toto+json","signatures":[{"keyid":"sha256:00","sig":"a+b/"}]}`

func at(minute int) time.Time { return time.Date(2026, 3, 1, 12, minute, 0, 5000, time.UTC) }

// fixture is a change with a failed run and one that repeats it, which two accounts decided about. Every text in it
// passed through one function.
type fixture struct {
	audit.Prover
	detail estate.ChangeDetail
	chain  reporttest.Chain
	asked  page.Window
	err    error
}

func (f *fixture) List(context.Context, page.Window) (estate.ChangeList, error) {
	return estate.ChangeList{}, nil
}

func (f *fixture) Get(_ context.Context, name string, w page.Window) (estate.ChangeDetail, error) {
	if f.asked = w; name != f.detail.Change.Change {
		return estate.ChangeDetail{}, estate.ChangeNotFound.New("no change %q", name)
	}
	return f.detail, nil
}

func (f *fixture) Receipt(context.Context, string, audit.ReceiptQuery) (audit.SignedReceipt, error) {
	return audit.SignedReceipt{Body: []byte(envelope), KeyID: "sha256:00"}, f.err
}

func (f *fixture) report(t *testing.T) []byte {
	t.Helper()
	now := reporttest.Now(at(59))
	got, err := change.New(change.Params{Changes: f, Clock: now,
		Evidence: evidence.New(evidence.Params{Chain: f.chain, Prover: f, Clock: now}),
	}).Change(t.Context(), f.detail.Change.Change)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func newFixture(t *testing.T, s func(string) string) *fixture {
	t.Helper()
	ada, bob := actor.Actor{Type: actor.User, ID: "usr_1", Name: s("Ada")},
		actor.Actor{Type: actor.User, ID: "usr_2", Name: s("Bob")}
	first := &runs.Run{ID: "run_1", Name: s("patch"), Kind: runs.Single, Status: runs.Failed, Error: s("one host failed"),
		Actor: ada, CreatedAt: at(1), StartedAt: at(2), EndedAt: at(3), HostsTouched: 2}
	second := &runs.Run{ID: "run_2", Name: s("patch"), Kind: runs.Single, Status: runs.Succeeded, Actor: ada,
		Origin: runs.Origin{RerunOf: "run_1"}, CreatedAt: at(4), StartedAt: at(6), EndedAt: at(7), HostsTouched: 2,
		Approvals: &runs.Approvals{Holds: []runs.Hold{{ID: "pol_1", Name: s("two eyes"), Needed: 1}}},
		Decision:  &runs.Decision{By: bob, At: at(5), Verdict: runs.Approved, Reason: s("go ahead")}}
	f := &fixture{detail: estate.ChangeDetail{
		Change: estate.Change{Change: s("CHG-1"), Outcome: estate.ChangeSucceeded, Runs: 2, FirstAt: at(1), LastAt: at(7),
			Actors: []string{s("Ada"), s("Bob")}, Hosts: 3},
		Members: []*runs.Run{first, second}, Touched: []string{s("db1"), s("web1")}, Withheld: 1,
	}}
	entry := func(minute int, run string, e reporttest.Entry) reporttest.Entry {
		e.At, e.Object, e.Run = at(minute), "run/"+run, run
		return e
	}
	f.chain = reporttest.NewChain(t,
		entry(1, "run_1", reporttest.Entry{Action: audit.RunSubmit, Sub: "usr_1", SubName: s("Ada")}),
		entry(3, "run_1", reporttest.Entry{Action: audit.RunFinal, Sub: "wkr_1", Detail: `{"status":"failed"}`}),
		entry(4, "run_2", reporttest.Entry{Action: audit.RunSubmit, Sub: "usr_1", SubName: s("Ada")}),
		entry(4, "run_2", reporttest.Entry{Action: audit.RunHold, Sub: "system", Text: s("two eyes")}),
		entry(5, "run_2", reporttest.Entry{Action: audit.RunApprove, Sub: "usr_2", SubName: s("Bob"), Text: s("go ahead")}),
		entry(7, "run_2", reporttest.Entry{Action: audit.RunFinal, Sub: "wkr_1", Detail: `{"status":"succeeded"}`}),
	)
	return f
}

func plain(s string) string { return s }

func TestChangeIsGolden(t *testing.T) {
	t.Parallel()
	f := newFixture(t, plain)
	got := f.report(t)
	const name = "testdata/change.html"
	if *update {
		if err := os.WriteFile(name, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (write it with -update):\n%s", name, diff)
	}
	if f.asked.Limit != change.MaxRuns {
		t.Errorf("asked for %d runs", f.asked.Limit)
	}
	p := reporttest.Read(t, got)
	for _, says := range []string{"The change succeeded: 2 runs from", "on 3 hosts",
		"1 run of this change may not be read",
		"held by two eyes", "approved by Bob (usr_2): go ahead", "repeats run_1", "one host failed", "1 host more is",
	} {
		if !strings.Contains(p.Text, says) {
			t.Errorf("it does not say %q", says)
		}
	}
	for _, e := range f.chain {
		if !strings.Contains(p.Text, audit.Receipt{Seq: e.Seq, Hash: e.Hash}.String()) {
			t.Errorf("the receipt of entry %d is absent", e.Seq)
		}
	}
	if strings.Count(p.Script, `"receipt":`+envelope) != 2 {
		t.Errorf("the receipts are not there byte for byte: %s", p.Script)
	}
}

// TestChangeIsInert puts hostile text into every outside text: the tags must stay those of the template.
func TestChangeIsInert(t *testing.T) {
	t.Parallel()
	read := func(with string) reporttest.Page {
		doc := newFixture(t, func(s string) string { return with + s }).report(t)
		for _, computed := range []string{"<td>=", "<td>@", "<td>-", "<td>&#43;", "<li>=", "<li>@", "<li>-"} {
			if bytes.Contains(doc, []byte(computed)) {
				t.Errorf("%q: a spreadsheet would compute a cell", with)
			}
		}
		return reporttest.Read(t, doc)
	}
	want := read("x")
	for _, hostile := range reporttest.Hostile() {
		if diff := cmp.Diff(want.Shape, read(hostile).Shape); diff != "" {
			t.Errorf("%q made tags: %s", hostile, diff)
		}
	}
}

// TestChangeSaysWhatIsMissing shows what the report cannot say or prove.
func TestChangeSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, plain)
	f.detail.Partial, f.detail.Runs, f.detail.Outcome = true, 10_000, estate.ChangeFailed
	f.chain[1].Detail = `{"status":"succeeded"}`
	f.err = fault.Wrap(fault.NotFound, errors.New("gone"), "no entry")
	p := reporttest.Read(t, f.report(t))
	for _, says := range []string{"The change failed", "older runs that were not read", "10,000 newest runs",
		"9,998 runs more are not listed", "Read this first", "run_1: There is no signed receipt",
		"Nothing in this file is signed",
		"entry_altered",
	} {
		if !strings.Contains(p.Text, says) {
			t.Errorf("it does not say %q", says)
		}
	}
	if strings.Contains(p.Script, "payload") {
		t.Error(p.Script)
	}
}
