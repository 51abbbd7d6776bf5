package anchor_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// follower is a C2SP tlog-witness of one log that stores the last head that it cosigned.
type follower struct {
	key key
	log key
	mu  sync.Mutex
	now uint64
	at  int
	top [32]byte
}

func newFollower(log key) *follower {
	return &follower{key: newKey("witness.example/w1", 4, 7), log: log, now: 1_700_000_000}
}

// ServeHTTP serves POST <prefix>/add-checkpoint.
func (f *follower) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(io.LimitReader(r.Body, 64<<10))
	if err != nil || r.Method != http.MethodPost || r.URL.Path != "/log/add-checkpoint" {
		w.WriteHeader(http.StatusNotImplemented)
		return
	}
	head, note, ok := strings.Cut(string(b), "\n\n")
	old, proof, readable := readHead(head)
	body, size, root, signed := f.read(note)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case !ok || !readable || size < 0 || old > size:
		w.WriteHeader(http.StatusBadRequest)
	case !strings.HasPrefix(note, f.log.name+"\n"):
		w.WriteHeader(http.StatusNotFound)
	case !signed:
		w.WriteHeader(http.StatusForbidden)
	case old != f.at:
		w.Header().Set("Content-Type", "text/x.tlog.size")
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, strconv.Itoa(f.at)+"\n")
	case !consistent(old, size, f.top, root, proof):
		w.WriteHeader(http.StatusUnprocessableEntity)
	default:
		f.at, f.top, f.now = size, root, f.now+1
		_, _ = io.WriteString(w, newKey("other.example/w", 4, 9).cosign(body, f.now)+f.key.cosign(body, f.now)+
			newKey("witness.example/w1", 6, 8).line(make([]byte, 2428)))
	}
}

// readHead reads "old <size>" and the proof.
func readHead(head string) (old int, proof [][32]byte, ok bool) {
	lines := strings.Split(head, "\n")
	text, found := strings.CutPrefix(lines[0], "old ")
	old, err := strconv.Atoi(text)
	if !found || err != nil || strconv.Itoa(old) != text || len(lines) > 64 {
		return 0, nil, false
	}
	for _, line := range lines[1:] {
		h, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(h) != 32 {
			return 0, nil, false
		}
		proof = append(proof, [32]byte(h))
	}
	return old, proof, true
}

// read parses a signed checkpoint; a size of -1 means that it is invalid.
func (f *follower) read(note string) (body string, size int, root [32]byte, signed bool) {
	body, sigs, ok := strings.Cut(note, "\n\n")
	lines := strings.Split(body, "\n")
	if !ok || len(lines) != 3 || !strings.HasSuffix(note, "\n") {
		return "", -1, root, false
	}
	body += "\n"
	size, err := strconv.Atoi(lines[1])
	h, errRoot := base64.StdEncoding.DecodeString(lines[2])
	if err != nil || errRoot != nil || len(h) != 32 {
		return "", -1, root, false
	}
	text := strings.TrimPrefix(strings.TrimSuffix(sigs, "\n"), "— "+f.log.name+" ")
	sig, err := base64.StdEncoding.DecodeString(text)
	signed = err == nil && len(sig) == 68 && bytes.Equal(sig[:4], f.log.id()) &&
		ed25519.Verify(f.log.private.Public().(ed25519.PublicKey), []byte(body), sig[4:])
	return body, size, [32]byte(h), signed
}

// TestTheTestsTreeIsOne verifies the proofs of the test's log with the test's witness.
func TestTheTestsTreeIsOne(t *testing.T) {
	t.Parallel()
	l, fork := newLog(1, 21), newLog(2, 21)
	for n := range 22 {
		for m := range n + 1 {
			first, second := treeRoot(l.leaves[:m]), treeRoot(l.leaves[:n])
			if !consistent(m, n, first, second, l.proof(m, n)) {
				t.Errorf("%d to %d is refused", m, n)
			}
			if m > 0 && consistent(m, n, treeRoot(fork.leaves[:m]), second, l.proof(m, n)) {
				t.Errorf("%d of a fork to %d is accepted", m, n)
			}
		}
	}
}
