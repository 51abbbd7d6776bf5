package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestCells(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int{"": 0, "abc": 3, "漢字": 4, "e\u0301": 1, "…": 1, "🚀": 2} {
		if got := cellsOf(in); got != want {
			t.Errorf("%q takes %d cells, want %d", in, got, want)
		}
	}
	for in, want := range map[int]string{0: "漢字漢字", 7: "漢字漢…", 6: "漢字…", 8: "漢字漢字"} {
		if in == 0 {
			in = 9
		}
		if got := cut("漢字漢字", in); got != want || cellsOf(got) > in {
			t.Errorf("cut to %d: %q, want %q", in, got, want)
		}
	}
}

// TestWrap breaks any text at any width: no line is too wide and nothing is lost.
func TestWrap(t *testing.T) {
	t.Parallel()
	if got := strings.Join(wrap("one two three fourteen", 9), "|"); got != "one two |three |fourteen" {
		t.Errorf("%q", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([a-z]{0,12}| |漢|é){0,60}`).Draw(t, "text")
		avail := rapid.IntRange(2, 30).Draw(t, "room")
		lines := wrap(text, avail)
		if strings.Join(lines, "") != text {
			t.Fatalf("%q became %q", text, lines)
		}
		for _, l := range lines {
			if cellsOf(l) > avail {
				t.Fatalf("%q is wider than %d", l, avail)
			}
		}
	})
}

func TestWidth(t *testing.T) {
	t.Parallel()
	for columns, want := range map[string]int{"": plainWide, "x": plainWide, "-3": plainWide, "120": 120, "3": narrowest} {
		if got := newScreen(environment{out: &bytes.Buffer{}, environ: []string{"COLUMNS=" + columns}}).width(); got != want {
			t.Errorf("COLUMNS=%s: %d, want %d", columns, got, want)
		}
	}
}

// TestRunsTable fits a terminal of any width that has room for the ids.
func TestRunsTable(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	rows := []record{
		{ID: "run_01m7yhrqq9d6r0e7tgwpwzadbc", Status: "pending_approval", Tool: "powershell", Name: strings.Repeat("漢", 40),
			CreatedAt: now.Add(-50 * time.Hour)},
		{ID: "run_01m7yhrqq9d6r0e7tgwpwzadbd", Status: "failed", Tool: "ansible", Playbook: "site.yml", CreatedAt: now,
			DurationMS: 61000, HostsTouched: 30,
			Hosts: map[string]int{"failed": 2, "unreachable": 1}},
	}
	for _, c := range []struct {
		columns int
		tty     bool
		heading string
	}{{80, true, "STATUS NAME AGE TOOK HOSTS ID"}, {120, true, "STATUS NAME TOOL AGE TOOK HOSTS ID"},
		{80, false, "STATUS NAME TOOL AGE TOOK HOSTS ID"}} {
		var b bytes.Buffer
		runsTable(screen{w: &b, tty: c.tty, columns: c.columns}, append([]record{}, rows...), now)
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		if got := strings.Join(strings.Fields(lines[0]), " "); got != c.heading {
			t.Errorf("%d columns: %q", c.columns, got)
		}
		for _, l := range lines {
			if c.tty && cellsOf(l) > c.columns+4 {
				t.Errorf("%d cells: %s", cellsOf(l), l)
			}
		}
		if !strings.Contains(lines[2], "now") || !strings.Contains(lines[2], "1m01s") ||
			!strings.Contains(lines[2], "30 (3✗)") || !strings.Contains(lines[1], " 2d ") {
			t.Errorf("%s", b.String())
		}
	}
}

// TestOverlappingTasks counts each result for its own task, however tasks overlap, and prints few of many failures.
func TestOverlappingTasks(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	p := newProgress(screen{w: &b}, false)
	p.event(event{Type: "task_started", Task: "one", TaskID: "1"})
	p.event(event{Type: "task_started", Task: "two", TaskID: "2"})
	p.event(event{Type: "host_ok", Task: "one", TaskID: "1", Host: "slow"})
	for range 9 {
		p.event(event{Type: "host_failed", Task: "two", TaskID: "2", Host: "h", Message: "non-zero return code",
			Stderr: "a\nno such file\n"})
	}
	p.end(record{ID: "run_1", Status: "failed"}, nil)
	got := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{"one two one 0.0s ok 1 two 0.0s failed 9",
		"failed h: non-zero return code: no such file", "and 4 more hosts"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	if n := strings.Count(got, "no such file"); n != maxLiveFailures {
		t.Errorf("%d failures are told while it runs", n)
	}
}

// TestRescued distinguishes a rescued failure from a final one.
func TestRescued(t *testing.T) {
	t.Parallel()
	var o outcome
	for _, h := range []string{"saved", "lost"} {
		o.add(event{Type: "host_failed", Task: "t", TaskID: "1", Host: h})
	}
	o.add(event{Type: "stats", Stats: json.RawMessage(
		`{"saved":{"failed":0,"rescued":1},"lost":{"failed":1,"rescued":1},"unknown":{"rescued":1}}`)})
	o.add(event{Type: "stats", Stats: json.RawMessage(`"nonsense"`)})
	if o.cells["saved"][0] != rankRescued || o.cells["lost"][0] != rankFailed || !o.rescued["saved"] || o.rescued["lost"] {
		t.Errorf("%v, %v", o.cells, o.rescued)
	}
}

// TestNoRetryBeforeTheFirstEvent returns at once if no event of the run was received.
func TestNoRetryBeforeTheFirstEvent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		f    *follower
		err  error
		want bool
	}{
		{&follower{}, errBroken, false}, {&follower{known: true}, errBroken, true},
		{&follower{known: true}, &apiError{Status: 401}, false},
		{&follower{}, &apiError{Status: 503}, true}, {&follower{}, errors.Join(&apiError{Status: 429}), true},
	} {
		if got := c.f.retryable(c.err); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}
