package runstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

func logCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"output is kept":         logKept,
		"output held already":    logAgain,
		"a hole":                 logHole,
		"trimming":               logTrim,
		"parts":                  logParts,
		"any bytes":              logBytes,
		"a large chunk":          logLarge,
		"many runs at once":      logMany,
		"reading an unknown run": logUnknown,
		"the reader's own error": logYield,
	}
}

func (e *env) log(t *testing.T, l runs.Lease, offset int64, data string) runs.LogState {
	t.Helper()
	var s runs.LogState
	e.must(t, func(ctx context.Context) error {
		var err error
		s, err = e.Logs.AppendLog(ctx, l, runs.LogChunk{Offset: offset, Data: []byte(data)})
		return err
	})
	return s
}

// read returns a range of a log with a marker at each hole.
func (e *env) read(t *testing.T, id string, from, to int64) string {
	t.Helper()
	var b bytes.Buffer
	next := from
	err := e.Logs.ReadLog(t.Context(), id, from, to, func(c runs.LogChunk) error {
		if len(c.Data) == 0 || c.Offset < next || c.Offset+int64(len(c.Data)) > to {
			return fmt.Errorf("chunk of %d at %d in [%d, %d)", len(c.Data), c.Offset, next, to)
		}
		if c.Offset > next {
			b.WriteString("~")
		}
		b.Write(c.Data)
		next = c.Offset + int64(len(c.Data))
		return nil
	})
	if err != nil {
		t.Fatalf("read the log: %v", err)
	}
	return b.String()
}

func logKept(t *testing.T, e *env) {
	a := e.running(t)
	if s := e.log(t, a.Lease, 0, "hello "); s != (runs.LogState{Next: 6, Stored: 6}) {
		t.Errorf("state %+v", s)
	}
	if s := e.log(t, a.Lease, 6, "world"); s != (runs.LogState{Next: 11, Stored: 5}) {
		t.Errorf("state %+v", s)
	}
	if got := e.read(t, a.Run.ID, 0, 11); got != "hello world" {
		t.Errorf("log is %q", got)
	}
	if r := e.get(t, a.Run.ID); r.LogBytes != 11 || r.LogOmitted != 0 {
		t.Errorf("the record says %d bytes, %d omitted", r.LogBytes, r.LogOmitted)
	}
}

func logAgain(t *testing.T, e *env) {
	a := e.running(t)
	e.log(t, a.Lease, 0, "hello ")
	for _, c := range []struct {
		offset int64
		data   string
		next   int64
		stored int64
	}{{0, "hello ", 6, 0}, {2, "ll", 6, 0}, {6, "", 6, 0}, {0, "", 6, 0}, {3, "lo world", 11, 5},
		{0, "hello world", 11, 0}, {10, "d!", 12, 1}} {
		if s := e.log(t, a.Lease, c.offset, c.data); s != (runs.LogState{Next: c.next, Stored: c.stored}) {
			t.Errorf("%q at %d: %+v", c.data, c.offset, s)
		}
	}
	if got := e.read(t, a.Run.ID, 0, 100); got != "hello world!" {
		t.Errorf("log is %q", got)
	}
}

func logHole(t *testing.T, e *env) {
	a := e.running(t)
	e.log(t, a.Lease, 0, "begin")
	if s := e.log(t, a.Lease, 100, "end"); s != (runs.LogState{Next: 103, Omitted: 95, Stored: 3}) {
		t.Errorf("state %+v", s)
	}
	if got := e.read(t, a.Run.ID, 0, 103); got != "begin~end" {
		t.Errorf("log is %q", got)
	}
	if got := e.read(t, a.Run.ID, 50, 102); got != "~en" {
		t.Errorf("from within the hole it is %q", got)
	}
	if got := e.read(t, a.Run.ID, 10, 90); got != "" {
		t.Errorf("the hole holds %q", got)
	}
	if r := e.get(t, a.Run.ID); r.LogBytes != 103 || r.LogOmitted != 95 {
		t.Errorf("the record says %d bytes, %d omitted", r.LogBytes, r.LogOmitted)
	}
}

