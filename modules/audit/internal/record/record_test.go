package record_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/modules/audit/internal/record"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/ids"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/tx"
)

// chain stores entries in memory and serializes units.
type chain struct {
	audit.ChainStore
	entries []audit.Stored
	appends int
	fail    error
}

func (c *chain) Do(ctx context.Context, fn func(context.Context) error) error {
	ctx, hooks := tx.WithHooks(ctx)
	if err := fn(ctx); err != nil {
		return err
	}
	if err := hooks.Finish(ctx); err != nil {
		return err
	}
	hooks.Run()
	return nil
}

func (c *chain) Lock(context.Context) (t audit.Tip, now time.Time, err error) {
	if n := len(c.entries); n > 0 {
		t = audit.Tip{Size: int64(n), Hash: c.entries[n-1].Hash}
	}
	return t, time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC), c.fail
}

func (c *chain) Append(_ context.Context, entries []audit.Stored) error {
	c.appends++
	c.entries = append(c.entries, entries...)
	return nil
}

func (c *chain) RunHashes(_ context.Context, runs []string) (map[string][][32]byte, error) {
	out := map[string][][32]byte{}
	for _, e := range c.entries {
		for _, run := range runs {
			if e.Run == run || e.Object == "run/"+run {
				out[run] = append(out[run], e.Hash)
			}
		}
	}
	return out, nil
}

func setup() (*chain, *record.Recorder) {
	c := &chain{}
	return c, record.New(record.Params{Chain: c, IDs: ids.New(clock.New())})
}

