package anchor_test

import (
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/anchor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
)

func asks(t *testing.T, prefix string, k key) audit.Witness {
	t.Helper()
	w, err := anchor.NewWitness(prefix, k.vkey(), home())
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestWitnessFollows covers the life of a log: the first head, growth, a client without state, the same head again.
func TestWitnessFollows(t *testing.T) {
	t.Parallel()
	l := newLog(1, 40)
	f := newFollower(l.key)
	for _, prefix := range []string{"/log", "/log/"} {
		f.at = 0
		w := asks(t, serve(t, f.ServeHTTP).URL+prefix, f.key)
		if w.Name() != "witness.example/w1" {
			t.Errorf("its name is %q", w.Name())
		}
		for _, step := range []struct {
			from, to int
			known    int64
		}{{0, 5, 0}, {5, 13, 0}, {0, 21, 13}, {13, 21, 0}, {21, 21, 0}, {5, 21, 21}, {0, 0, 21}, {21, 40, 0}} {
			lines, known, err := w.Cosign(t.Context(), l.note(step.to), int64(step.from), l.proof(step.from, step.to))
			if err != nil || known != step.known {
				t.Fatalf("%+v: %q %d %v", step, lines, known, err)
			}
			want := ""
			if step.known == 0 {
				want = f.key.cosign(l.body(step.to), f.now)
			}
			if lines != want {
				t.Errorf("%+v: %q", step, lines)
			}
		}
	}
}

func TestWitnessRefuses(t *testing.T) {
	t.Parallel()
	l, fork := newLog(1, 20), newLog(2, 20)
	stranger := newLog(1, 20)
	stranger.key.name = "audit.example.org/in_other/e1"
	fork.key = l.key
	f := newFollower(l.key)
	w := asks(t, serve(t, f.ServeHTTP).URL+"/log", f.key)
	if _, _, err := w.Cosign(t.Context(), l.note(8), 0, nil); err != nil {
		t.Fatal(err)
	}
	bad := l.proof(8, 20)
	bad[0][0] ^= 1
	forged := strings.Replace(l.note(20), "\n20\n", "\n19\n", 1)
	for name, c := range map[string]struct {
		note  string
		proof [][32]byte
		says  string
	}{
		"a fork":          {fork.note(20), fork.proof(8, 20), "does not extend"},
		"a wrong proof":   {l.note(20), bad, "does not extend"},
		"no proof":        {l.note(20), nil, "does not extend"},
		"another log":     {stranger.note(20), l.proof(8, 20), "does not know this log"},
		"a forged head":   {forged, l.proof(8, 19), "does not trust the key"},
		"a wrong root":    {fork.note(8), nil, "does not extend"},
		"other signature": {newLog(3, 20).note(20), l.proof(8, 20), "does not trust the key"},
	} {
		lines, known, err := w.Cosign(t.Context(), c.note, 8, c.proof)
		if lines != "" || known != 0 || !audit.AnchorFailed.Is(err) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %q %d %v", name, lines, known, err)
		}
	}
	if f.at != 8 {
		t.Errorf("the witness went on to %d", f.at)
	}
}

