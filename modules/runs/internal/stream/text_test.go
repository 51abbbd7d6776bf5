package stream

import (
	"errors"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/runs"
)

// collect returns a follower and the chunks that it sends.
func collect() (*follower, *[]runs.LogChunk) {
	var sent []runs.LogChunk
	f := &follower{Streamer: &Streamer{}, sub: NewHub().Subscribe("run_a"), beat: time.NewTimer(time.Hour)}
	f.out = func(u runs.Update) error {
		sent = append(sent, *u.Log)
		return nil
	}
	return f, &sent
}

func TestEveryChunkIsWholeText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		f, sent := collect()
		offset := int64(0)
		for rest := []byte(text); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			if err := f.sendLog(runs.LogChunk{Offset: offset, Data: rest[:n]}); err != nil {
				t.Fatal(err)
			}
			offset += int64(n)
			rest = rest[n:]
		}
		if err := errors.Join(f.flush(), f.send(false)); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, c := range *sent {
			if !utf8.Valid(c.Data) || c.Offset != int64(len(got)) {
				t.Fatalf("%q at %d after %q", c.Data, c.Offset, got)
			}
			got += string(c.Data)
		}
		if got != text {
			t.Fatalf("sent %q of %q", got, text)
		}
	})
}

func TestAHoleEndsACharacter(t *testing.T) {
	t.Parallel()
	f, sent := collect()
	for _, c := range []runs.LogChunk{{Data: []byte("a\xe2\x82")}, {Offset: 100, Data: []byte("b")}} {
		if err := f.sendLog(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.send(false); err != nil {
		t.Fatal(err)
	}
	want := []runs.LogChunk{{Data: []byte("a")}, {Offset: 1, Data: []byte("\xe2\x82")}, {Offset: 100, Data: []byte("b")}}
	if d := cmp.Diff(want, *sent); d != "" {
		t.Error(d)
	}
}
