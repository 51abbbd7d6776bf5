package probes

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/system"
)

// ticking is a clock that advances a second on each read.
type ticking struct{ at time.Time }

func (c *ticking) Now() time.Time {
	c.at = c.at.Add(time.Second)
	return c.at
}

var noon = time.Date(2026, time.January, 5, 12, 0, 0, 0, time.UTC)

func TestClock(t *testing.T) {
	t.Parallel()
	const fix = "let both machines take their time from the same source, such as chrony"
	for _, test := range []struct {
		off  time.Duration // difference at the time of the query
		want string
	}{
		{0, ""}, {time.Second, ""}, {3 * time.Second, ""}, {-2 * time.Second, ""},
		{3*time.Second + time.Millisecond, "warning |  | the database's clock is 2.0 seconds ahead of this server's | " +
			fix},
		{-30 * time.Second, "warning |  | the database's clock is 30.0 seconds behind this server's | " + fix},
		{-31 * time.Second, "error |  | the database's clock is 31.0 seconds behind this server's | " + fix},
		{time.Hour, "error |  | the database's clock is 3599.0 seconds ahead of this server's | " + fix},
	} {
		own := &ticking{noon}
		c, err := NewClock(func(context.Context) (time.Time, error) { return own.at.Add(test.off), nil }, own)
		if err != nil {
			t.Fatal(err)
		}
		if test.want == "" {
			examine(t, c, 1)
			continue
		}
		examine(t, c, 1, test.want)
	}
	down := errors.New("down")
	c, err := NewClock(func(context.Context) (time.Time, error) { return time.Time{}, down }, &ticking{noon})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Examine(t.Context()); !errors.Is(err, down) || got.Examined != 0 {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := NewClock(nil, nil); err == nil {
		t.Error("no clocks are accepted")
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	versions := func(applied, newest int64, err error) func(context.Context) (int64, int64, error) {
		return func(context.Context) (int64, int64, error) { return applied, newest, err }
	}
	for _, test := range []struct {
		applied, newest int64
		want            []string
	}{
		{9, 9, nil},
		{8, 9, []string{"error |  | the database has schema 8 and this binary needs 9 | " +
			"start the server again, which brings the schema up to date; an older backup may have been restored under it"}},
		{10, 9, []string{"warning |  | the database has schema 10 and this binary knows no newer one than 9 | " +
			"bring this server to the version of the newest one that uses the database"}},
	} {
		c, err := NewSchema(versions(test.applied, test.newest, nil))
		if err != nil {
			t.Fatal(err)
		}
		examine(t, c, 1, test.want...)
	}
	down := errors.New("down")
	c, err := NewSchema(versions(0, 0, down))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Examine(t.Context()); !errors.Is(err, down) {
		t.Errorf("%v", err)
	}
	if _, err := NewSchema(nil); err == nil {
		t.Error("no versions are accepted")
	}
}

// fleet is a worker store with pages of two.
type fleet struct {
	list []execution.Worker
	err  error
}

func (f fleet) Workers(_ context.Context, w page.Window) ([]execution.Worker, int, error) {
	return f.list[w.Offset:min(w.Offset+2, len(f.list))], len(f.list), f.err
}

func TestWorkers(t *testing.T) {
	t.Parallel()
	f := fleet{list: []execution.Worker{
		{Name: "a", Fresh: true, Executors: 2, Queues: []string{"default", "gpu"}},
		{Name: "b", Fresh: true, Queues: []string{"idle"}},
		{Name: "c", Executors: 2, Queues: []string{"lost"}, SeenAt: noon},
		{Name: "d", Fresh: true, Executors: 1, Queues: []string{"default", "late"}},
	}}
	named := map[string]int{"default": 3, "gpu": 1, "late": 2, "idle": 1, "lost": 2, "nobody": 7, "unused": 0}
	const fix = "start an executor with this queue, or let what names it name another one"
	c, err := NewWorkers(f, func(context.Context) (map[string]int, error) { return named, nil })
	if err != nil {
		t.Fatal(err)
	}
	examine(t, c, 11,
		"warning | c | the executor has not reported since 2026-01-05T12:00:00Z | start it again, or leave it: one that "+
			"stays away is forgotten after a day",
		`warning | idle | 1 object names the queue "idle" and no executor that reports serves it | `+fix,
		`warning | lost | 2 objects name the queue "lost" and no executor that reports serves it | `+fix,
		`warning | nobody | 7 objects name the queue "nobody" and no executor that reports serves it | `+fix)

	down := errors.New("down")
	for _, c := range []struct {
		fleet fleet
		named error
	}{{fleet{err: down}, nil}, {f, down}} {
		check, err := NewWorkers(c.fleet, func(context.Context) (map[string]int, error) { return nil, c.named })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := check.Examine(t.Context()); !errors.Is(err, down) {
			t.Errorf("%v", err)
		}
	}
	if _, err := NewWorkers(nil, nil); err == nil {
		t.Error("no fleet is accepted")
	}
}

// TestNames requires a distinct name for every check.
func TestNames(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, c := range []system.Check{&Tools{}, &Disk{}, &Keys{}, &Clock{}, &Schema{}, &Workers{}} {
		names[c.Name()] = true
	}
	if d := cmp.Diff(map[string]bool{"tools": true, "disk": true, "keys": true, "clock": true, "schema": true,
		"workers": true}, names); d != "" {
		t.Error(d)
	}
}
