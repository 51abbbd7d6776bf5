package tree

import (
	"context"
	"testing"

	"github.com/writ-automation/writ/ports/proof/leaf"
)

// chained is how many leaves the benchmarks of a whole chain have.
const chained = 1 << 16

// chain links leaves of the usual size and returns their bytes one after the other, where each ends, and the right
// edge.
func chain(b *testing.B, n int) (text []byte, ends []int, edge Range) {
	l := leaf.Leaf{
		Act: "run.approve", At: "2026-03-31T23:59:59.999999Z", ID: "aud_01jz4w8x6m2k9q0r3t5v7y1b2c", Met: "POST",
		Obj: "run/run_01jz4w8x6m2k9q0r3t5v7y1b2d", Out: leaf.Applied,
		SD: []string{"npEbyCvfG1Ax4ldGi-75VVuL64I_n5rmXOb51GaZcqI"}, Sub: "usr_01jz4w8x6m2k9q0r3t5v7y1b2e",
	}
	text, ends = make([]byte, 0, 350*n), make([]int, 0, n)
	for i := range n {
		l.Seq = int64(i + 1)
		from := len(text)
		var err error
		if text, err = l.AppendTo(text); err != nil {
			b.Fatal(err)
		}
		l.Prev = leaf.Hash(text[from:])
		edge.Append(l.Prev)
		ends = append(ends, len(text))
	}
	return text, ends, edge
}

func BenchmarkBuildChain(b *testing.B) {
	for b.Loop() {
		chain(b, chained)
	}
	b.ReportMetric(float64(chained)*float64(b.N)/b.Elapsed().Seconds(), "leaves/s")
}

// BenchmarkVerifyChain measures the work of a verifier for each leaf: it reads the leaf strictly, compares its number
// and its link, hashes it and adds it to the tree.
func BenchmarkVerifyChain(b *testing.B) {
	text, ends, edge := chain(b, chained)
	for b.Loop() {
		var r Range
		var prev Hash
		from := 0
		for i, end := range ends {
			l, err := leaf.Scan(text[from:end])
			if err != nil || l.Seq != int64(i+1) || l.Prev != prev {
				b.Fatal(err, l.Seq)
			}
			prev = leaf.Hash(text[from:end])
			r.Append(prev)
			from = end
		}
		if r != edge || r.Root() != edge.Root() {
			b.Fatal("another tree")
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(chained)/float64(b.N), "s/million")
	b.ReportMetric(float64(len(text))/chained, "bytes/leaf")
}

func BenchmarkAppend(b *testing.B) {
	var r Range
	h := leafHash(1)
	b.ReportAllocs()
	for b.Loop() {
		r.Append(h)
	}
}

func BenchmarkInclusionFromTiles(b *testing.B) {
	ctx, all := context.Background(), grow(100000)
	top := all.frontier.Root()
	b.ReportAllocs()
	for b.Loop() {
		tiles, err := OpenTiles(ctx, all, 100000, top)
		if err != nil {
			b.Fatal(err)
		}
		path, err := Inclusion(ctx, tiles, 31337, 100000)
		if err != nil {
			b.Fatal(err)
		}
		if err := VerifyInclusion(leafHash(31337), 31337, 100000, path, top); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerifyInclusion(b *testing.B) {
	all := grow(100000)
	path, err := Inclusion(context.Background(), all, 31337, 100000)
	if err != nil {
		b.Fatal(err)
	}
	leaf, top := leafHash(31337), all.frontier.Root()
	b.ReportAllocs()
	for b.Loop() {
		if err := VerifyInclusion(leaf, 31337, 100000, path, top); err != nil {
			b.Fatal(err)
		}
	}
}
