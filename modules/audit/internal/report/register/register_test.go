package register_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/modules/audit/internal/report/register"
	"github.com/writ-automation/writ/modules/audit/internal/report/reporttest"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/system"
)

var update = flag.Bool("update", false, "write the golden file")

// on is a time in March 2026.
func on(day, hour int) time.Time { return time.Date(2026, 3, day, hour, 0, 0, 5000, time.UTC) }

// march is the period of most tests.
func march() audit.Period { return audit.Period{From: on(1, 0), To: on(20, 0)} }

type licensed struct{}

type unlicensed struct{}

func (unlicensed) Require(_ context.Context, feature string) error { return system.Unlicensed(feature) }

func (licensed) Require(context.Context, string) error { return nil }

// kept serves the existing runs: the list in pages of two.
type kept struct {
	runs.Reader
	list  []*runs.Run
	lists int
}

func (k *kept) List(_ context.Context, f runs.Filter) (*runs.List, error) {
	k.lists++
	var in []*runs.Run
	for _, r := range k.list {
		if !r.CreatedAt.Before(f.After) && r.CreatedAt.Before(f.Before) {
			in = append(in, r)
		}
	}
	at, _ := strconv.Atoi(f.Cursor)
	end := min(at+2, len(in))
	return &runs.List{Runs: in[at:end], HasMore: end < len(in), NextCursor: strconv.Itoa(end)}, nil
}

func (k *kept) Get(_ context.Context, id string) (*runs.Run, error) {
	for _, r := range k.list {
		if r.ID == id {
			return r, nil
		}
	}
	return nil, fault.Missing("run", id)
}

func quoted(t *testing.T, s string) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// fixture is a chain with entries of every kind and the runs in it, with s applied to each outside text.
func fixture(t *testing.T, s func(string) string) (reporttest.Chain, *kept) {
	t.Helper()
	final := func(status string) string { return `{"status":"` + status + `"}` }
	c := reporttest.NewChain(t,
		reporttest.Entry{At: on(0, 1), Action: audit.ServiceGenesis, Sub: "system"},
		reporttest.Entry{At: on(0, 2), Action: audit.RunSubmit, Sub: "usr_1", SubName: s("Ada"), Object: "run/run_0",
			Run: "run_0"},
		reporttest.Entry{At: on(1, 1), Action: audit.RunFinal, Sub: "wkr_1", Object: "run/run_0", Run: "run_0",
			Detail: final("succeeded")},
		reporttest.Entry{At: on(1, 2), Action: audit.AuthLogin, Sub: "usr_1", SubName: s("Ada"), Object: "user/usr_1"},
		reporttest.Entry{At: on(1, 3), Action: audit.RunSubmit, Sub: "usr_1", SubName: s("Ada"), Object: "run/run_1",
			ObjName: s("patch"), Run: "run_1", Detail: `{"change":` + quoted(t, s("CHG-1")) + `}`},
		reporttest.Entry{At: on(1, 3), Action: audit.RunHold, Sub: "system", Object: "run/run_1", Run: "run_1",
			Text: s("two eyes")},
		reporttest.Entry{At: on(1, 4), Action: audit.RunApprove, Sub: "usr_1", SubName: s("Ada"), Object: "run/run_1",
			Run: "run_1", Outcome: audit.Denied, Text: s("my own")},
		reporttest.Entry{At: on(1, 5), Action: audit.RunApprove, Sub: "usr_2", SubName: s("Bob"), Object: "run/run_1",
			Run: "run_1", Text: s("go ahead")},
		reporttest.Entry{At: on(1, 6), Action: audit.RunStart, Sub: "wkr_1", Object: "run/run_1", Run: "run_1"},
		reporttest.Entry{At: on(2, 1), Action: audit.UserCreate, Sub: "usr_1", SubName: s("Ada"), Object: "user/usr_3",
			ObjName: s("Eve")},
		reporttest.Entry{At: on(2, 2), Action: audit.RunFinal, Sub: "wkr_1", Object: "run/run_1", Run: "run_1",
			Detail: final("failed")},
		reporttest.Entry{At: on(2, 3), Action: audit.GrantCreate, Sub: "usr_3", SubName: s("Eve"), Object: "grant/grt_1",
			Outcome: audit.Denied},
		reporttest.Entry{At: on(5, 1), Action: audit.RunSubmit, Sub: "usr_2", SubName: s("Bob"), Object: "run/run_2",
			Run: "run_2", Detail: `{"dry_run":true}`},
		reporttest.Entry{At: on(5, 2), Action: audit.RunSubmit, Sub: "trg_1", Object: "run/run_3", Run: "run_3"},
		reporttest.Entry{At: on(19, 0), Action: audit.AuditBeat, Sub: "system"},
		reporttest.Entry{At: on(20, 0), Action: audit.TokenCreate, Sub: "usr_2", Object: "token/tok_1"},
	)
	ada := actor.Actor{Type: actor.User, ID: "usr_1", Name: s("Ada")}
	return c, &kept{list: []*runs.Run{
		{ID: "run_0", Name: s("before"), Change: s("CHG-0"), Status: runs.Succeeded, CreatedAt: on(0, 2), Actor: ada},
		{ID: "run_1", Name: s("patch"), Change: s("CHG-1"), Status: runs.Failed, CreatedAt: on(1, 3), Actor: ada},
		{ID: "run_2", Name: s("check"), Change: s("CHG-2"), Status: runs.Running, CreatedAt: on(5, 1)},
	}}
}

