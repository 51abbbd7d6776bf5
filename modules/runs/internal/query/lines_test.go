package query

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/runs"
)

// printed is a run with a log in chunks, and counts the bytes that are read of it.
type printed struct {
	runs.Store
	runs.LogStore
	run    runs.Run
	chunks []runs.LogChunk
	read   int64
}

func (p *printed) ByID(context.Context, string) (*runs.Run, error) { r := p.run; return &r, nil }

func (p *printed) ReadLog(_ context.Context, _ string, from, to int64, yield func(runs.LogChunk) error) error {
	for _, c := range p.chunks {
		end := c.Offset + int64(len(c.Data))
		if end <= from || c.Offset >= to {
			continue
		}
		low, high := max(from, c.Offset), min(to, end)
		p.read += high - low
		if err := yield(runs.LogChunk{Offset: low, Data: c.Data[low-c.Offset : high-c.Offset]}); err != nil {
			return err
		}
	}
	return nil
}

// print appends text in chunks of n bytes after leaving out some.
func (p *printed) print(text string, n int, gap int64) {
	at := p.run.LogBytes + gap
	p.run.LogOmitted += gap
	for data := []byte(text); len(data) > 0; {
		k := min(n, len(data))
		p.chunks = append(p.chunks, runs.LogChunk{Offset: at, Data: data[:k]})
		at, data = at+int64(k), data[k:]
	}
	p.run.LogBytes = at
}

func (p *printed) lines(t interface{ Fatal(...any) }, q *Reader, first, n int64) (string, *runs.LogView) {
	v, err := q.Log(context.Background(), "run_a", runs.LogRange{Line: first, Lines: n})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := v.Copy(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String(), v
}

func reader(p *printed) *Reader { return New(p, nil, p, nil, nil, nil) }

// TestALineOfAMillion opens line 900,000 of a million: the first time the log before it is read once, and later a
// bounded part alone. A line that was printed after that is found too.
func TestALineOfAMillion(t *testing.T) {
	t.Parallel()
	const all, wanted = 1_000_000, 900_000
	var b strings.Builder
	for i := range all {
		fmt.Fprintf(&b, "line %07d of the log\n", i+1)
	}
	p := &printed{run: runs.Run{ID: "run_a", Status: runs.Running}}
	p.print(b.String(), 64<<10, 0)
	width := int64(b.Len() / all)
	q := reader(p)
	for round := range 3 {
		p.read = 0
		text, v := p.lines(t, q, wanted, 2)
		if text != "line 0900000 of the log\nline 0900001 of the log\n" || v.Line != wanted || v.From != (wanted-1)*width {
			t.Fatalf("%q at line %d, byte %d", text, v.Line, v.From)
		}
		bound := int64(lineStep)*width + 3*64<<10
		if round == 0 {
			bound += p.run.LogBytes
		}
		if t.Logf("%d bytes read", p.read); p.read > bound {
			t.Errorf("%d bytes were read, at most %d are needed", p.read, bound)
		}
	}
	if text, v := p.lines(t, q, all+10, 5); text != "" || v.Line != all+1 || v.Lines != all || v.From != p.run.LogBytes {
		t.Errorf("%q at line %d of %d, byte %d, after the end", text, v.Line, v.Lines, v.From)
	}
	p.print("the last\n", 100, 0)
	if text, v := p.lines(t, q, all+1, 5); text != "the last\n" || v.Lines != all+1 {
		t.Errorf("%q of %d lines", text, v.Lines)
	}
}

// TestLinesAreThoseOfTheText compares lines of random logs, which grow between the questions and may lack parts, with
// those of their text.
func TestLinesAreThoseOfTheText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := &printed{run: runs.Run{ID: "run_a"}}
		q := reader(p)
		var lines []string // each with its line break
		for range rapid.IntRange(1, 5).Draw(t, "parts") {
			text := strings.Repeat(rapid.StringMatching(`(a{0,3}\n?){0,6}`).Draw(t, "text"),
				rapid.SampledFrom([]int{1, 2, lineStep}).Draw(t, "times"))
			gap := rapid.SampledFrom([]int64{0, 0, 7}).Draw(t, "gap")
			if text == "" {
				continue
			}
			p.print(text, rapid.SampledFrom([]int{1 << 10, 3000}).Draw(t, "chunk"), gap)
			if n := len(lines); n > 0 && gap == 0 && !strings.HasSuffix(lines[n-1], "\n") {
				text, lines = lines[n-1]+text, lines[:n-1]
			}
			for line := range strings.Lines(text) {
				lines = append(lines, line)
			}
			first := rapid.IntRange(1, len(lines)+1).Draw(t, "first")
			n := rapid.IntRange(1, 5).Draw(t, "lines")
			want := strings.Join(lines[first-1:min(first-1+n, len(lines))], "")
			if got, v := p.lines(t, q, int64(first), int64(n)); got != want || v.Line != int64(first) {
				t.Fatalf("lines %d to %d are %.200q from %d, want %.200q", first, first+n, got, v.Line, want)
			}
		}
	})
}

// TestTheIndexIsBounded asks for lines of many logs.
func TestTheIndexIsBounded(t *testing.T) {
	t.Parallel()
	var x lineIndex
	first := x.of(&runs.Run{ID: "run_0"})
	for i := range 10 * indexedLogs {
		x.of(&runs.Run{ID: fmt.Sprint("run_", i)})
		if x.of(&runs.Run{ID: "run_0"}) != first {
			t.Fatal("the log that is asked for most is forgotten")
		}
	}
	if len(x.logs) != indexedLogs {
		t.Errorf("it knows %d logs", len(x.logs))
	}
	if again := x.of(&runs.Run{ID: "run_0", LogOmitted: 1}); again == first || len(x.logs) != indexedLogs {
		t.Error("the lines of a log that lost a part have their old numbers")
	}
}
