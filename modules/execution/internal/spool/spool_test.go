package spool

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/runs"
)

func pattern(off int64, n int) []byte {
	p := make([]byte, n)
	for i := range p {
		at := off + int64(i)
		p[i] = byte(at ^ at>>8 ^ at>>16)
	}
	return p
}

func ignore(int64, []byte) {}

// drain takes everything and returns how many bytes came and how many were missing between them.
func drain(t *testing.T, l *Log, from int64) (got, holes int64) {
	t.Helper()
	next := from
	for l.Pending() > 0 {
		off, data := l.Peek(200_000)
		if off < next || !bytes.Equal(data, pattern(off, len(data))) {
			t.Fatalf("wrong bytes at %d, next is %d", off, next)
		}
		holes += off - next
		got += int64(len(data))
		next = off + int64(len(data))
		l.Ack(next)
	}
	return got, holes
}

func fill(l *Log, n int) {
	at, _ := l.Total()
	for n > 0 {
		k := min(n, 30_000)
		l.Append(pattern(at, k), ignore)
		at += int64(k)
		n -= k
	}
}

func TestLogStoresEverythingWithinItsLimit(t *testing.T) {
	t.Parallel()
	l := NewLog(filepath.Join(t.TempDir(), "log"), 8<<20)
	fill(l, 5<<20)
	got, holes := drain(t, l, 0)
	if got != 5<<20 || holes != 0 {
		t.Fatalf("%d bytes came, %d are missing", got, holes)
	}
	fill(l, 100)
	if got, _ := drain(t, l, 5<<20); got != 100 {
		t.Fatalf("%d bytes came later", got)
	}
}

func TestLogDropsTheMiddleAndCountsIt(t *testing.T) {
	t.Parallel()
	l := NewLog(filepath.Join(t.TempDir(), "log"), 4<<20)
	fill(l, 40<<20)
	total, omitted := l.Total()
	if total != 40<<20 || omitted < 30<<20 {
		t.Fatalf("of %d bytes %d are omitted", total, omitted)
	}
	if off, data := l.Peek(10); off != 0 || len(data) != 10 {
		t.Fatalf("the head is gone: %d", off)
	}
	got, holes := drain(t, l, 0)
	if holes != omitted || got+holes != total {
		t.Fatalf("%d came, %d are missing, %d counted", got, holes, omitted)
	}
}

func TestLogWithoutADisk(t *testing.T) {
	t.Parallel()
	l := NewLog(filepath.Join(t.TempDir(), "no", "such", "dir"), 64<<20)
	fill(l, 20<<20)
	total, omitted := l.Total()
	got, holes := drain(t, l, 0)
	if holes != omitted || got+holes != total || got < 1<<20 || got > 4<<20 {
		t.Fatalf("%d came, %d are missing, %d counted of %d", got, holes, omitted, total)
	}
}

func TestLogAgainstAModel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		l := NewLog(filepath.Join(dir, "log"), 1<<20)
		defer l.Close()
		var next, got, holes int64
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			if rapid.Bool().Draw(rt, "append") {
				fill(l, rapid.IntRange(1, 300_000).Draw(rt, "n"))
				continue
			}
			off, data := l.Peek(rapid.IntRange(1, 300_000).Draw(rt, "limit"))
			if off < next || !bytes.Equal(data, pattern(off, len(data))) {
				rt.Fatalf("wrong bytes at %d, next is %d", off, next)
			}
			fill(l, rapid.IntRange(0, 100_000).Draw(rt, "meanwhile"))
			if again, same := l.Peek(len(data)); len(data) > 0 && (again != off || !bytes.Equal(same[:len(data)], data)) {
				rt.Fatalf("not the same again at %d", off)
			}
			holes, got, next = holes+off-next, got+int64(len(data)), off+int64(len(data))
			l.Ack(next)
		}
		g, h := drain(t, l, next)
		total, omitted := l.Total()
		if holes+h != omitted || got+g+omitted != total {
			rt.Fatalf("%d of %d came, %d missing, %d counted", got+g, total, holes+h, omitted)
		}
	})
}

func TestLogComesBackFromItsFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	l := NewLog(path, 16<<20)
	fill(l, 3<<20+777)
	l.Persist()
	l.Close()
	var next int64
	err := ReadLog(path, func(off int64, data []byte) error {
		if off != next || !bytes.Equal(data, pattern(off, len(data))) {
			return fmt.Errorf("wrong bytes at %d", off)
		}
		next += int64(len(data))
		return nil
	})
	if err != nil || next != 3<<20+777 {
		t.Fatalf("%d bytes came back: %v", next, err)
	}
	if err := ReadLog(path+".none", nil); err != nil {
		t.Fatal(err)
	}
}

func event(seq int) runs.Event {
	return runs.Event{Seq: int64(seq), Type: runs.EventHostOK, Host: "h", Message: strings.Repeat("<m>", 300)}
}

func TestEventsKeepTheirOrderThroughTheFile(t *testing.T) {
	t.Parallel()
	q := NewEvents(filepath.Join(t.TempDir(), "events"), 64<<20)
	const all = 6000
	want := 1
	for seq := 1; seq <= all; seq++ {
		if err := q.Put(event(seq)); err != nil {
			t.Fatal(err)
		}
		if seq%1000 == 0 { // a batch is under way while more come and are spilled
			batch, err := q.Take(300, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			for range 1200 {
				seq++
				if err := q.Put(event(seq)); err != nil {
					t.Fatal(err)
				}
			}
			q.Ack()
			want = inOrder(t, batch, want)
		}
	}
	for q.Pending() > 0 {
		batch, err := q.Take(500, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		q.Ack()
		want = inOrder(t, batch, want)
	}
	if want <= all {
		t.Fatalf("%d events came", want-1)
	}
}

func inOrder(t *testing.T, batch []runs.Event, want int) int {
	t.Helper()
	for i := range batch {
		if diff := cmp.Diff(event(want), batch[i]); diff != "" {
			t.Fatal(diff)
		}
		want++
	}
	return want
}

func TestEventsWaitForSpace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "events")
	q := NewEvents(path, 3<<20)
	added := make(chan int)
	go func() {
		n := 0
		for ; n < 20_000; n++ {
			if q.Put(event(n+1)) != nil {
				break
			}
		}
		added <- n
	}()
	deadline := time.After(20 * time.Second)
	for full := false; !full; { // the file has taken its fill and stopped growing
		info, err := os.Stat(path)
		full = err == nil && info.Size() > 1<<20 && q.Pending() > 3<<20
		select {
		case <-deadline:
			t.Fatal("the queue never filled")
		case n := <-added:
			t.Fatalf("%d events went into a full queue", n)
		default:
		}
	}
	want := 1
	for range 3 {
		batch, err := q.Take(2000, 8<<20)
		if err != nil {
			t.Fatal(err)
		}
		q.Ack()
		want = inOrder(t, batch, want)
	}
	q.Close()
	if n := <-added; n >= 20_000 || n < want-1 {
		t.Fatalf("%d were added", n)
	}
}

func TestEventsComeBackFromTheirFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "events")
	q := NewEvents(path, 64<<20)
	for seq := 1; seq <= 10; seq++ {
		if err := q.Put(event(seq)); err != nil {
			t.Fatal(err)
		}
	}
	q.Persist()
	q.Close()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"seq":11,"ho`); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	var got []runs.Event
	if err := ReadEvents(path, func(e runs.Event) error { got = append(got, e); return nil }); err != nil {
		t.Fatal(err)
	}
	if inOrder(t, got, 1) != 11 {
		t.Fatalf("%d came back", len(got))
	}
}
