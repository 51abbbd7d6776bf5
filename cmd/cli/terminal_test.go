package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestPlainText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain ü\n\t": "plain ü\n\t", "a\x1b[2Jb": `a\x1b[2Jb`, "\x00\x07\x9b": `\x00\x07?`, "\u009b1m": `\x9b1m`,
		"x\u202ey": `x\u202ey`, "\xff": "?",
	} {
		if got := plainText(in); got != want {
			t.Errorf("%q shows as %q, want %q", in, got, want)
		}
	}
	if got := oneLine("a\n  b "+strings.Repeat("é", 50), 10); got != "a b ééééé…" {
		t.Errorf("%q", got)
	}
}

// TestLogOnATerminal splits logs anywhere: whole colour sequences pass, no other sequence does.
func TestLogOnATerminal(t *testing.T) {
	t.Parallel()
	show := func(colour bool, pieces ...string) string {
		var b bytes.Buffer
		l := logWriter{screen: screen{w: &b, tty: true, colour: colour}}
		for _, p := range pieces {
			if err := l.write(p); err != nil {
				t.Fatal(err)
			}
		}
		return b.String()
	}
	for _, c := range []struct {
		colour bool
		in     []string
		want   string
	}{
		{true, []string{"a\x1b[1;3", "2mb\x1b[0m\n"}, "a\x1b[1;32mb\x1b[0m\n"},
		{false, []string{"a\x1b[1;3", "2mb\x1b[0m\n"}, "ab\n"},
		{true, []string{"\x1b", "[2J"}, `\x1b[2J`},
		{true, []string{"\x1b]0;title\x07"}, `\x1b]0;title\x07`},
		{true, []string{"50%\r100%\n"}, "50%\r100%\n"},
		{true, []string{"\x1b[" + strings.Repeat("1;", 40) + "m"}, "\x1b[" + strings.Repeat("1;", 40) + "m"},
	} {
		if got := show(c.colour, c.in...); got != c.want {
			t.Errorf("%q shows as %q, want %q", c.in, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([a-z]|\x1b\[3[0-9]m|\x1b\[2J|\x1b)*`).Draw(t, "text") + "."
		at := rapid.IntRange(0, len(text)).Draw(t, "cut")
		got := show(true, text[:at], text[at:])
		if bare := strings.NewReplacer("\x1b[30m", "", "\x1b[31m", "", "\x1b[32m", "", "\x1b[33m", "", "\x1b[34m", "",
			"\x1b[35m", "", "\x1b[36m", "",
			"\x1b[37m", "", "\x1b[38m", "", "\x1b[39m", "").Replace(got); strings.Contains(bare, "\x1b") {
			t.Fatalf("%q shows as %q", text, got)
		}
		if whole := show(true, text); whole != got {
			t.Fatalf("cut at %d: %q, whole: %q", at, got, whole)
		}
	})
}

func TestColours(t *testing.T) {
	t.Parallel()
	if got := (screen{}).paint("failed", "x"); got != "x" {
		t.Errorf("%q without colours", got)
	}
	if got := (screen{colour: true}).paint("failed", "x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("%q with colours", got)
	}
	if s := newScreen(environment{out: &bytes.Buffer{}}); s.tty || s.colour {
		t.Error("a buffer is a terminal")
	}
}

// TestProgressOnATerminal checks that a redrawn line is erased before another text is written.
func TestProgressOnATerminal(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	p := newProgress(screen{w: &b, tty: true}, false)
	p.run(record{ID: "run_1", Status: "running", Tool: "ansible"})
	p.event(event{Type: "task_started", Task: "install", TaskID: "t"})
	p.event(event{Type: "host_ok", Task: "install", TaskID: "t", Host: "a"})
	p.event(event{Type: "host_ok", Task: "install", TaskID: "t", Host: "b", Changed: true})
	p.end(record{ID: "run_1", Status: "succeeded"}, nil)
	line := "  " + pad("install", 50) + "    0.0s  ok 1"
	want := "● run_1 running\n\r\x1b[K  install\r\x1b[K" + line + "\r\x1b[K" + line + "  changed 1\r\x1b[K" + line +
		"  changed 1\n"
	if !strings.HasPrefix(b.String(), want) {
		t.Errorf("%q\nwant %q", b.String(), want)
	}
}

// TestDryRunsAreChecked prints the success of a dry run, and of its steps, in another word than that of a run.
func TestDryRunsAreChecked(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]string{"succeeded": "checked", "failed": "failed"} {
		var r record
		if err := json.Unmarshal([]byte(`{"id":"run_1","kind":"pipeline","dry_run":true,"status":"`+status+
			`","steps":[{"name":"a","status":"`+status+`"}]}`), &r); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		p := newProgress(screen{w: &b}, false)
		p.run(r)
		p.end(r, nil)
		r.describe(t.Context(), p.screen, &namer{}, false)
		runsTable(p.screen, []record{r}, time.Time{})
		if got := b.String(); strings.Count(got, want) != 3 || strings.Contains(got, "succeeded") {
			t.Errorf("%s: %s", status, got)
		}
		if done := r.verdict() == nil; done != (status == "succeeded") {
			t.Errorf("%s ends the command well: %t", status, done)
		}
	}
}

func TestOutcomeOfManyHosts(t *testing.T) {
	t.Parallel()
	var o outcome
	for task := range 100 {
		o.add(event{Type: "task_started", Task: "t", TaskID: string(rune('a' + task))})
		for host := range 200 {
			e := event{Type: "host_ok", TaskID: string(rune('a' + task)), Host: "h" + string(rune(0x100+host))}
			if host == 150 && task == 99 {
				e.Type, e.Message = "host_unreachable", "ssh: timed out"
			}
			o.add(e)
		}
	}
	var b bytes.Buffer
	o.print(screen{w: &b})
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 3+maxRows || !strings.HasSuffix(lines[1], "U") ||
		!strings.Contains(lines[len(lines)-2], "and 160 more hosts") || cellsOf(lines[1]) > plainWide {
		t.Errorf("%d lines:\n%s", len(lines), b.String())
	}
	if f := o.failures(); len(f) != 1 || f[0].Outcome != "unreachable" {
		t.Errorf("%+v", f)
	}
}