func logTrim(t *testing.T, e *env) {
	a := e.running(t)
	for i := range 10 {
		e.log(t, a.Lease, int64(i*10), fmt.Sprintf("chunk %d..\n", i))
	}
	trim := func(from, to int64) runs.LogState {
		var s runs.LogState
		e.must(t, func(ctx context.Context) error {
			var err error
			s, err = e.Logs.TrimLog(ctx, a.Lease, from, to)
			return err
		})
		return s
	}
	if s := trim(15, 55); s != (runs.LogState{Next: 100, Omitted: 35}) { // chunk 1 is cut, chunk 5 goes beyond
		t.Errorf("state %+v", s)
	}
	if s := trim(15, 55); s.Omitted != 35 {
		t.Errorf("trimming again: %+v", s)
	}
	if s := e.log(t, a.Lease, 100, "more"); s != (runs.LogState{Next: 104, Omitted: 35, Stored: 4}) {
		t.Errorf("state after more output: %+v", s)
	}
	want := "chunk 0..\nchunk~chunk 5..\nchunk 6..\nchunk 7..\nchunk 8..\nchunk 9..\nmore"
	if got := e.read(t, a.Run.ID, 0, 104); got != want {
		t.Errorf("log is %q", got)
	}
	if s := trim(12, 13); s.Omitted != 35 { // within a chunk
		t.Errorf("trimming within a chunk: %+v", s)
	}
	if s := trim(5, 104); s != (runs.LogState{Next: 104, Omitted: 99}) {
		t.Errorf("trimming the rest: %+v", s)
	}
	if got := e.read(t, a.Run.ID, 0, 104); got != "chunk" {
		t.Errorf("the rest is %q", got)
	}
}

func logParts(t *testing.T, e *env) {
	a := e.running(t)
	var all []byte
	for len(all) < depthtest.Of(600, 3000) {
		piece := fmt.Sprintf("%d-", len(all))
		e.log(t, a.Lease, int64(len(all)), piece)
		all = append(all, piece...)
	}
	for range 50 {
		from := rand.IntN(len(all))
		to := from + rand.IntN(len(all)-from+1)
		if got := e.read(t, a.Run.ID, int64(from), int64(to)); got != string(all[from:to]) {
			t.Fatalf("[%d, %d) is %q", from, to, got)
		}
	}
	if got := e.read(t, a.Run.ID, int64(len(all)-10), int64(len(all)+50)); got != string(all[len(all)-10:]) {
		t.Errorf("the end is %q", got)
	}
}

func logBytes(t *testing.T, e *env) {
	a := e.running(t)
	all := make([]byte, 0, 512)
	for i := range 256 {
		all = append(all, byte(i), byte(255-i))
	}
	e.log(t, a.Lease, 0, string(all))
	e.log(t, a.Lease, 512, "\xff\xfe\x00'\"\\?")
	if got := e.read(t, a.Run.ID, 0, 1000); got != string(all)+"\xff\xfe\x00'\"\\?" {
		t.Errorf("the log is %q", got)
	}
}

func logLarge(t *testing.T, e *env) {
	a := e.running(t)
	all := bytes.Repeat([]byte("a line of output, as there are many\n"), 60_000)
	noise := make([]byte, 300_000)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	all = append(all, noise...)
	e.log(t, a.Lease, 0, string(all))
	if got := e.read(t, a.Run.ID, 0, int64(len(all))); got != string(all) {
		t.Errorf("the log has %d bytes, want %d, or others", len(got), len(all))
	}
}

func logMany(t *testing.T, e *env) {
	const n, chunks = 64, 12
	claimed := make([]*runs.Assignment, n)
	for i := range claimed {
		claimed[i] = e.running(t)
	}
	want := make([]string, n)
	txtest.Together(n, func(i int) {
		for c := range chunks {
			piece := fmt.Sprintf("run %d chunk %d\n", i, c)
			err := e.Unit.Do(t.Context(), func(ctx context.Context) error {
				_, err := e.Logs.AppendLog(ctx, claimed[i].Lease, runs.LogChunk{Offset: int64(len(want[i])), Data: []byte(piece)})
				return err
			})
			if err != nil {
				t.Errorf("append: %v", err)
				return
			}
			want[i] += piece
		}
	})
	for i, a := range claimed {
		if got := e.read(t, a.Run.ID, 0, 10_000); got != want[i] {
			t.Errorf("log of run %d is %q", i, got)
		}
	}
}

func logUnknown(t *testing.T, e *env) {
	err := e.Logs.ReadLog(t.Context(), "run_none", 0, 10, func(runs.LogChunk) error { return nil })
	wantFault(t, err, runs.RunNotFound)
	r := e.add(t)
	if got := e.read(t, r.ID, 0, 10); got != "" {
		t.Errorf("a run that printed nothing has %q", got)
	}
}

func logYield(t *testing.T, e *env) {
	a := e.running(t)
	e.log(t, a.Lease, 0, "one")
	e.log(t, a.Lease, 3, "two")
	enough, calls := errors.New("enough"), 0
	err := e.Logs.ReadLog(t.Context(), a.Run.ID, 0, 6, func(runs.LogChunk) error { calls++; return enough })
	if !errors.Is(err, enough) || calls != 1 {
		t.Errorf("error %v after %d calls", err, calls)
	}
}
