package estate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	sqlestate "github.com/writ-automation/writ/adapters/sqlstore/estate"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlruns "github.com/writ-automation/writ/adapters/sqlstore/runs"
	module "github.com/writ-automation/writ/modules/estate"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit/audittest"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func noon() time.Time { return time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC) }

// stopped is a clock that stands still.
type stopped struct{}

func (stopped) Now() time.Time { return noon() }

// reader is a guard of one reader.
type reader struct {
	access.Guard
	scope *access.Scope
}

func (r reader) Scope(context.Context) (access.Scope, error) { return *r.scope, nil }

// factory is a context over real stores, whose loop the test passes by hand.
type factory struct {
	t *testing.T
	d *db.DB
	module.Result
	runs  *sqlruns.Store
	scope access.Scope
	log   bytes.Buffer
}

func setup(t *testing.T, d *db.DB, volatile ...string) *factory {
	t.Helper()
	f := &factory{t: t, d: d, runs: sqlruns.New(d), scope: access.Everything()}
	var err error
	f.Result, err = module.New(module.Params{
		Config:   module.Config{VolatileFacts: volatile, RetainHistory: estate.DefaultHistory},
		Gathered: f.runs, Facts: sqlestate.New(d), Runs: f.runs,
		Summaries: f.runs, Events: f.runs, Guard: reader{scope: &f.scope}, Recorder: &audittest.Recorder{}, Unit: d,
		Signals: d.Signals(), Clock: stopped{}, Log: slog.New(slog.NewTextHandler(&f.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// run stores a run of these objects.
func (f *factory) run(id string, objects ...string) {
	f.t.Helper()
	r := &runs.Run{ID: id, Kind: runs.Single, Status: runs.Pending, CreatedAt: noon(), QueuedAt: noon(),
		Spec:   runs.Spec{Tool: "bash", Command: "true", Queue: runs.DefaultQueue},
		Origin: runs.Origin{Source: runs.FromAPI}, Actor: actor.Actor{Type: actor.User, ID: "usr_1", Name: "ada"},
		Objects: append(objects, access.Queue(runs.DefaultQueue))}
	if err := f.d.Do(f.t.Context(), func(ctx context.Context) error { return f.runs.Insert(ctx, r) }); err != nil {
		f.t.Fatal(err)
	}
}

// gather stores facts of a run, and records them.
func (f *factory) gather(run, host string, at time.Time, document string) {
	f.t.Helper()
	if err := f.d.Do(f.t.Context(), func(ctx context.Context) error {
		return f.runs.SaveFacts(ctx, run, []runs.HostFacts{{Host: host, GatheredAt: at, Facts: json.RawMessage(document)}})
	}); err != nil {
		f.t.Fatal(err)
	}
}

func (f *factory) exec(statement string) {
	f.t.Helper()
	if err := f.d.Do(f.t.Context(), func(ctx context.Context) error {
		_, err := f.d.InUnit(ctx).ExecContext(ctx, statement)
		return err
	}); err != nil {
		f.t.Fatal(err)
	}
}

func (f *factory) pass() {
	f.t.Helper()
	for _, l := range f.Background.Group {
		if l.Name == "facts" {
			if err := l.Pass(f.t.Context()); err != nil {
				f.t.Fatal(err)
			}
		}
	}
}

func (f *factory) at(q estate.AtQuery) (estate.AtSummary, []estate.Reading) {
	f.t.Helper()
	var out []estate.Reading
	s, err := f.Estate.At(f.t.Context(), q, func(r estate.Reading) error {
		out = append(out, r)
		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return s, out
}

func each(t *testing.T, fn func(t *testing.T, d *db.DB)) {
	t.Helper()
	dbtest.EachEngine(t, migrations.FS, fn)
}

// TestFactsAreRecorded reads what runs gathered: after an ending clock, at an instant, by keys and in pages.
func TestFactsAreRecorded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *db.DB) {
		f := setup(t, d, "noise.**")
		f.run("run_1")
		f.run("run_2")
		f.gather("run_1", "a", noon().Add(-time.Hour), `{"os":{"family":"Debian"},"noise":{"x":1},"ansible_uptime_seconds":5}`)
		f.gather("run_1", "b", noon().Add(-time.Hour), `{"os":{"family":"RedHat"}}`)
		f.gather("run_2", "a", noon().Add(24*time.Hour), `{"os":{"family":"Ubuntu"},"noise":{"x":2}}`)
		f.pass()
		f.pass()
		r, err := f.Estate.Newest(t.Context(), "a")
		want := estate.Reading{Host: "a", RunID: "run_2", GatheredAt: noon(),
			Facts: estate.Facts{"os.family": []byte(`"Ubuntu"`), "noise.x": []byte("2")}}
		if d := cmp.Diff(want, r); err != nil || d != "" {
			t.Errorf("%v %s", err, d)
		}
		s, list := f.at(estate.AtQuery{At: noon().Add(-time.Minute), Keys: []string{"os"}, Limit: 1})
		want = estate.Reading{Host: "a", RunID: "run_1", GatheredAt: noon().Add(-time.Hour),
			Facts: estate.Facts{"os.family": []byte(`"Debian"`)}}
		if d := cmp.Diff([]estate.Reading{want}, list); d != "" || !s.HasMore || s.Count != 1 || s.BeforeHistory {
			t.Errorf("%+v %s", s, d)
		}
		s, list = f.at(estate.AtQuery{After: "a", Limit: 1})
		if len(list) != 1 || list[0].Host != "b" || s.HasMore || !s.At.Equal(noon()) ||
			!s.Horizon.Equal(noon().Add(-time.Hour)) {
			t.Errorf("%+v %v", s, list)
		}
		if s, list = f.at(estate.AtQuery{At: noon().AddDate(-1, 0, 0)}); len(list) > 0 || !s.BeforeHistory {
			t.Errorf("%+v %v", s, list)
		}
		var changes []estate.HostChange
		sum, err := f.Estate.Diff(t.Context(), noon().Add(-time.Minute), time.Time{}, func(c estate.HostChange) error {
			changes = append(changes, c)
			return nil
		})
		wanted := []estate.HostChange{{Host: "a", Facts: []estate.FactChange{
			{Key: "os.family", From: []byte(`"Debian"`), To: []byte(`"Ubuntu"`)}}}}
		if d := cmp.Diff(wanted, changes); err != nil || d != "" || sum.Changed != 1 || len(sum.Unobserved) != 1 {
			t.Errorf("%v %+v %s", err, sum, d)
		}
		if f.log.Len() > 0 {
			t.Error(f.log.String())
		}
	})
}

// TestVolatileListGrows compares readings from before and after a pattern came to the list.
func TestVolatileListGrows(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *db.DB) {
		f := setup(t, d)
		f.run("run_1")
		f.gather("run_1", "a", noon().Add(-3*time.Hour), `{"noise":1,"k":1}`)
		f.gather("run_1", "a", noon().Add(-2*time.Hour), `{"noise":2,"k":1}`)
		f.pass()
		f = setup(t, d, "noise")
		f.gather("run_1", "a", noon().Add(-time.Hour), `{"noise":3,"k":1}`)
		f.pass()
		for _, back := range []time.Duration{4, 3, 2, 1} {
			sum, err := f.Estate.Diff(t.Context(), noon().Add(-back*time.Hour), noon(), func(c estate.HostChange) error {
				return fmt.Errorf("%+v changed", c)
			})
			want := estate.DiffSummary{From: noon().Add(-back * time.Hour), To: noon(), Horizon: noon().Add(-3 * time.Hour)}
			switch back {
			case 4:
				want.Added, want.BeforeHistory = []string{"a"}, true
			case 1:
				want.Unobserved = []string{"a"}
			default:
				want.Unchanged = 1
			}
			if d := cmp.Diff(want, sum); err != nil || d != "" {
				t.Errorf("%v %s", err, d)
			}
		}
	})
}

// TestHostileFacts are stored or refused, whatever a document is: nothing waits for ever, and a refusal is logged once.
func TestHostileFacts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *db.DB) {
		f := setup(t, d)
		f.run("run_1")
		var keys strings.Builder
		for i := range 20_000 { // the relay is tested with more
			fmt.Fprintf(&keys, `"%d.x":%d,`, i, i)
		}
		documents := []string{
			`{"a.b":{"c\"d":{"":1}},"\u0000":"\u0000"}`, "{\"\xff\":\"\xfe\"}", `{"\ud800":"\udfff"}`, `{"n":1e999999,"n":-0}`,
			strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000), "{" + keys.String() + `"z":1}`,
			`[]`, `null`, `{"a":`, `{"` + strings.Repeat("k", 500) + `":{` + keys.String() + `"z":1}}`,
		}
		const refused = 4
		for i, document := range documents {
			f.gather("run_1", fmt.Sprint("h", i), noon(), document)
		}
		f.pass()
		_, list := f.at(estate.AtQuery{})
		if len(list) != len(documents)-refused || strings.Count(f.log.String(), "not kept") != refused {
			t.Errorf("%d hosts are known\n%.2000s", len(list), f.log.String())
		}
		f.pass()
		if n := strings.Count(f.log.String(), "not kept"); n != refused {
			t.Errorf("%d refusals are logged", n)
		}
	})
}