func all(ctx context.Context, c *chain, r *record.Recorder, entries ...audit.Entry) error {
	return c.Do(ctx, func(ctx context.Context) error {
		for _, e := range entries {
			if err := r.Record(ctx, e); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestAUnitIsOneAppendBehindTheGenesis(t *testing.T) {
	t.Parallel()
	c, r := setup()
	ctx, collector := audit.WithCollector(t.Context())
	ctx = actor.With(ctx, actor.Actor{Type: actor.User, ID: "usr_1", Name: "Ada Example", IP: "192.0.2.1"})
	ctx = actor.WithRequest(ctx, actor.Request{ID: "req-1", Method: "POST", Path: "/v1/runs", Agent: "curl/8"})
	err := all(ctx, c, r,
		audit.Entry{Action: audit.RunSubmit, Object: audit.Object{Kind: "run", ID: "run_1", Name: "deploy"}, Run: "run_1",
			Text:   "why it was done",
			Detail: map[string]any{"b": true, "a": []any{1, "x", map[string]any{"y": json.Number("7")}}}},
		audit.Entry{Action: audit.RunStart, Object: audit.Object{Kind: "run", ID: "run_1"}, Run: "run_1",
			By: &actor.Actor{Type: actor.Worker, ID: "box-1"}})
	if err != nil || c.appends != 1 || len(c.entries) != 3 {
		t.Fatalf("%d appends of %d entries: %v", c.appends, len(c.entries), err)
	}
	if g := c.entries[0]; g.Action != "svc.genesis" || g.Actor != "system" || g.Object != "" {
		t.Errorf("the first entry is %+v", g)
	}
	prev := [32]byte{}
	for i, e := range c.entries {
		l, err := leaf.Scan([]byte(e.Leaf))
		if err != nil || l.Seq != int64(i+1) || l.Prev != prev || e.Hash != leaf.Hash([]byte(e.Leaf)) {
			t.Errorf("entry %d: %+v %v", i, l, err)
		}
		prev = e.Hash
	}
	got, _ := collector.Receipt()
	if want := (audit.Receipt{Seq: 2, Hash: c.entries[1].Hash}); got != want {
		t.Errorf("receipt %v, want %v", got, want)
	}
	line, err := record.Line(&c.entries[1])
	if err != nil {
		t.Fatal(err)
	}
	want := audit.Line{
		Seq: 2, ID: c.entries[1].ID, At: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC), Action: audit.RunSubmit,
		Method: "POST", Path: "/v1/runs",
		Actor: actor.Actor{Type: actor.User, ID: "usr_1", Name: "Ada Example", IP: "192.0.2.1"}, Agent: "curl/8",
		Object: audit.Object{Kind: "run", ID: "run_1", Name: "deploy"},
		Run:    "run_1", Outcome: audit.Applied, Text: "why it was done", Details: json.RawMessage(`{"a":[1,"x",{"y":7}],"b":true}`),
		DetailsHash: line.DetailsHash, PrevHash: c.entries[0].Hash, Hash: c.entries[1].Hash,
	}
	if diff := cmp.Diff(want, line); diff != "" {
		t.Error(diff)
	}
	worker, err := record.Line(&c.entries[2])
	if err != nil || worker.Actor.Type != actor.Worker || worker.Actor.ID != "worker" || worker.Actor.Name != "box-1" {
		t.Errorf("the worker is %+v: %v", worker.Actor, err)
	}
	for _, private := range []string{"Ada Example", "192.0.2.1", "curl/8", "deploy", "why it was done", "/v1/runs",
		"box-1"} {
		for _, e := range c.entries {
			if strings.Contains(e.Leaf, private) {
				t.Errorf("a leaf holds %q", private)
			}
		}
	}
}

func TestGenesisIsTheFirstEntryAndThereIsOne(t *testing.T) {
	t.Parallel()
	c, r := setup()
	genesis := audit.Entry{Action: audit.ServiceGenesis, Object: audit.Object{Kind: "install", ID: "in_1"}}
	beat := audit.Entry{Action: audit.AuditBeat}
	if err := errors.Join(all(t.Context(), c, r, genesis), all(t.Context(), c, r, genesis),
		all(t.Context(), c, r, beat, genesis)); err != nil {
		t.Fatal(err)
	}
	if len(c.entries) != 2 || c.entries[0].Object != "install/in_1" || c.appends != 2 {
		t.Errorf("%d entries in %d appends", len(c.entries), c.appends)
	}
}

func TestTheEndOfARunCountsItsEntries(t *testing.T) {
	t.Parallel()
	c, r := setup()
	of := func(a audit.Action, id, run string, final bool) audit.Entry {
		return audit.Entry{Action: a, Object: audit.Object{Kind: "run", ID: id}, Run: run, Final: final,
			Detail: map[string]any{"v": 1, "id": id}}
	}
	err := errors.Join(
		all(t.Context(), c, r, of(audit.RunSubmit, "run_1", "run_1", false), of(audit.RunStart, "run_2", "run_1", false)),
		all(t.Context(), c, r, of(audit.RunSubmit, "run_9", "run_9", false)),
		all(t.Context(), c, r, of(audit.RunCancel, "run_2", "run_1", false), of(audit.RunFinal, "run_2", "run_1", true),
			of(audit.RunFinal, "run_1", "run_1", true)))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		final int
		own   []int
	}{{5, []int{2, 4}}, {6, []int{1, 2, 4, 5}}} {
		e, sum := c.entries[want.final], sha256.New()
		for _, i := range want.own {
			sum.Write(c.entries[i].Hash[:])
		}
		doc := fmt.Sprintf(`{"entries":{"count":%d,"digest":"sha256:%x"},"id":%q,"v":1}`, len(want.own), sum.Sum(nil),
			strings.TrimPrefix(e.Object, "run/"))
		l, err := leaf.Scan([]byte(e.Leaf))
		if err != nil || e.Detail != doc || l.Det != fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(doc))) {
			t.Errorf("entry %d has %s, want %s: %v", want.final, e.Detail, doc, err)
		}
	}
}

