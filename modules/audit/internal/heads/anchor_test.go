package heads_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/modules/audit/internal/record"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof/checkpoint"
	"github.com/writ-automation/writ/ports/proof/tree"
)

// authority makes tokens over the requested bytes, or over others.
type authority struct{ of func(data []byte) []byte }

func (a authority) Name() string { return "tsa.example.org" }

func (a authority) Stamp(_ context.Context, data []byte) ([]byte, error) {
	if a.of == nil {
		return nil, audit.AnchorFailed.New("no route to host")
	}
	return a.of(data), nil
}

// der encodes an element with its parts.
func der(tag byte, parts ...[]byte) []byte {
	all := bytes.Join(parts, nil)
	return append([]byte{tag, 0x82, byte(len(all) >> 8), byte(len(all))}, all...)
}

// short encodes an element of less than 128 bytes.
func short(tag byte, parts ...[]byte) []byte {
	all := bytes.Join(parts, nil)
	return append([]byte{tag, byte(len(all))}, all...)
}

// token makes an RFC 3161 response without signatures.
func token(data []byte) []byte {
	sum := sha256.Sum256(data)
	sha := short(0x06, []byte{0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01})
	one := short(0x02, []byte{1})
	info := short(0x30, one, short(0x06, []byte{0x2a, 3}), short(0x30, short(0x30, sha), short(0x04, sum[:])), one,
		short(0x18, []byte("20260102030405Z")))
	encap := short(0x30, short(0x06, []byte{0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 16, 1, 4}),
		short(0xa0, short(0x04, info)))
	signed := short(0xa0, der2(0x30, one, short(0x31), encap, short(0x31)))
	return der2(0x30, short(0x30, short(0x02, []byte{0})),
		der2(0x30, short(0x06, []byte{0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 7, 2}), signed))
}

// der2 encodes an element with the shortest length.
func der2(tag byte, parts ...[]byte) []byte {
	switch n := len(bytes.Join(parts, nil)); {
	case n < 0x80:
		return short(tag, parts...)
	case n < 0x100:
		return append([]byte{tag, 0x81, byte(n)}, bytes.Join(parts, nil)...)
	}
	return der(tag, parts...)
}

// witness stores the last head that it signed.
type witness struct {
	size  int64
	root  tree.Hash
	asked []int64
	line  func() string
}

func (w *witness) Name() string { return "witness.example.org" }

func (w *witness) Cosign(_ context.Context, note string, from int64, proof [][32]byte) (string, int64, error) {
	w.asked = append(w.asked, from)
	parsed, err := checkpoint.Parse([]byte(note))
	if err != nil {
		return "", 0, err
	}
	if from != w.size {
		return "", w.size, nil
	}
	if from > 0 {
		if err := tree.VerifyConsistency(uint64(from), uint64(parsed.Size), w.root, parsed.Root, proof); err != nil {
			return "", 0, err
		}
	}
	w.size, w.root = parsed.Size, parsed.Root
	return w.line(), w.size, nil
}

func cosignature() string {
	raw := binary.BigEndian.AppendUint32(nil, 7)
	raw = binary.BigEndian.AppendUint64(raw, 1_700_000_000)
	raw = append(raw, make([]byte, 64)...)
	return "— witness.example.org " + base64.StdEncoding.EncodeToString(raw) + "\n"
}

func TestAnchorsOfOutsiders(t *testing.T) {
	t.Parallel()
	s := fresh(t, pemOf(t))
	s.entries(t, 3)
	w, outside := &witness{line: cosignature}, &file{}
	for round := range 3 {
		if round == 2 {
			w.size, w.root = 0, tree.Hash{} // it was set up anew
		}
		made, err := s.admin.Anchor(t.Context(),
			audit.AnchorRequest{TimeStamper: authority{token}, Witness: w, HeadFile: outside})
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		for _, a := range made {
			kinds = append(kinds, a.Kind)
			if a.Size != made[0].Size || a.Root != made[0].Root || !strings.HasPrefix(a.Note, outside.note) {
				t.Errorf("%+v", a)
			}
			s.opens(t, a.Note)
		}
		if diff := cmp.Diff([]string{audit.KindCheckpoint, audit.KindHeadFile, audit.KindTimestamp, audit.KindWitness},
			kinds); diff != "" {
			t.Error(diff)
		}
		if at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC); !made[2].MadeAt.Equal(at) ||
			!bytes.Equal(made[2].Evidence, token([]byte(outside.note))) {
			t.Errorf("the token is of %s", made[2].MadeAt)
		}
		s.entries(t, 2)
	}
	if diff := cmp.Diff([]int64{0, 4, 7, 0}, w.asked); diff != "" {
		t.Error(diff)
	}
	n, err := s.store.CountAnchors(t.Context())
	if diff := cmp.Diff(map[string]int64{"checkpoint": 3, "head_file": 3, "rfc3161": 3, "witness": 3}, n); err != nil ||
		diff != "" {
		t.Error(diff, err)
	}
	page, _, err := s.store.Page(t.Context(), audit.Filter{Limit: 3})
	if err != nil {
		t.Fatal(err)
	}
	line, err := record.Line(&page[2])
	if err != nil || line.Action != audit.AuditAnchor ||
		!strings.Contains(string(line.Details), `"source":"tsa.example.org"`) {
		t.Errorf("%+v %v", line, err)
	}
}

func TestOutsidersThatDiffer(t *testing.T) {
	t.Parallel()
	s := fresh(t, pemOf(t))
	h := s.entries(t, 3)
	wrong := func(text string) *witness { return &witness{line: func() string { return text }} }
	_, own, _ := strings.Cut(h.Note, "\n\n")
	for name, by := range map[string]audit.AnchorRequest{
		"silent":     {TimeStamper: authority{}},
		"other data": {TimeStamper: authority{func([]byte) []byte { return token([]byte("x")) }}},
		"no token":   {TimeStamper: authority{func([]byte) []byte { return []byte("<html>") }}},
		"no line":    {Witness: wrong("")},
		"own line":   {Witness: wrong(own)},
		"cut line":   {Witness: wrong(strings.TrimSuffix(cosignature(), "\n"))},
		"short line": {Witness: wrong("— witness.example.org AAAABwAAAAA=\n")},
		"two":        {Witness: wrong(cosignature() + cosignature())},
	} {
		made, err := s.admin.Anchor(t.Context(), by)
		if !audit.AnchorFailed.Is(err) || len(made) != 1 || made[0].Kind != audit.KindCheckpoint {
			t.Errorf("%s: %d anchors: %v", name, len(made), err)
		}
	}
	ahead := &witness{size: 500, line: cosignature}
	if _, err := s.admin.Anchor(t.Context(), audit.AnchorRequest{Witness: ahead}); !audit.Unsatisfied.Is(err) {
		t.Errorf("a witness that has seen more: %v", err)
	}
	if _, err := serve(s.d, nil, &file{}).admin.Anchor(t.Context(), audit.AnchorRequest{}); !audit.NoSigningKey.Is(err) {
		t.Errorf("without a key: %v", err)
	}
}
