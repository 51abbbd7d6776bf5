package ansible

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
)

func TestDecodeCountsWhatIsNoRecord(t *testing.T) {
	t.Parallel()
	stream := strings.Join([]string{
		`{"ev":"start","n":"key"}`, `no json`, `{"ev":"start","n":"other"}`, `{"n":"key"}`,
		`{"ev":"start","n":"key","text":"` + strings.Repeat("x", lineLimit) + `"}`, `{"ev":"stats","n":"key"}`, `{"ev":"cut`,
	}, "\n")
	var got []string
	bad, err := decode(strings.NewReader(stream), "key", func(r record) { got = append(got, r.Ev) })
	if bad != 5 || err != nil || strings.Join(got, " ") != "start stats" {
		t.Errorf("%d bad lines, %v, records %v", bad, err, got)
	}
}

func TestTheTerminalThatSudoWants(t *testing.T) {
	t.Parallel()
	tr := newTranslator(newNotes(execution.Play{}))
	e := tr.translate(record{Ev: "result", Status: "failed", Host: "h",
		Err: "sudo: sorry, you must have a tty to run sudo"})
	if len(e) != 1 || !strings.Contains(e[0].Message, "requiretty") {
		t.Errorf("%+v", e)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"ev":"result","n":"key","t":1.5,"status":"failed","host":"h","changed":true,"rc":3,"diff":[{"before":"x"}]}` + "\n"))
	f.Add([]byte(`{"ev":"stats","n":"key","hosts":{"h":{"ok":1}}}` + "\n" +
		`{"ev":"outputs","n":"key","custom":{"_run":{"a":1},"h":2}}`))
	f.Add([]byte(`{"ev":"play","n":"key","pattern":"[\"a\"]","matched":0,"inventory":3}`))
	f.Add([]byte(`{"ev":"warning","n":"key","t":1e300,"text":"Could not match supplied host pattern, ignoring: x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		n := newNotes(execution.Play{})
		tr := newTranslator(n)
		lines, records := bytes.Count(data, []byte("\n"))+1, 0
		bad, err := decode(bytes.NewReader(data), "key", func(r record) {
			records++
			for _, e := range tr.translate(r) {
				checkEvent(t, e)
			}
		})
		if err != nil || bad+records > lines {
			t.Errorf("%d bad, %d records of %d lines, %v", bad, records, lines, err)
		}
		n.list(len(tr.touched), tr.stats, false, true)
	})
}

func checkEvent(t *testing.T, e runs.Event) {
	t.Helper()
	if e.Type == "" {
		t.Errorf("an event without a type: %+v", e)
	}
	for _, s := range []string{e.Message, e.Stdout, e.Stderr, e.Item} {
		if len(s) > textCap || !utf8.ValidString(s) {
			t.Errorf("a text of %d bytes", len(s))
		}
	}
	if y := e.At.Year(); y >= 0 && y <= 9999 {
		if _, err := json.Marshal(e); err != nil {
			t.Errorf("%+v: %v", e, err)
		}
	}
}
