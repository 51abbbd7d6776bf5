package audittest

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
)

// Note makes a well-formed note of a head with a dummy signature. No store checks signatures.
func Note(origin string, size int64, root byte) string {
	line := base64.StdEncoding.EncodeToString(slices.Repeat([]byte{root}, 68))
	return fmt.Sprintf("%s\n%d\n%s\n\n\u2014 %s %s\n", origin, size,
		base64.StdEncoding.EncodeToString(slices.Repeat([]byte{root}, sha256.Size)), origin, line)
}

// HeadStore tests an implementation of audit.HeadStore. open returns a new store, and the same store opened again as
// by a restarted worker.
func HeadStore(t *testing.T, open func(t *testing.T) (first, again audit.HeadStore)) {
	t.Helper()
	for name, fn := range map[string]func(t *testing.T, store, again audit.HeadStore){
		"the largest of each origin": headsLargest, "no more origins": headsFull, "what is no head": headsRefuses,
		"at once": headsAtOnce,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, again := open(t)
			fn(t, store, again)
		})
	}
}

// lies fails unless a store has exactly these notes.
func lies(t *testing.T, store audit.HeadStore, want ...string) {
	t.Helper()
	got, err := store.Notes()
	if err != nil {
		t.Errorf("notes: %v", err)
	}
	slices.Sort(got)
	want = slices.Sorted(slices.Values(want))
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("notes (-want +got):\n%s", d)
	}
}

func save(t *testing.T, store audit.HeadStore, notes ...string) {
	t.Helper()
	for _, n := range notes {
		if err := store.Save(n); err != nil {
			t.Errorf("keep %q: %v", n, err)
		}
	}
}

func headsLargest(t *testing.T, store, again audit.HeadStore) {
	lies(t, store)
	small, large, other := Note("a.example/audit/in_1/e1", 9, 1), Note("a.example/audit/in_1/e1", 10, 2),
		Note("a.example/audit/in_1/e2", 3, 3)
	save(t, store, small, other)
	lies(t, store, small, other)
	save(t, again, large, small, Note("a.example/audit/in_1/e1", 10, 4), large)
	lies(t, again, large, other)
	lies(t, store, large, other)
	save(t, store, Note("a.example/audit/in_1/e2", 1<<53-1, 3))
	lies(t, again, large, Note("a.example/audit/in_1/e2", 1<<53-1, 3))
}

func headsFull(t *testing.T, store, again audit.HeadStore) {
	var want []string
	for i := range audit.HeldHeads {
		want = append(want, Note(fmt.Sprintf("a.example/audit/in_1/e%d", i+1), 5, byte(i)))
	}
	save(t, store, want...)
	save(t, again, Note("a.example/audit/in_1/e99", 1000, 1))
	lies(t, store, want...)
	want[7] = Note("a.example/audit/in_1/e8", 6, 200)
	save(t, store, want[7])
	lies(t, again, want...)
}

func headsRefuses(t *testing.T, store, _ audit.HeadStore) {
	good := Note("a.example/audit/in_1/e1", 9, 1)
	save(t, store, good)
	lines := strings.SplitAfter(good, "\n")
	without := func(i int) string { return strings.Join(slices.Delete(slices.Clone(lines), i, i+1), "") }
	for name, note := range map[string]string{
		"nothing": "", "no origin": without(0), "no size": without(1), "no root": without(2), "no empty line": without(3),
		"no signature": without(4),
		"cut off":      strings.TrimSuffix(good, "\n"), "a zero before": strings.Replace(good, "\n9\n", "\n010\n", 1),
		"a sign":                 strings.Replace(good, "\n9\n", "\n+10\n", 1),
		"a negative size":        strings.Replace(good, "\n9\n", "\n-1\n", 1),
		"a huge size":            strings.Replace(good, "\n9\n", "\n9007199254740992\n", 1),
		"a short root":           strings.Replace(good, lines[2], "AQEB\n", 1),
		"a fourth line":          strings.Replace(good, "\n\n", "\nmore\n\n", 1),
		"another form of base64": strings.Replace(good, "=\n", "\n", 1),
		"bits left over":         strings.Replace(good, "AQE=\n", "AQF=\n", 1),
		"a return":               strings.ReplaceAll(good, "\n", "\r\n"), "a space in the origin": Note("a b/e1", 10, 1),
		"a plus in the origin": Note("a+b/e1", 10, 1),
		"too large":            good + strings.Repeat(lines[4], 1000), "a line that is none": good + "signed\n",
		"no UTF-8":        strings.Replace(good, "a.example", "\xff", 1),
		"seventeen lines": good + strings.Repeat(lines[4], 16), "text behind it": good + "\n",
		"an empty signature": strings.Replace(good, lines[4], "\u2014 a/e1 AAAA\n", 1),
	} {
		if err := store.Save(note); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: the error is %v, want one of kind invalid", name, err)
		}
	}
	lies(t, store, good)
}

func headsAtOnce(t *testing.T, store, again audit.HeadStore) {
	var wait sync.WaitGroup
	for i := range 4 {
		wait.Go(func() {
			for n := range 10 {
				save(t, store, Note("a.example/audit/in_1/e1", int64(1+n*4+i), 1),
					Note(fmt.Sprintf("a.example/audit/in_1/e%d", 2+i), int64(1+n), 2))
				notes, err := store.Notes()
				if err != nil || len(notes) == 0 {
					t.Errorf("%d notes: %v", len(notes), err)
				}
			}
		})
	}
	wait.Wait()
	want := []string{Note("a.example/audit/in_1/e1", 40, 1)}
	for i := range 4 {
		want = append(want, Note(fmt.Sprintf("a.example/audit/in_1/e%d", 2+i), 10, 2))
	}
	lies(t, again, want...)
}
