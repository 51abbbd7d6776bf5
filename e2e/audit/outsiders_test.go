package audit

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/writ-automation/writ/e2e/harness"
)

// witness is a C2SP tlog-witness of one log, which it identifies by its key.
type witness struct {
	name, url, vkey string
	key             ed25519.PrivateKey
	log             note.Verifier
	mu              sync.Mutex
	size            int64
	root            tlog.Hash
	statuses        []int // of its answers
}

// newWitness starts a witness of the log of a server.
func newWitness(t *testing.T, s *harness.Server) *witness {
	t.Helper()
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{name: "witness.example.org", key: key}
	w.vkey = fmt.Sprintf("%s+%08x+%s", w.name, w.id(), base64.StdEncoding.EncodeToString(append([]byte{4}, public...)))
	if w.log, err = note.NewVerifier(sealed(t, s).vkey(t)); err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(http.HandlerFunc(w.answer))
	t.Cleanup(h.Close)
	w.url = h.URL
	return w
}

// id returns the key id of a cosigner (C2SP tlog-cosignature).
func (w *witness) id() uint32 {
	sum := sha256.Sum256(append([]byte(w.name+"\n\x04"), w.key.Public().(ed25519.PublicKey)...))
	return binary.BigEndian.Uint32(sum[:])
}

func (w *witness) answer(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	status, media, body := w.add(r)
	w.statuses = append(w.statuses, status)
	if media != "" {
		out.Header().Set("Content-Type", media)
	}
	out.WriteHeader(status)
	_, _ = io.WriteString(out, body)
}

// add serves the call add-checkpoint of C2SP tlog-witness.
func (w *witness) add(r *http.Request) (status int, media, body string) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, 64<<10))
	head, text, ok := strings.Cut(string(raw), "\n\n")
	if err != nil || !ok || r.URL.Path != "/add-checkpoint" {
		return http.StatusBadRequest, "", ""
	}
	lines := strings.Split(head, "\n")
	old, err := strconv.ParseInt(strings.TrimPrefix(lines[0], "old "), 10, 64)
	signed, err2 := note.Open([]byte(text), note.VerifierList(w.log))
	if err != nil {
		return http.StatusBadRequest, "", ""
	}
	if err2 != nil {
		return http.StatusForbidden, "", ""
	}
	tree, err := parseTree(signed.Text)
	if err != nil || old > tree.N {
		return http.StatusBadRequest, "", ""
	}
	if old != w.size {
		return http.StatusConflict, "text/x.tlog.size", fmt.Sprintln(w.size)
	}
	var proof tlog.TreeProof
	for _, line := range lines[1:] {
		h, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(h) != 32 {
			return http.StatusBadRequest, "", ""
		}
		proof = append(proof, tlog.Hash(h))
	}
	if old > 0 && tlog.CheckTree(proof, tree.N, tree.Hash, old, w.root) != nil || old == 0 && len(proof) > 0 {
		return http.StatusUnprocessableEntity, "", ""
	}
	w.size, w.root = tree.N, tree.Hash
	return http.StatusOK, "", w.line(signed.Text, time.Now().Unix())
}

// line returns the witness's cosignature of a checkpoint.
func (w *witness) line(body string, at int64) string {
	raw := binary.BigEndian.AppendUint32(nil, w.id())
	raw = binary.BigEndian.AppendUint64(raw, uint64(at)) //nolint:gosec // now is no negative time
	raw = append(raw, ed25519.Sign(w.key, fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", at, body))...)
	return "— " + w.name + " " + base64.StdEncoding.EncodeToString(raw) + "\n"
}

// signs reports whether a note has a valid cosignature of the witness.
func (w *witness) signs(text string) bool {
	body, lines, _ := strings.Cut(text, "\n\n")
	for line := range strings.Lines(lines) {
		b64, mine := strings.CutPrefix(strings.TrimSpace(line), "— "+w.name+" ")
		raw, err := base64.StdEncoding.DecodeString(b64)
		if !mine || err != nil || len(raw) != 4+8+64 || binary.BigEndian.Uint32(raw) != w.id() {
			continue
		}
		content := fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s\n", binary.BigEndian.Uint64(raw[4:]), body)
		return ed25519.Verify(w.key.Public().(ed25519.PublicKey), content, raw[12:])
	}
	return false
}

func (w *witness) answered() []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]int(nil), w.statuses...)
}

// parseTree reads the three lines of a checkpoint.
func parseTree(text string) (tlog.Tree, error) {
	lines := strings.Split(text, "\n")
	if len(lines) != 4 {
		return tlog.Tree{}, fmt.Errorf("a checkpoint of %d lines", len(lines)-1)
	}
	n, err := strconv.ParseInt(lines[1], 10, 64)
	root, err2 := base64.StdEncoding.DecodeString(lines[2])
	if err != nil || err2 != nil || len(root) != 32 {
		return tlog.Tree{}, fmt.Errorf("no checkpoint: %q", text)
	}
	return tlog.Tree{N: n, Hash: tlog.Hash(root)}, nil
}

// seal holds the members of seal.json that tests use.
type seal struct {
	Origin     string
	Epoch      int64
	Checkpoint string
	Keys       []sealKey
}

type sealKey struct {
	KID, VKey, Use, Status, Handover string
	First                            int64  `json:"first_size"`
	Last                             *int64 `json:"last_size"`
}

func sealed(t *testing.T, s *harness.Server) seal {
	t.Helper()
	var out seal
	a := s.As("").Do(http.MethodGet, "/.well-known/seal.json", nil)
	if a.Status != http.StatusOK {
		t.Fatalf("seal.json: %d %s", a.Status, a.Body)
	}
	if err := json.Unmarshal(a.Body, &out); err != nil {
		t.Fatalf("%v\n%s", err, a.Body)
	}
	return out
}

// vkey returns the verifier key of the active checkpoint key.
func (s seal) vkey(t *testing.T) string {
	t.Helper()
	for _, k := range s.Keys {
		if k.Status == "active" && k.VKey != "" {
			return k.VKey
		}
	}
	t.Fatalf("no active key in %+v", s)
	return ""
}

// tree opens the head of a note with an independent library.
func (s seal) tree(t *testing.T, text string) tlog.Tree {
	t.Helper()
	v, err := note.NewVerifier(s.vkey(t))
	if err != nil {
		t.Fatal(err)
	}
	n, err := note.Open([]byte(text), note.VerifierList(v))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	tree, err := parseTree(n.Text)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}
