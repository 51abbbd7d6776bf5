package leaf

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// example is a leaf of the usual size: about 320 bytes without the optional detail and digests.
func example(seq int64) Leaf {
	return Leaf{
		Act: "run.approve", At: "2026-03-31T23:59:59.999999Z", ID: "aud_01jz4w8x6m2k9q0r3t5v7y1b2c", Met: "POST",
		Obj: "run/run_01jz4w8x6m2k9q0r3t5v7y1b2d", Out: Applied, Req: "7f3a55", Run: "run_01jz4w8x6m2k9q0r3t5v7y1b2d",
		SD:  []string{"npEbyCvfG1Ax4ldGi-75VVuL64I_n5rmXOb51GaZcqI", "zpEbyCvfG1Ax4ldGi-75VVuL64I_n5rmXOb51GaZcqI"},
		Seq: seq, Sub: "usr_01jz4w8x6m2k9q0r3t5v7y1b2e",
	}
}

func usual(seq int64) Leaf {
	l := example(seq)
	l.Req, l.SD = "", l.SD[:1]
	return l
}

func BenchmarkAppendTo(b *testing.B) {
	l, buf := usual(1), make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if buf, err = l.AppendTo(buf[:0]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(buf)), "bytes/leaf")
}

func BenchmarkScan(b *testing.B) {
	l := usual(1)
	text, err := l.AppendTo(nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Scan(text); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkScanText measures leaves of user requests, which have every key. All are different, as in a chain.
func BenchmarkScanText(b *testing.B) {
	texts := make([]string, 1024)
	for i := range texts {
		l := example(int64(1 + i))
		sum := func(n int) [32]byte { return sha256.Sum256(fmt.Append(nil, i, n)) }
		l.Det, l.Prev, l.SD = fmt.Sprintf("sha256:%x", sum(0)), sum(1), nil
		for n := range 5 {
			d := sum(2 + n)
			l.SD = append(l.SD, base64.RawURLEncoding.EncodeToString(d[:]))
		}
		slices.Sort(l.SD)
		raw, err := l.AppendTo(nil)
		if err != nil {
			b.Fatal(err)
		}
		texts[i] = string(raw)
	}
	b.ReportAllocs()
	next := 0
	for b.Loop() {
		if _, err := ScanText(texts[next]); err != nil {
			b.Fatal(err)
		}
		next = (next + 1) % len(texts)
	}
	b.ReportMetric(float64(len(texts[0])), "bytes/leaf")
}

func BenchmarkHash(b *testing.B) {
	l := usual(1)
	text, err := l.AppendTo(nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		Hash(text)
	}
}

func FuzzScan(f *testing.F) {
	var all leafVectors
	vectors(f, "leaves.json", &all)
	for _, v := range all.Valid {
		f.Add([]byte(v.Leaf))
	}
	for _, v := range all.Invalid {
		f.Add(v.bytes(f))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := Scan(b)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Code == "" {
				t.Fatalf("refused with %#v", err)
			}
			return
		}
		again, err := l.AppendTo(nil)
		if err != nil || string(again) != string(b) {
			t.Fatalf("%q is written as %q, %v", b, again, err)
		}
	})
}
