package evidence_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/modules/audit/internal/report/evidence"
	"github.com/writ-automation/writ/modules/audit/internal/report/paper"
	"github.com/writ-automation/writ/modules/audit/internal/report/reporttest"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

var update = flag.Bool("update", false, "write the golden files")

const envelope = `{"payload":"eyJhIjoxfQ==","payloadType":"application/vnd.in-toto+json","signatures":[{"keyid":"sha256:00","sig":"a+b/"}]}`

func at(second int) time.Time { return time.Date(2026, 3, 1, 12, 0, second, 123456000, time.UTC) }

// fixture has all data of one run. Every text in it passed through one function.
type fixture struct {
	runs.Reader
	audit.AnchorStore
	audit.Prover
	run        runs.Run
	children   []*runs.Run
	hosts      []runs.HostSummary
	tasks      []runs.TaskSummary
	chain      reporttest.Chain
	anchor     audit.Anchor
	receiptErr error
	asked      audit.ReceiptQuery
}

func (w *fixture) Get(_ context.Context, id string) (*runs.Run, error) {
	if id != w.run.ID {
		return nil, fault.Missing("run", id)
	}
	return &w.run, nil
}
func (w *fixture) Children(context.Context, string) ([]*runs.Run, error)     { return w.children, nil }
func (w *fixture) Hosts(context.Context, string) ([]runs.HostSummary, error) { return w.hosts, nil }
func (w *fixture) Tasks(context.Context, string) ([]runs.TaskSummary, error) { return w.tasks, nil }
func (w *fixture) NewestAnchors(_ context.Context, kind string, _ int) ([]audit.Anchor, error) {
	if kind != w.anchor.Kind {
		return nil, nil
	}
	return []audit.Anchor{w.anchor}, nil
}

func (w *fixture) Receipt(_ context.Context, _ string, q audit.ReceiptQuery) (audit.SignedReceipt, error) {
	w.asked = q
	return audit.SignedReceipt{Body: []byte(envelope), KeyID: "sha256:00"}, w.receiptErr
}

func (w *fixture) evidence() *evidence.Evidence {
	return evidence.New(evidence.Params{Runs: w, Chain: w.chain, Anchors: w, Prover: w, Clock: reporttest.Now(at(59))})
}