// broken is a store that never takes one host.
type broken struct{ estate.FactStore }

func (b broken) Record(ctx context.Context, list []estate.GatheredFacts) error {
	for _, g := range list {
		if g.Host == "bad" {
			return errors.New("this host cannot be stored")
		}
	}
	return b.FactStore.Record(ctx, list)
}

// TestUnstorableFacts are dropped, and those beside them are kept.
func TestUnstorableFacts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *db.DB) {
		f := setup(t, d)
		store := broken{sqlestate.New(d)}
		r, err := module.New(module.Params{Config: module.Config{RetainHistory: estate.DefaultHistory}, Gathered: f.runs,
			Facts: store, Runs: f.runs, Unit: d, Signals: d.Signals(),
			Clock: stopped{}, Guard: reader{scope: &f.scope}, Recorder: &audittest.Recorder{},
			Log: slog.New(slog.NewTextHandler(&f.log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		f.Result = r
		f.run("run_1")
		for i, host := range []string{"a", "bad", "b", "c"} {
			f.gather("run_1", host, noon().Add(time.Duration(i-10)*time.Hour), `{}`)
		}
		f.pass()
		if _, list := f.at(estate.AtQuery{}); len(list) != 3 || strings.Count(f.log.String(), "host=bad") != 1 {
			t.Errorf("%v are known\n%s", list, f.log.String())
		}
	})
}

// TestRetention deletes the runs: neither the facts change nor who may read them.
func TestRetention(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d *db.DB) {
		f := setup(t, d)
		f.run("run_1")
		f.run("run_2", "inv_1")
		f.exec("INSERT INTO access_objects (id, kind, restricted, gone) VALUES ('inv_1', 'inventory', TRUE, FALSE)")
		f.gather("run_1", "a", noon().Add(-3*time.Hour), `{"k":1}`)
		f.gather("run_2", "b", noon().Add(-2*time.Hour), `{"k":1}`)
		f.gather("run_2", "a", noon().Add(-time.Hour), `{"k":2}`)
		f.pass()
		f.gather("run_2", "c", noon().Add(-time.Hour), `{"k":3}`) // waits while its run is deleted
		answers := func(scope access.Scope) (out []any) {
			f.scope = scope
			for _, back := range []time.Duration{4, 3, 2, 0} {
				s, list := f.at(estate.AtQuery{At: noon().Add(-back * time.Hour)})
				changes := []estate.HostChange(nil)
				sum, err := f.Estate.Diff(t.Context(), noon().Add(-back*time.Hour), noon(), func(c estate.HostChange) error {
					changes = append(changes, c)
					return nil
				})
				parts, failed := f.Estate.Timeline(t.Context(), noon().Add(-4*time.Hour), noon(), 4)
				out = append(out, s, list, sum, changes, err, parts, failed)
			}
			return out
		}
		everything, restricted := answers(access.Everything()), answers(access.Scope{})
		if s, _ := f.at(estate.AtQuery{}); s.Withheld != 2 {
			t.Errorf("%+v", s)
		}
		f.exec("UPDATE runs SET status = 'succeeded', ended_at = created_at")
		if err := d.Do(t.Context(), func(ctx context.Context) error {
			n, err := f.runs.PurgeRuns(ctx, noon().Add(time.Hour), 100)
			if n != 2 {
				return fmt.Errorf("%d runs were deleted: %w", n, err)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(everything, answers(access.Everything())); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff(restricted, answers(access.Scope{})); d != "" {
			t.Error(d)
		}
		f.pass()
		if s, _ := f.at(estate.AtQuery{}); s.Withheld != 3 {
			t.Errorf("%+v", s)
		}
	})
}

// TestQuestionsAreChecked names the field that is wrong.
func TestQuestionsAreChecked(t *testing.T) {
	t.Parallel()
	f := setup(t, dbtest.Open(t, db.SQLite, migrations.FS))
	ctx := t.Context()
	at := func(q estate.AtQuery) error {
		_, err := f.Estate.At(ctx, q, func(estate.Reading) error { return nil })
		return err
	}
	diff := func(from, to time.Time) error {
		_, err := f.Estate.Diff(ctx, from, to, func(estate.HostChange) error { return nil })
		return err
	}
	timeline := func(from, to time.Time, n int) error {
		_, err := f.Estate.Timeline(ctx, from, to, n)
		return err
	}
	for name, c := range map[string]struct {
		err   error
		field string
	}{
		"a key":       {at(estate.AtQuery{Keys: []string{"a..b"}}), "keys"},
		"no from":     {diff(time.Time{}, noon()), "from"},
		"later":       {diff(noon().Add(1), noon()), "from"},
		"the future":  {diff(noon().Add(1), time.Time{}), "from"},
		"no parts":    {timeline(noon(), noon(), 0), "buckets"},
		"many parts":  {timeline(noon(), noon(), estate.MaxBuckets+1), "buckets"},
		"later parts": {timeline(noon().Add(1), noon(), 1), "from"},
	} {
		var bad *fault.Error
		if !errors.As(c.err, &bad) || bad.Kind != fault.Invalid || len(bad.Fields) != 1 || bad.Fields[0].Location != c.field {
			t.Errorf("%s: %v", name, c.err)
		}
	}
	for _, err := range []error{timeline(noon(), noon(), 1), timeline(time.Time{}, time.Time{}, estate.MaxBuckets),
		diff(noon(), noon())} {
		if err != nil {
			t.Error(err)
		}
	}
	wrong := module.Config{VolatileFacts: []string{"a..b"}}
	if _, err := module.New(module.Params{Recorder: &audittest.Recorder{}, Config: wrong}); err == nil {
		t.Error("a wrong pattern is accepted")
	}
}