func TestWrongEntriesAreInternalFaults(t *testing.T) {
	t.Parallel()
	c, r := setup()
	for name, e := range map[string]audit.Entry{
		"action":   {Action: "run.explode"},
		"outcome":  {Action: audit.AuditBeat, Outcome: "maybe"},
		"kind":     {Action: audit.AuditBeat, Object: audit.Object{Kind: "Run", ID: "x"}},
		"no id":    {Action: audit.AuditBeat, Object: audit.Object{Kind: "run"}},
		"long id":  {Action: audit.AuditBeat, Object: audit.Object{Kind: "run", ID: strings.Repeat("x", 201)}},
		"long run": {Action: audit.AuditBeat, Run: strings.Repeat("x", 201)},
		"bytes":    {Action: audit.AuditBeat, Run: "\xff"},
		"final":    {Action: audit.RunFinal, Final: true},
		"float":    {Action: audit.AuditBeat, Detail: map[string]any{"a": 1.5}},
		"negative": {Action: audit.AuditBeat, Detail: map[string]any{"a": -1}},
		"beyond":   {Action: audit.AuditBeat, Detail: map[string]any{"a": uint64(math.MaxUint64)}},
		"number":   {Action: audit.AuditBeat, Detail: map[string]any{"a": json.Number("1e3")}},
		"nil":      {Action: audit.AuditBeat, Detail: map[string]any{"a": nil}},
		"type":     {Action: audit.AuditBeat, Detail: map[string]any{"a": time.Second}},
		"name":     {Action: audit.AuditBeat, Detail: map[string]any{"\xff": "a"}},
		"salt":     {Action: audit.AuditBeat, Detail: map[string]any{"salt": "a"}},
		"entries": {Action: audit.RunFinal, Final: true, Object: audit.Object{Kind: "run", ID: "r"},
			Detail: map[string]any{"entries": "a"}},
		"size": {Action: audit.AuditBeat, Detail: map[string]any{"a": strings.Repeat("x", 1<<20)}},
	} {
		if err := all(t.Context(), c, r, e); err == nil || !fault.Is(err, fault.Internal) || len(c.entries) > 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := r.Record(t.Context(), audit.Entry{Action: audit.AuditBeat}); !fault.Is(err, fault.Internal) || err == nil {
		t.Errorf("outside of a unit: %v", err)
	}
}

func TestAStoreThatFailsKeepsItsCause(t *testing.T) {
	t.Parallel()
	c, r := setup()
	c.fail = errors.New("serialization failure")
	ctx, collector := audit.WithCollector(t.Context())
	err := all(ctx, c, r, audit.Entry{Action: audit.AuditBeat})
	if _, ok := collector.Receipt(); ok || !audit.Unrecorded.Is(err) || !errors.Is(err, c.fail) {
		t.Errorf("the error is %v, receipt %t", err, ok)
	}
}

// TestWhateverComesFromOutsideIsRecorded checks that no request can prevent its entry, and that details are read back
// in canonical form.
func TestWhateverComesFromOutsideIsRecorded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(p *rapid.T) {
		c, r := setup()
		raw := func(name string) string { return string(rapid.SliceOfN(rapid.Byte(), 0, 2000).Draw(p, name)) }
		ctx := actor.With(t.Context(), actor.Actor{
			Type: rapid.SampledFrom([]actor.Type{actor.User, actor.Worker, actor.Hook, actor.System, actor.Anonymous}).
				Draw(p, "type"),
			ID: raw("id"), Name: raw("name"), IP: raw("ip"),
		})
		ctx = actor.WithRequest(ctx, actor.Request{ID: raw("request"), Method: raw("method"), Path: raw("path"),
			Agent: raw("agent")})
		detail := map[string]any{}
		for _, name := range rapid.SliceOfN(rapid.StringMatching(`[a-zé𐐷！]{1,4}`), 0, 5).Draw(p, "names") {
			detail[name] = rapid.OneOf(rapid.String().AsAny(), rapid.Bool().AsAny(), rapid.Int64Range(0, 1<<53-1).AsAny()).
				Draw(p, "value")
		}
		delete(detail, "salt")
		e := audit.Entry{Action: audit.AuthLogin, Object: audit.Object{Name: raw("object")}, Text: raw("text"),
			Detail: detail}
		if err := all(ctx, c, r, e); err != nil {
			p.Fatal(err)
		}
		line, err := record.Line(&c.entries[1])
		if err != nil {
			p.Fatal(err)
		}
		if len(detail) == 0 {
			return
		}
		for name, v := range detail {
			if s, ok := v.(string); ok {
				detail[name] = strings.ReplaceAll(s, "\x00", "\ufffd")
			}
		}
		if want, err := keys.Encode(detail); err != nil || !bytes.Equal(want, line.Details) {
			p.Fatalf("%s, want %s: %v", line.Details, want, err)
		}
	})
}