func quoted(t *testing.T, s string) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// newFixture makes a run that was held, approved and executed, with s applied to each outside text.
func newFixture(t *testing.T, s func(string) string) *fixture {
	t.Helper()
	code := 2
	ada, bob := actor.Actor{Type: actor.User, ID: "usr_1", Name: s("Ada")},
		actor.Actor{Type: actor.User, ID: "usr_2", Name: s("Bob")}
	w := &fixture{
		run: runs.Run{
			ID: "run_1", Name: s("patch"), Kind: runs.Pipeline, Status: runs.Failed, Change: s("CHG-7"),
			Commit: strings.ToValidUTF8(s("c0ffee"), ""), Actor: ada, Error: s("one host failed"),
			Spec: runs.Spec{
				Tool: s("ansible"), Playbook: s("site.yml"), Command: s("echo"), InventoryID: s("inv_1"), Inventory: s("web"),
				ProjectID: s("prj_1"),
				Controls:  runs.Controls{Limit: s("web*"), Tags: []string{s("t1"), s("t2")}, SkipTags: []string{s("t3")}},
				DryRun:    true, DryRunExecutes: true,
				Env: map[string]string{s("LANG"): "c4nary"}, CredentialIDs: []string{s("crd_1")}, Queue: s("default"),
				LimitHosts: []string{s("web1")}, IsolationProfile: s("sealed"), FailOn: []string{s("no_hosts")},
			},
			Labels: map[string]string{s("env"): s("prod")}, Vars: runs.Vars{s("version"): json.RawMessage(`"c4nary"`)},
			Outputs: runs.Vars{"o": json.RawMessage(`"c4nary"`)},
			Origin: runs.Origin{Source: runs.Source(s("template")), SourceID: s("tpl_1"), RetryOf: s("run_0"),
				RerunOf: s("run_00")},
			Warnings: []runs.Warning{{Code: s("no_hosts_matched"), Message: s("no host")}}, ExitCode: &code,
			ParentID: s("run_p"), StepName: s("build"),
			CreatedAt: at(1), QueuedAt: at(2), StartedAt: at(3), EndedAt: at(5), Worker: s("w1"), ToolVersion: s("2.14.18"),
			Isolation:        runs.Isolation{Level: s("users"), Profile: s("sealed")},
			AcceptedHostKeys: []runs.HostKey{{Host: s("[web1]:2222"), Type: s("ssh-ed25519"), Fingerprint: s("SHA256:a")}},
			LogSHA256:        strings.Repeat("ab", 32), LogBytes: 100, LogOmitted: 7, EventCount: 9, HostsTouched: 2,
			Hosts:     runs.HostCounts{runs.HostOK: 1, runs.HostFailed: 1},
			Approvals: &runs.Approvals{Holds: []runs.Hold{{ID: "pol_1", Name: s("two eyes"), Needed: 1}}},
			Decision:  &runs.Decision{By: bob, At: at(2), Verdict: runs.Approved, Reason: s("fine")},
		},
		children: []*runs.Run{{ID: s("run_2"), StepName: s("step"), Status: runs.Failed, StartedAt: at(3), EndedAt: at(4),
			ExitCode: &code}},
		hosts: []runs.HostSummary{{Host: s("web1"), OK: 3, Worst: runs.HostOK, Duration: 1500 * time.Millisecond},
			{Host: s("web2"), Failed: 1, Worst: runs.HostFailed}},
		tasks: []runs.TaskSummary{{Play: s("all"), Task: s("install"), Hosts: 2, OK: 1, Failed: 1, Duration: time.Second}},
		anchor: audit.Anchor{ID: s("anc_1"), Kind: audit.KindTimestamp, Size: 5, MadeAt: at(6),
			Source: s("https://tsa.example")},
	}
	entry := func(second int, e reporttest.Entry) reporttest.Entry {
		e.At, e.Object, e.Run, e.ObjName = at(second), "run/run_1", "run_1", s("patch")
		return e
	}
	w.chain = reporttest.NewChain(t,
		entry(1, reporttest.Entry{Action: audit.RunSubmit, Sub: "usr_1", SubName: s("Ada"),
			Detail: `{"risk":{"level":` + quoted(t, s("high")) + `},"salt":"x"}`}),
		entry(1, reporttest.Entry{Action: audit.RunHold, Sub: "system",
			Detail: `{"held_by":{"id":` + quoted(t, s("pol_1")) + `,"name":` + quoted(t, s("two eyes")) + `},"salt":"x"}`}),
		entry(2, reporttest.Entry{Action: audit.RunApprove, Sub: "usr_2", SubName: s("Bob"), Text: s("fine")}),
		entry(3, reporttest.Entry{Action: audit.RunStart, Sub: "wkr_1"}),
		entry(5, reporttest.Entry{Action: audit.RunFinal, Sub: "wkr_1", Detail: fmt.Sprintf(
			`{"commit":%s,"events":{"count":9,"root":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="},"log":{"bytes":100,"sha256":"%s"},"status":"failed"}`, quoted(t, strings.ToValidUTF8(s("c0ffee"), "")), strings.Repeat("ab", 32))}),
	)
	return w
}

func plain(s string) string { return s }