// TestWitnessPresentsWhatIsWhole checks that no request violates the protocol.
func TestWitnessPresentsWhatIsWhole(t *testing.T) {
	t.Parallel()
	l := newLog(1, 5)
	w := asks(t, serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was asked") }).URL, newKey("w", 4, 7))
	for name, c := range map[string]struct {
		note  string
		from  int64
		proof int
	}{
		"no note": {"", 0, 0}, "no signature": {l.body(5), 0, 0}, "too short": {"a\n1\n\n— a b\n", 0, 0},
		"cut":                 {strings.TrimSuffix(l.note(5), "\n"), 0, 0},
		"a size that is none": {"a\n01\nb\n\n— a b\n", 0, 0}, "negative": {l.note(5), -1, 0},
		"from beyond":          {l.note(5), 6, 0},
		"a proof from nothing": {l.note(5), 0, 1}, "too many hashes": {l.note(5), 3, 64},
	} {
		if lines, known, err := w.Cosign(t.Context(), c.note, c.from, make([][32]byte, c.proof)); lines != "" || known != 0 ||
			!fault.Is(err, fault.Internal) {
			t.Errorf("%s: %q %d %v", name, lines, known, err)
		}
	}
}

func TestWitnessAnswersAreChecked(t *testing.T) {
	t.Parallel()
	l := newLog(1, 9)
	k, body := newKey("witness.example/w1", 4, 7), l.body(9)
	good := k.cosign(body, 1_700_000_000)
	same := newKey("witness.example/w1", 4, 8)
	for name, answer := range map[string]string{
		"nothing": "", "an empty line": "\n", "no newline": strings.TrimSuffix(good, "\n"),
		"a bare line": "— witness.example/w1\n",
		"another key": newKey("other.example", 4, 9).cosign(body, 1), "another key of the name": same.cosign(body, 1),
		"an older head": k.cosign(l.body(8), 1_700_000_000), "a fork": k.cosign(newLog(2, 9).body(9), 1_700_000_000),
		"no time": k.cosign(body, 0), "a negative time": k.cosign(body, math.MaxInt64+1),
		"a plain signature": k.line([]byte(strings.Repeat("x", 64))), "a short one": k.line([]byte("x")),
		"twice": good + good, "one that fails behind one that holds": good + k.cosign(l.body(8), 1),
		"garbage behind": good + "garbage\n",
		"returns":        strings.ReplaceAll(good, "\n", "\r\n"), "no text": good + "\xff\n", "a page": "<html></html>\n",
		"too many lines": good + strings.Repeat(newKey("o", 4, 9).cosign(body, 1), 64),
		"huge":           good + strings.Repeat("— o AAAAAAAA\n", 8000),
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) })
		if lines, known, err := asks(t, s.URL, k).Cosign(t.Context(), l.note(9), 0, nil); lines != "" || known != 0 ||
			!audit.AnchorFailed.Is(err) {
			t.Errorf("%s: %q %d %v", name, lines, known, err)
		}
	}
	for _, answer := range []string{good, same.cosign(body, 5) + good, good + newKey("o", 4, 9).cosign(l.body(8), 1)} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) })
		if lines, _, err := asks(t, s.URL, k).Cosign(t.Context(), l.note(9), 0, nil); lines != good || err != nil {
			t.Errorf("%q: %q %v", answer, lines, err)
		}
	}
}

func TestWitnessConflicts(t *testing.T) {
	t.Parallel()
	l, k := newLog(1, 9), newKey("w", 4, 7)
	for name, c := range map[string]struct {
		media, body string
		known       int64
	}{
		"a size":            {"text/x.tlog.size", "7\n", 7},
		"a larger one":      {"text/x.tlog.size", "9007199254740991\n", 9007199254740991},
		"the presented one": {"text/x.tlog.size", "3\n", 0}, "another type": {"text/plain", "7\n", 0},
		"no type":    {"", "7\n", 0},
		"no newline": {"text/x.tlog.size", "7", 0}, "a zero ahead": {"text/x.tlog.size", "07\n", 0},
		"negative":  {"text/x.tlog.size", "-7\n", 0},
		"too large": {"text/x.tlog.size", "9007199254740992\n", 0}, "nothing": {"text/x.tlog.size", "", 0},
		"two": {"text/x.tlog.size", "7\n8\n", 0},
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.media)
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, c.body)
		})
		lines, known, err := asks(t, s.URL, k).Cosign(t.Context(), l.note(9), 3, l.proof(3, 9))
		if lines != "" || known != c.known || (c.known == 0) != audit.AnchorFailed.Is(err) {
			t.Errorf("%s: %q %d %v", name, lines, known, err)
		}
	}
}

func TestWitnessHasAKey(t *testing.T) {
	t.Parallel()
	good := newKey("witness.example/w1", 4, 7)
	// The verifier key in the documentation of golang.org/x/mod/sumdb/note has type 1: that of a log, not of a
	// witness.
	for _, vkey := range []string{
		"", "w", "w+00000000+", newKey("w", 1, 7).vkey(), newKey("w", 6, 7).vkey(), newKey("", 4, 7).vkey(),
		newKey("a b", 4, 7).vkey(),
		"x" + good.vkey(), good.vkey() + "\n", good.vkey() + "A", strings.ToUpper(good.vkey()),
		"PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
	} {
		if w, err := anchor.NewWitness("https://witness.example", vkey, anchor.Options{}); w != nil ||
			!fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", vkey, err)
		}
	}
	if w, err := anchor.NewWitness("witness.example", good.vkey(), anchor.Options{}); w != nil ||
		!fault.Is(err, fault.Invalid) {
		t.Errorf("a prefix without a scheme: %v", err)
	}
}