func plain(s string) string { return s }

func maker(c audit.ChainReader, k runs.Reader) *register.Register {
	return register.New(register.Params{Chain: c, Runs: k, Licence: licensed{}, Clock: reporttest.Now(on(25, 0))})
}

func TestRegisterIsGolden(t *testing.T) {
	t.Parallel()
	c, k := fixture(t, plain)
	got, err := maker(c, k).Register(t.Context(), march())
	if err != nil {
		t.Fatal(err)
	}
	const name = "testdata/register.html"
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
	p := reporttest.Read(t, got)
	for _, says := range []string{"4 runs", "1 run failed", "1 change of the configuration", "1 dry run among them",
		"CHG-0", "approved by Bob (usr_2): go ahead", "run.approve denied by Ada"} {
		if !strings.Contains(p.Text, says) {
			t.Errorf("it does not say %q", says)
		}
	}
	for _, e := range c {
		logged := strings.Contains(p.Text, audit.Receipt{Seq: e.Seq, Hash: e.Hash}.String())
		if want := e.Seq >= 3 && e.Seq <= 14 && e.Seq != 4; logged != want {
			t.Errorf("the receipt of entry %d: %v", e.Seq, logged)
		}
	}
}

// TestRegisterIsInert puts hostile text into every outside text: the tags must stay those of the template.
// Keeps T19, T20.
func TestRegisterIsInert(t *testing.T) {
	t.Parallel()
	read := func(with string) reporttest.Page {
		c, k := fixture(t, func(s string) string { return with + s })
		doc, err := maker(c, k).Register(t.Context(), march())
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(doc, []byte("<td>=")) || bytes.Contains(doc, []byte("<td>@")) ||
			bytes.Contains(doc, []byte("<td>-")) || bytes.Contains(doc, []byte("<td>&#43;")) {
			t.Errorf("%q: a spreadsheet would compute a cell", with)
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

// TestHostileRegister writes a register with all hostile texts, which a real browser opens in e2e/verifiers.
func TestHostileRegister(t *testing.T) {
	t.Parallel()
	c, k := fixture(t, func(s string) string { return strings.Join(reporttest.Hostile(), " ") + s })
	got, err := maker(c, k).Register(t.Context(), march())
	if err != nil {
		t.Fatal(err)
	}
	const name = "testdata/hostile.html"
	if *update {
		if err := os.WriteFile(name, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(name); err != nil || !bytes.Equal(want, got) {
		t.Errorf("%s is another one (write it with -update): %v", name, err)
	}
}

func TestRegisterNeedsALicence(t *testing.T) {
	t.Parallel()
	r := register.New(register.Params{Licence: unlicensed{}, Clock: reporttest.Now(on(25, 0))})
	if _, err := r.Register(t.Context(), audit.Period{From: on(2, 0), To: on(1, 0)}); !fault.Is(err, fault.Invalid) {
		t.Errorf("a period that ends before it begins: %v", err)
	}
	doc, err := r.Register(t.Context(), march())
	f, ok := err.(*fault.Error)
	if doc != nil || !ok || f.Kind != fault.Unlicensed || f.Reason() != "license_required" ||
		f.Detail["feature"] != audit.FeatureRegister ||
		f.Detail["tier"] != "team" || !strings.Contains(f.Message, audit.FeatureRegister) {
		t.Errorf("%d bytes, %#v", len(doc), err)
	}
}

func TestRegisterPeriods(t *testing.T) {
	t.Parallel()
	c, k := fixture(t, plain)
	for name, tc := range map[string]struct {
		p    audit.Period
		want string
	}{
		"the default":       {audit.Period{}, "1 run succeeded"},
		"until now":         {audit.Period{From: on(20, 0)}, "1 change of the configuration"},
		"nothing yet":       {audit.Period{From: on(21, 0)}, "Nothing was changed"},
		"before everything": {audit.Period{From: on(-9, 0), To: on(-8, 0)}, "Nothing was changed"},
		"one entry":         {audit.Period{From: on(2, 1), To: on(2, 1).Add(time.Microsecond)}, "Eve user/usr_3"},
	} {
		doc, err := maker(c, k).Register(t.Context(), tc.p)
		if err != nil {
			t.Fatal(err)
		}
		if p := reporttest.Read(t, doc); !strings.Contains(p.Text, tc.want) {
			t.Errorf("%s: %s", name, p.Text)
		}
	}
	for _, p := range []audit.Period{{From: on(2, 0), To: on(2, 0)}, {From: on(3, 0), To: on(2, 0)}, {From: on(26, 0)}} {
		if _, err := maker(c, k).Register(t.Context(), p); !fault.Is(err, fault.Invalid) {
			t.Errorf("%v: %v", p, err)
		}
	}
	if doc, err := maker(reporttest.Chain{}, k).Register(t.Context(), march()); err != nil ||
		!bytes.Contains(doc, []byte("Nothing was changed")) {
		t.Errorf("an empty chain: %v", err)
	}
}

// TestRegisterSaysWhatIsWrong shows altered entries and those that are cut.
func TestRegisterSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	c, k := fixture(t, plain)
	c[9].Leaf = strings.Replace(c[9].Leaf, "user.create", "user.delete", 1)
	c[11].Leaf = "{}"
	c[10].Detail = `{"status":"succeeded"}`
	doc, err := maker(c, k).Register(t.Context(), march())
	if err != nil {
		t.Fatal(err)
	}
	if p := reporttest.Read(t, doc); !strings.Contains(p.Text, "3 entries of the audit trail were changed after") ||
		!strings.Contains(p.Text, "audit verify") {
		t.Errorf("it says %s", p.Text)
	}
	c, k = fixture(t, plain)
	doc, err = register.New(register.Params{Chain: c, Runs: k, Licence: licensed{}, Clock: reporttest.Now(on(25, 0)),
		Rows: 3}).Register(t.Context(), march())
	if err != nil {
		t.Fatal(err)
	}
	p := reporttest.Read(t, doc)
	if !strings.Contains(p.Text, "3 entries are not listed, the first of 2026-03-02 03:00:00.000005 UTC") ||
		strings.Contains(p.Text, "run_3") {
		t.Errorf("it says %s", p.Text)
	}
}

// TestRegisterFindsThePeriod cuts chains with holes anywhere: the list has exactly the entries of the period.
func TestRegisterFindsThePeriod(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var entries []reporttest.Entry
		at, newest := on(1, 0), on(1, 0)
		for i := range rapid.IntRange(0, 40).Draw(rt, "entries") {
			// The clock may step back by less than a day.
			at = newest.Add(time.Duration(rapid.IntRange(-23, 72).Draw(rt, "hours")) * time.Hour)
			if at.After(newest) {
				newest = at
			}
			entries = append(entries, reporttest.Entry{At: at, Action: audit.TeamCreate, Object: fmt.Sprintf("team/team_%d", i)})
		}
		whole := reporttest.NewChain(t, entries...)
		var c reporttest.Chain
		for _, e := range whole {
			if rapid.IntRange(0, 4).Draw(rt, "kept") > 0 {
				c = append(c, e)
			}
		}
		p := audit.Period{From: on(rapid.IntRange(0, 60).Draw(rt, "from"), 0)}
		p.To = p.From.Add(time.Duration(rapid.IntRange(1, 999).Draw(rt, "span")) * time.Hour)
		doc, err := maker(c, &kept{}).Register(t.Context(), p)
		if err != nil {
			rt.Fatal(err)
		}
		for _, e := range c {
			when, err := time.Parse(time.RFC3339Nano, e.At)
			if err != nil {
				rt.Fatal(err)
			}
			in := !when.Before(p.From) && when.Before(p.To)
			if bytes.Contains(doc, []byte("<code>"+e.Object+"</code>")) != in {
				rt.Fatalf("entry %d of %s is listed: %v", e.Seq, e.At, !in)
			}
		}
	})
}
