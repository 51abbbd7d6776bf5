package proof

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/proof/bundle"
	"github.com/writ-automation/writ/ports/proof/receipt"
)

// full is a receipt that has every member.
func full(t testing.TB) (runs, []byte) {
	t.Helper()
	r := newRuns(t)
	made := r.receipt(t, "run_1", receipt.Contiguous)
	made.Anchors = []receipt.Anchor{r.seen(t, 4, bundle.KindWorker), r.seen(t, 12, bundle.KindTimestamp)}
	made.Consistency = &receipt.Consistency{From: 6, Proof: r.consistency(t, 6).Proof}
	return r, r.sign(t, made)
}

// TestNoMutatedByteOfAReceiptVerifies flips a bit of each byte and cuts the file at every 16th; a quick run
// takes a sample.
func TestNoMutatedByteOfAReceiptVerifies(t *testing.T) {
	t.Parallel()
	r := newRuns(t)
	made := r.receipt(t, "run_3", receipt.Sparse)
	made.Anchors = []receipt.Anchor{r.seen(t, 12, bundle.KindTimestamp)}
	doc := r.sign(t, made)
	if v := checkReceipt(t, doc, r.trusted()); !v.OK || !v.Pinned {
		t.Fatalf("%+v", v)
	}
	verifies := func(doc []byte) bool {
		v, err := VerifyReceipt(t.Context(), bytes.NewReader(doc), Trust{}, begin)
		return err == nil && v.OK
	}
	for i := range doc {
		bad := bytes.Clone(doc)
		if bad[i] ^= 1 << (i % 8); sampled(doc, i) && verifies(bad) {
			t.Fatalf("byte %d changed verifies: %q", i, bad[max(0, i-20):min(len(bad), i+20)])
		}
		if i%depthtest.Of(211, 16) == 0 && verifies(doc[:i]) {
			t.Fatalf("the first %d bytes verify", i)
		}
	}
}

func TestNoRandomEditOfAReceiptVerifies(t *testing.T) {
	t.Parallel()
	_, doc := full(t)
	rapid.Check(t, func(rt *rapid.T) {
		at := rapid.IntRange(0, len(doc)).Draw(rt, "at")
		cut := rapid.IntRange(0, min(64, len(doc)-at)).Draw(rt, "cut")
		put := rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 0, 8),
			rapid.SampledFrom([][]byte{[]byte(" "), []byte("\n"), []byte(`\u0041`), []byte(`"sig":"",`)})).Draw(rt, "put")
		edited := append(append(bytes.Clone(doc[:at]), put...), doc[at+cut:]...)
		v, err := VerifyReceipt(t.Context(), bytes.NewReader(edited), Trust{}, begin)
		if err == nil && v.OK && !bytes.Equal(edited, doc) {
			rt.Fatalf("verifies: %q", edited)
		}
	})
}

func TestReceiptsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	_, doc := full(t)
	read := func(ctx context.Context, s string, trust Trust) error {
		_, err := VerifyReceipt(ctx, strings.NewReader(s), trust, begin)
		return err
	}
	if err := read(t.Context(), "{}", Trust{}); !errors.Is(err, receipt.ErrUnknown) {
		t.Errorf("no receipt: %v", err)
	}
	if err := read(t.Context(), string(doc), Trust{VKeys: []string{"x"}}); err == nil {
		t.Error("a key that is none is taken")
	}
	if err := read(t.Context(), string(doc), Trust{From: &Head{Size: -1}}); err == nil {
		t.Error("a size that is none is taken")
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := read(ctx, string(doc), Trust{}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	broken := errors.New("broken")
	if _, err := VerifyReceipt(t.Context(), iotest.ErrReader(broken), Trust{}, begin); !errors.Is(err, broken) {
		t.Errorf("a reader that fails: %v", err)
	}
	if _, err := VerifyReceipt(t.Context(), endless{}, Trust{}, begin); !errors.Is(err, receipt.ErrTooLarge) {
		t.Errorf("a reader without an end: %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	copy(p, receipt.Opening)
	return len(p), nil
}

func TestKind(t *testing.T) {
	t.Parallel()
	_, doc := full(t)
	w := newFixture(t, 2)
	for want, text := range map[string][]byte{KindReceipt: doc, KindBundle: w.write(t, w.whole(t)),
		"": []byte(`{"v":1}`)} {
		if got := Kind(text[:min(16, len(text))]); got != want {
			t.Errorf("%q is of the kind %q", text[:7], got)
		}
	}
}

func TestReceiptWarnings(t *testing.T) {
	t.Parallel()
	r, doc := full(t)
	v, err := VerifyReceipt(t.Context(), bytes.NewReader(doc), r.trusted(), begin.Add(-time.Hour))
	if err != nil || !v.OK || !strings.Contains(result(v, "times").Detail, "clock_ahead: 9") {
		t.Errorf("%+v, %v", v, err)
	}
	if c := result(v, "consistency"); c.Result != Warned {
		t.Errorf("%+v", c)
	}
	for _, text := range v.NotChecked {
		if strings.Contains(text, "certificate") {
			return
		}
	}
	t.Errorf("%+v", slices.Clone(v.NotChecked))
}
