package proof

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/proof/checkpoint"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/tree"
)

// The kinds of heads that a reader knew before: the newest one in its pins, and that of a seal which it stored. A file
// without a proof from such a head may be older or cover another window, so it gets a remark.
const (
	pinKind  = "pin"
	sealKind = "seal"
)

// known is a head that a reader knew before.
type known struct {
	Head
	kind string
	note string // empty if it was not stored
}

// heads returns the known heads of the log.
func (b *basis) heads(origin string) (out []known) {
	if p := newest(b.pins, origin); p != nil {
		out = append(out, known{Head{Size: p.Size, Root: p.Root}, pinKind, b.noteOf(p)})
	}
	if b.seal != nil && b.seal.head.Origin == origin {
		out = append(out, known{Head{Size: b.seal.head.Size, Root: b.seal.head.Root}, sealKind, b.seal.note})
	}
	return out
}

func newest(pins []keys.Pin, origin string) (out *keys.Pin) {
	for i, p := range pins {
		if p.Origin == origin && (out == nil || p.Size > out.Size) {
			out = &pins[i]
		}
	}
	return out
}

// noteOf returns the note of a pin's head, or its known parts if the note was not stored.
func (b *basis) noteOf(p *keys.Pin) string {
	want := checkpoint.Body{Origin: p.Origin, Size: p.Size, Root: p.Root}
	for _, text := range b.notes {
		if got, err := headOf(text); err == nil && got == want {
			return text
		}
	}
	text, err := want.Text()
	if err != nil {
		return ""
	}
	return text
}

// parsePins reads a file of known logs. It refuses two contradictory pins of one log.
func parsePins(text []byte) ([]keys.Pin, error) {
	pins, err := keys.ParseKnown(text)
	if err != nil {
		return nil, err
	}
	for i, p := range pins {
		for _, o := range pins[:i] {
			a, b := checkpoint.Body{Origin: p.Origin, Size: p.Size, Root: p.Root},
				checkpoint.Body{Origin: o.Origin, Size: o.Size, Root: o.Root}
			if a.Contradicts(b) {
				return nil, keys.FormatInvalid.New("two pins have different heads of %d entries of %s", p.Size, p.Origin)
			}
		}
	}
	return pins, nil
}

// noteMark begins the comment with the note of a head next to its pins: with the note both sides of a fork can be
// shown.
const noteMark = "#note "

func notesOf(text []byte) (out []string) {
	for line := range strings.Lines(string(text)) {
		if note := noteIn(line); note != "" {
			out = append(out, note)
		}
	}
	return out
}

// noteIn returns the note in a line, empty for any other line.
func noteIn(line string) string {
	rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), noteMark)
	if !ok {
		return ""
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(rest)
	if _, bad := checkpoint.Parse(raw); err != nil || bad != nil {
		return ""
	}
	return string(raw)
}

// sameLog reports whether two origins are epochs of one install.
func sameLog(a, b string) bool {
	_, errA := keys.EpochOf(a)
	_, errB := keys.EpochOf(b)
	return errA == nil && errB == nil && a[:strings.LastIndexByte(a, '/')] == b[:strings.LastIndexByte(b, '/')]
}

// memory holds the results for the heads that were known in advance.
type memory struct {
	heads []known
	met   []string // their kinds
	stale []string // those that are newer than the file
}

func (m *memory) meets(kind string) { m.met = append(m.met, kind) }

// conclude reports on the heads that were known in advance. A pin without a proof gets a remark; for a seal the proof
// of its head is optional.
func (m *memory) conclude(r *Report, v *Verdict) {
	for _, h := range m.heads {
		switch {
		case slices.Contains(m.met, h.kind):
			r.PassUnlessWarned(StepKnown, extendsKnown, h.Size, how(h.kind))
		case h.kind == sealKind:
			if !r.Failed(StepKnown) {
				v.NotChecked = append(v.NotChecked,
					"whether the log is consistent with the head in the seal: the file has no proof of it")
			}
		case slices.Contains(m.stale, h.kind):
			r.Warn(StepKnown, "stale: a head of %d entries was recorded earlier, and the checkpoint has %d", h.Size, v.Size)
		default:
			r.Warn(StepKnown, "the file has no valid consistency proof from the head of %d entries recorded earlier", h.Size)
		}
	}
}

func how(kind string) string {
	if kind == sealKind {
		return "in the seal"
	}
	return "recorded earlier"
}

// contradict records a known head that contradicts the file, and keeps both notes: together they prove that the owner
// of the key signed two histories.
func (m *memory) contradict(r *Report, v *Verdict, kind, visible string) {
	for _, h := range m.heads {
		if h.kind != kind {
			continue
		}
		r.Unsatisfied(v, StepKnown, AnchorProblem{ID: kind, Kind: kind, Size: h.Size, Problem: RootMismatch})
		r.Add(StepKnown, ", the head %s has the root %s", how(kind), base64.StdEncoding.EncodeToString(h.Root[:]))
		if len(v.Conflict) == 0 && h.note != "" && r.Passed(StepCheckpoint) {
			v.Conflict = []string{h.note, visible}
		}
	}
}

// extends compares the head of a receipt with those that were known before.
func (m *memory) extends(c *receiptCheck) {
	for _, h := range m.heads {
		var proof []tree.Hash
		switch {
		case h.Size > c.signed.Size:
			m.stale = append(m.stale, h.kind)
			continue
		case h.Size == c.signed.Size || h.Size == 0:
		case c.Consistency == nil || c.Consistency.From != h.Size || c.report.Failed(StepConsistency):
			continue
		default:
			proof = c.Consistency.Proof
		}
		if c.grown(h.Size, h.Root, proof) != nil {
			m.contradict(&c.report, &c.verdict, h.kind, c.Checkpoint)
			continue
		}
		m.meets(h.kind)
	}
}
