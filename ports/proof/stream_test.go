package proof

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/proof/bundle"
	"github.com/writ-automation/writ/ports/proof/checkpoint"
	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/proof/tree"
)

// large writes a bundle of n entries into a file without holding them.
func large(t testing.TB, n int64) (path string, trust Trust) {
	t.Helper()
	w := newFixture(t, 1)
	each := func(visit func(b []byte)) {
		var prev [32]byte
		var b []byte
		for seq := int64(1); seq <= n; seq++ {
			l := leaf.Leaf{
				Act: "run.submit", At: leaf.At(begin.Add(time.Duration(seq) * time.Millisecond)),
				ID: "aud_01k" + strconv.FormatInt(seq, 36), Met: "POST",
				Obj: "run/run_01k2m3n4p5", Out: leaf.Applied, Prev: prev, Req: "req_" + strconv.FormatInt(seq, 36),
				Run: "run_01k2m3n4p5", Seq: seq, Sub: "usr_01k2m3n4p5",
				SD: []string{"npEbyCvfG1Ax4ldGi-75VVuL64I_n5rmXOb51GaZcqI"},
			}
			b, _ = l.AppendTo(b[:0])
			prev = leaf.Hash(b)
			visit(b)
		}
	}
	var edge tree.Range
	each(func(b []byte) { edge.Append(leaf.Hash(b)) })
	note, err := checkpoint.Sign(checkpoint.Body{Origin: testOrigin, Size: n, Root: edge.Root()}, w.head)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "bundle.json")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	out, err := bundle.NewWriter(f, bundle.Head{Origin: testOrigin, From: 1, To: n, Size: n, GeneratedAt: begin,
		Checkpoint: string(note), Keys: w.listed})
	if err != nil {
		t.Fatal(err)
	}
	each(func(b []byte) {
		if err := out.Add(bundle.Entry{Leaf: b,
			Disclosures: []string{"WyJBQUVDQXdRRkJnY0lDUW9MREEwT0R3Iiwic3ViLm5hbWUiLCJBZGEgRXhhbXBsZSJd"}}); err != nil {
			t.Fatal(err)
		}
	})
	if err := out.Close(w.passphrase); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path, w.trusted()
}

// gauge records the heap size once per number of bytes during a read.
type gauge struct {
	r            io.Reader
	read, step   int64
	first, worst uint64
}

func (g *gauge) Read(p []byte) (int, error) {
	n, err := g.r.Read(p)
	if before := g.read / g.step; (g.read+int64(n))/g.step != before {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		if g.first == 0 {
			g.first = m.HeapAlloc
		}
		g.worst = max(g.worst, m.HeapAlloc)
	}
	g.read += int64(n)
	return n, err
}

// TestMemoryStaysFlat runs alone, since it looks at the heap of the process.
func TestMemoryStaysFlat(t *testing.T) {
	n := depthtest.Of[int64](10_000, 30_000)
	path, trust := large(t, n)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	g := &gauge{r: f, step: 1 << 20}
	ends(t, check(t, g, trust), "", 0, 0)
	if g.read < 340*n || g.first == 0 || g.worst > g.first+1<<20 {
		t.Fatalf("of %d bytes read, the heap grew from %d to %d", g.read, g.first, g.worst)
	}
}

// BenchmarkVerifyMillion verifies a chain of a million entries with a disclosure each.
func BenchmarkVerifyMillion(b *testing.B) {
	path, trust := large(b, 1_000_000)
	for b.Loop() {
		f, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		g := &gauge{r: bufio.NewReaderSize(f, 1<<20), step: 64 << 20}
		v := check(b, g, trust)
		_ = f.Close()
		if !v.OK || v.Count != 1_000_000 {
			b.Fatalf("%+v", v)
		}
		b.SetBytes(g.read)
		b.ReportMetric(float64(g.worst)/(1<<20), "live-MiB")
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapSys)/(1<<20), "heap-MiB")
	}
}