// TestEvidenceIsGolden compares both forms with the reviewed files.
func TestEvidenceIsGolden(t *testing.T) {
	t.Parallel()
	w := newFixture(t, plain)
	got, err := w.evidence().Evidence(t.Context(), "run_1")
	if err != nil {
		t.Fatal(err)
	}
	if !w.asked.Sparse || w.asked.Private || w.asked.From != nil {
		t.Errorf("the receipt that was asked for: %+v", w.asked)
	}
	for name, b := range map[string][]byte{"testdata/evidence.html": got.HTML,
		"testdata/evidence.json": append(bytes.Clone(got.JSON), '\n')} {
		if *update {
			if err := os.WriteFile(name, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(b)); diff != "" {
			t.Errorf("%s (write it with -update):\n%s", name, diff)
		}
	}
	p := reporttest.Read(t, got.HTML)
	if p.Script != string(got.JSON) {
		t.Errorf("the page embeds %s", p.Script)
	}
	if again, err := newFixture(t, plain).evidence().Evidence(t.Context(), "run_1"); err != nil ||
		!bytes.Equal(again.HTML, got.HTML) {
		t.Errorf("a second time it is another document: %v", err)
	}
	if bytes.Contains(got.HTML, []byte("c4nary")) || bytes.Contains(got.JSON, []byte("c4nary")) {
		t.Error("values of variables are told")
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(got.JSON, &parts); err != nil || string(parts["receipt"]) != envelope {
		t.Errorf("the receipt is not there byte for byte: %s %v", parts["receipt"], err)
	}
}

// TestEvidenceOfADryRun says that a dry run checked something, also of its parts.
func TestEvidenceOfADryRun(t *testing.T) {
	t.Parallel()
	for dry, want := range map[bool]int{false: 0, true: 3} {
		w := newFixture(t, plain)
		w.run.Spec.DryRun, w.run.Status, w.children[0].Status = dry, runs.Succeeded, runs.Succeeded
		got, err := w.evidence().Evidence(t.Context(), "run_1")
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Run struct{ Checked bool }
		}
		text := reporttest.Read(t, got.HTML).Text
		// A problem names the stored status.
		if err := json.Unmarshal(got.JSON, &doc); err != nil || doc.Run.Checked != dry ||
			strings.Count(text, "checked") != want || strings.Count(text, "succeeded") != 4-want {
			t.Errorf("dry run %t: %v\n%s", dry, doc, text)
		}
	}
}

// TestEvidenceOfAHeadThatIsContested does not count the head among those that cover the run.
func TestEvidenceOfAHeadThatIsContested(t *testing.T) {
	t.Parallel()
	for evidence, want := range map[string]int{"": 1, `{"size":3}`: 0} {
		w := newFixture(t, plain)
		w.anchor.Kind, w.anchor.Evidence = audit.KindWorker, []byte(evidence)
		got, err := w.evidence().Evidence(t.Context(), "run_1")
		if err != nil {
			t.Fatal(err)
		}
		var parts struct{ Anchors []json.RawMessage }
		if err := json.Unmarshal(got.JSON, &parts); err != nil || len(parts.Anchors) != want {
			t.Errorf("with %q: %s, %v", evidence, parts.Anchors, err)
		}
	}
}

// TestEvidenceIsInert puts hostile text into every outside text: the tags must stay those of the template.
// Keeps T19.
func TestEvidenceIsInert(t *testing.T) {
	t.Parallel()
	for i, hostile := range reporttest.Hostile() {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			n := 0
			// Names stay distinct in both fixtures, so that maps have as many members.
			mark := func(with string) *fixture {
				return newFixture(t, func(s string) string { n++; return s + with })
			}
			good, err := mark("+").evidence().Evidence(t.Context(), "run_1")
			if err != nil {
				t.Fatal(err)
			}
			bad, err := mark(hostile).evidence().Evidence(t.Context(), "run_1")
			if err != nil {
				t.Fatal(err)
			}
			want, got := reporttest.Read(t, good.HTML), reporttest.Read(t, bad.HTML)
			if diff := cmp.Diff(want.Shape, got.Shape); diff != "" {
				t.Errorf("%q made tags: %s", hostile, diff)
			}
			visible := paper.Visible(strings.ToValidUTF8(strings.ReplaceAll(hostile, "\x00", "\uFFFD"), "\uFFFD"))
			if c := strings.Count(got.Text, visible); c < n/4 && !strings.ContainsAny(hostile, "\x00\xff") {
				t.Errorf("%q is shown %d times", visible, c)
			}
			if !json.Valid(bad.JSON) || got.Script != string(bad.JSON) || strings.ContainsAny(got.Script, "<>&") {
				t.Errorf("the JSON: %s", got.Script)
			}
		})
	}
}

func problems(d *evidence.Document) string {
	var codes []string
	for _, p := range d.Problems {
		codes = append(codes, p.Code)
	}
	return strings.Join(codes, " ")
}

func TestEvidenceSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(w *fixture)
		want  string
	}{
		"nothing":        {func(*fixture) {}, ""},
		"no key":         {func(w *fixture) { w.receiptErr = audit.NoSigningKey.New("no key") }, "no_receipt"},
		"a broken chain": {func(w *fixture) { w.receiptErr = audit.Broken.New("broken") }, "no_receipt"},
		"an edited leaf": {func(w *fixture) {
			w.chain[2].Leaf = strings.Replace(w.chain[2].Leaf, "applied", "denied!", 1)
			w.chain[2].Detail = "{}"
		}, "entry_altered"},
		"a leaf of another hash": {func(w *fixture) { w.chain[0].Hash[0] ^= 1; w.run.Status = runs.Failed }, "entry_altered"},
		"an edited document": {func(w *fixture) {
			w.chain[4].Detail = strings.Replace(w.chain[4].Detail, "failed", "succeeded", 1)
		}, "entry_altered"},
		"an edited record": {func(w *fixture) {
			w.run.Status, w.run.Commit, w.run.LogSHA256 = runs.Succeeded, "beef", "cd"
		}, "status_differs commit_differs log_differs"},
		"an erased digest": {func(w *fixture) { w.chain[4].Detail = "" }, "digest_unknown"},
		"no trail": {func(w *fixture) {
			w.chain = nil
			w.receiptErr = audit.EntryNotFound.New("none")
		}, "no_entries no_receipt"},
	} {
		w := newFixture(t, plain)
		c.spoil(w)
		d, err := w.evidence().Collect(t.Context(), "run_1")
		if err != nil || problems(d) != c.want {
			t.Errorf("%s: %q %v", name, problems(d), err)
			continue
		}
		if len(d.Holds) != 1 || len(d.Decisions) != 1 || d.Decisions[0].Reason != "fine" ||
			(w.receiptErr == nil) != (d.Receipt != nil) {
			t.Errorf("%s: %+v", name, d)
		}
		e, err := w.evidence().Evidence(t.Context(), "run_1")
		if err != nil {
			t.Fatal(err)
		}
		if p := reporttest.Read(t, e.HTML); strings.Contains(p.Text, "Read this first") != (c.want != "") {
			t.Errorf("%s: the page says %s", name, p.Text)
		}
	}
}

func TestEvidenceEnds(t *testing.T) {
	t.Parallel()
	w := newFixture(t, plain)
	if _, err := w.evidence().Evidence(t.Context(), "run_9"); !fault.Is(err, fault.NotFound) {
		t.Errorf("an unknown run: %v", err)
	}
	w.receiptErr = errors.New("disk on fire")
	if _, err := w.evidence().Evidence(t.Context(), "run_1"); !errors.Is(err, w.receiptErr) {
		t.Errorf("an accident: %v", err)
	}
}

// TestEvidenceIsBounded checks that only the worst hosts are listed and the others are counted.
func TestEvidenceIsBounded(t *testing.T) {
	t.Parallel()
	w := newFixture(t, plain)
	w.hosts, w.tasks = make([]runs.HostSummary, evidence.MaxHosts+5), make([]runs.TaskSummary, evidence.MaxTasks+1)
	for i := range w.hosts {
		w.hosts[i] = runs.HostSummary{Host: fmt.Sprintf("h%05d", i), Worst: runs.HostOK}
	}
	w.hosts[len(w.hosts)-1].Worst = runs.HostUnreachable
	entries := make([]reporttest.Entry, evidence.MaxEntries+1)
	for i := range entries {
		entries[i] = reporttest.Entry{At: at(1), Action: audit.RunCancel, Sub: "usr_1", Object: "run/run_1", Run: "run_1",
			Outcome: audit.Denied}
	}
	w.chain = reporttest.NewChain(t, entries...)
	w.anchor.Size = int64(len(entries))
	d, err := w.evidence().Collect(t.Context(), "run_1")
	if err != nil || len(d.Hosts) != evidence.MaxHosts || d.HostsOmitted != 5 ||
		d.Hosts[0].Worst != runs.HostUnreachable || len(d.Tasks) != evidence.MaxTasks ||
		d.TasksOmitted != 1 || len(d.Receipts) != evidence.MaxEntries || !d.ReceiptsOmitted || d.Anchors[0].Covers {
		t.Fatalf("%d hosts, %d tasks, %d entries, %v", len(d.Hosts), len(d.Tasks), len(d.Receipts), err)
	}
	e, err := w.evidence().Evidence(t.Context(), "run_1")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"5 hosts more are not listed", "1 task more is not listed",
		"Further entries of this run"} {
		if !bytes.Contains(e.HTML, []byte(want)) {
			t.Errorf("it does not say %q", want)
		}
	}
}