func TestALineOfAnAlteredEntryIsBroken(t *testing.T) {
	t.Parallel()
	c, r := setup()
	ctx := actor.With(t.Context(), actor.Actor{Type: actor.System, Name: "cli:ada"})
	if err := all(ctx, c, r, audit.Entry{Action: audit.AuditErase, Detail: map[string]any{"a": "b"}}); err != nil {
		t.Fatal(err)
	}
	whole := c.entries[1]
	erased := whole
	erased.Disclosures, erased.Detail = nil, ""
	if l, err := record.Line(&erased); err != nil || l.Actor != (actor.Actor{Type: actor.System, ID: "cli"}) ||
		l.Details != nil || l.DetailsHash == "" {
		t.Errorf("erased: %+v %v", l, err)
	}
	if l, err := record.Line(&whole); err != nil || l.Actor.Name != "cli:ada" {
		t.Errorf("whole: %+v %v", l, err)
	}
	for name, change := range map[string]func(*audit.Stored){
		"leaf":       func(s *audit.Stored) { s.Leaf += " " },
		"disclosure": func(s *audit.Stored) { s.Disclosures = append([]string{"x"}, s.Disclosures...) },
		"detail":     func(s *audit.Stored) { s.Detail = `{"a":"c"}` },
	} {
		bad := whole
		change(&bad)
		if _, err := record.Line(&bad); !audit.Broken.Is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func BenchmarkRecord(b *testing.B) {
	c, r := setup()
	ctx := actor.With(b.Context(), actor.Actor{Type: actor.User, ID: "usr_01hzy3v7k8m9n0p1q2r3s4t5v6", Name: "Ada Example",
		IP: "192.0.2.1"})
	ctx = actor.WithRequest(ctx, actor.Request{ID: "01hzy3v7k8m9n0p1q2r3s4t5v6", Method: "POST", Path: "/v1/runs",
		Agent: "curl/8.5.0"})
	e := audit.Entry{
		Action: audit.RunSubmit, Object: audit.Object{Kind: "run", ID: "run_01hzy3v7k8m9n0p1q2r3s4t5v6", Name: "deploy"},
		Run:    "run_01hzy3v7k8m9n0p1q2r3s4t5v6",
		Detail: map[string]any{"template": "tpl_1", "limit": "web", "check": true, "forks": 5},
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := all(ctx, c, r, e); err != nil {
			b.Fatal(err)
		}
		c.entries = c.entries[:1]
	}
}

// TestALeafHasOnlyTheIdOfARequest keeps arbitrary text in a request id out of the leaf, which cannot be erased.
func TestALeafHasOnlyTheIdOfARequest(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"req_01k0a8bq3vtx5zk9w2m4n6p8rs": "req_01k0a8bq3vtx5zk9w2m4n6p8rs", "7b0c-4E.f_1": "7b0c-4E.f_1",
		"joe@example.org": "", "Joe Doe": "", "a/b": "", "\u00e9": "", strings.Repeat("a", 64): strings.Repeat("a", 64),
		strings.Repeat("a", 65): "",
	} {
		c, r := setup()
		ctx := actor.WithRequest(t.Context(), actor.Request{ID: given, Method: "POST"})
		if err := all(ctx, c, r, audit.Entry{Action: audit.AuthLogin}); err != nil {
			t.Fatal(err)
		}
		l, err := leaf.Scan([]byte(c.entries[1].Leaf))
		if err != nil || l.Req != want {
			t.Errorf("%q becomes %q: %v", given, l.Req, err)
		}
	}
}
