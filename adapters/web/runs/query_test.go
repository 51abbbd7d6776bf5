package runs

import (
	"context"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/runs"
)

func now() time.Time { return time.Date(2026, 11, 26, 15, 0, 0, 0, time.UTC) }

func viewing() context.Context {
	return shell.WithViewer(context.Background(), shell.Viewer{ID: "usr_1", Name: "Ada Reyes", Role: "admin"}, now())
}

func TestToggle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ q, on, off string }{
		{"", "status:failed", ""},
		{"web host:a", "status:failed web host:a", "web host:a"},
		{"web status:running", "web status:running,failed", "web status:running"},
		{`label:team="a b" "x:y"`, `status:failed label:"team=a b" "x:y"`, `label:"team=a b" "x:y"`},
	} {
		on := toggle(c.q, runs.Failed)
		if on != c.on {
			t.Errorf("%q on: %q, want %q", c.q, on, c.on)
		}
		if off := toggle(on, runs.Failed); off != c.off {
			t.Errorf("%q off: %q, want %q", on, off, c.off)
		}
		if !picked(on, runs.Failed) || picked(c.off, runs.Failed) {
			t.Errorf("%q is not picked", on)
		}
		var a, b runs.Filter
		if err := httpapi.SearchRuns(&a, c.off); err != nil {
			t.Error(err)
		}
		if err := httpapi.SearchRuns(&b, on); err != nil {
			t.Error(err)
		}
	}
	if got := toggle(`"open`, runs.Failed); got != "status:failed" {
		t.Errorf("a bad search becomes %q", got)
	}
	if got := withoutStates("a status:failed b"); got != "a b" {
		t.Errorf("without states: %q", got)
	}
}

func TestSince(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Time{
		"": {}, "24h": now().Add(-24 * time.Hour), "7d": now().AddDate(0, 0, -7),
		"2026-03-01": time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
	} {
		if got, err := since(text, now(), time.UTC); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"x", "7", "-1d", "0d", "99999d", "7w", "2026-13-01"} {
		if _, err := since(text, now(), time.UTC); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestEcho(t *testing.T) {
	t.Parallel()
	for q, want := range map[string]string{
		"":                                       "",
		"status:failed host:web-eu-0078":         "Failed runs of host web-eu-0078.",
		"status:failed,canceled queue:eu web db": `Failed or canceled runs in queue eu with the words "web" and "db".`,
		"actor:ada label:env=prod":               "Runs asked by ada with the label env=prod.",
		"source:schedule,trigger x":              `Runs that come from schedule or trigger with the word "x".`,
	} {
		var f runs.Filter
		if err := httpapi.SearchRuns(&f, q); err != nil {
			t.Fatal(err)
		}
		if got := echo(viewing(), query{Q: q}, &f); got != want {
			t.Errorf("%q: %q, want %q", q, got, want)
		}
	}
	f := runs.Filter{After: now().Add(-24 * time.Hour)}
	if got := echo(viewing(), query{Since: "24h"}, &f); got != "Runs since Wed 25 Nov 15:00." {
		t.Errorf("since: %q", got)
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	q := query{Q: "a b", Since: "7d", Older: "c1"}
	for got, want := range map[string]string{
		q.at():                   "/ui/runs?q=a+b&since=7d",
		q.with("older", "c2"):    "/ui/runs?older=c2&q=a+b&since=7d",
		q.with("open", "run_1"):  "/ui/runs?older=c1&open=run_1&q=a+b&since=7d",
		query{}.at():             "/ui/runs",
		exportAt(query{}, asCSV): "/ui/runs/export?format=csv",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestDays(t *testing.T) {
	t.Parallel()
	for at, want := range map[time.Time]string{
		now(): "Today", now().Add(-20 * time.Hour): "Yesterday", now().AddDate(0, 0, -3): "Monday",
		now().AddDate(0, 0, -30): "Tuesday, 27 October", now().AddDate(-1, 0, 0): "26 November 2025",
	} {
		if got := dayOf(viewing(), at); got != want {
			t.Errorf("%v: %q, want %q", at, got, want)
		}
	}
}
