package proof

import (
	"cmp"
	"slices"

	"github.com/writ-automation/writ/ports/proof/checkpoint"
	"github.com/writ-automation/writ/ports/proof/keys"
)

// LogTrust compares a log that the caller reads, such as a stored chain, with a reader's trusted keys and heads. It
// writes to the caller's report and verdict.
type LogTrust struct {
	basis  basis
	heads  []mark
	memory memory
	report *Report
	into   *Verdict
}

// Nothing reports whether nothing is trusted in advance.
func (t Trust) Nothing() bool {
	return len(t.VKeys) == 0 && t.Seal == nil && t.Known == nil && t.From == nil && len(t.TSARoots) == 0 &&
		len(t.Witnesses) == 0
}

// Log begins the comparison with the log of an origin, given its listed keys and stored signed heads: the newest of
// the heads, including that of the seal, is the checkpoint. The steps trust and checkpoint are reported at once. An
// error means that the trusted data cannot be read.
func (t Trust) Log(r *Report, v *Verdict, origin string, listed []keys.Key, kept ...string) (*LogTrust, error) {
	basis, err := basisOf(t)
	if err != nil {
		return nil, err
	}
	l := &LogTrust{basis: basis, report: r, into: v}
	if ring, err := basis.trusted(listed, origin); err != nil {
		r.Refuse(StepTrust, err)
	} else {
		l.basis.heldTo(r, origin)
		l.open(ring, origin, kept)
	}
	v.Pinned = l.basis.knows(origin) && r.Passed(StepCheckpoint)
	if t.From != nil {
		l.heads = append(l.heads, mark{size: t.From.Size, root: t.From.Root, kind: "from"})
	}
	l.memory.heads = l.basis.heads(origin)
	for _, k := range l.memory.heads {
		l.heads = append(l.heads, mark{size: k.Size, root: k.Root, kind: k.kind})
	}
	slices.SortStableFunc(l.heads, func(a, b mark) int { return cmp.Compare(a.size, b.size) })
	r.Waive(StepFrom, t.From == nil)
	r.Waive(StepKnown, len(l.memory.heads) == 0)
	return l, nil
}

// open verifies the newest head.
func (l *LogTrust) open(ring keys.Ring, origin string, kept []string) {
	if l.basis.seal != nil {
		kept = append(slices.Clone(kept), l.basis.seal.note)
	}
	note, body := "", checkpoint.Body{Size: -1}
	for _, text := range kept {
		if got, err := headOf(text); err == nil && got.Origin == origin && got.Size > body.Size {
			note, body = text, got
		}
	}
	if note == "" {
		l.report.Warn(StepCheckpoint, "no signed head of %s is stored yet, so it is unknown who signs the log", origin)
		return
	}
	signed, err := checkpoint.Open([]byte(note), ring, needed(ring, origin, body.Size)...)
	if err != nil {
		l.report.Refuse(StepCheckpoint, err)
		return
	}
	v := l.into
	v.Origin, v.Note, v.Size, v.Root = origin, note, signed.Size, signed.Root
	v.SignedBy = append(v.SignedBy, signed.By[0].ID)
	l.report.Pass(StepCheckpoint, checkpointSigned, signed.Size, signed.By[0].ID)
}

// Outsiders returns the trusted outsiders.
func (l *LogTrust) Outsiders() Outsiders { return l.basis.outsiders }

// Due reports whether a head of at most this size is not compared yet.
func (l *LogTrust) Due(size int64) bool {
	return l != nil && len(l.heads) > 0 && l.heads[0].size <= size
}

// Compare compares the heads of at most this size with the root of the log's tree at this size.
func (l *LogTrust) Compare(size int64, root [32]byte) {
	for ; len(l.heads) > 0 && l.heads[0].size <= size; l.heads = l.heads[1:] {
		m := l.heads[0]
		switch {
		case m.size == size && m.root == root && m.kind == "from":
			l.report.Pass(StepFrom, extendsGiven, m.size)
		case m.size == size && m.root == root:
			l.memory.meets(m.kind)
		case m.remembered():
			l.memory.contradict(l.report, l.into, m.kind, l.into.Note)
		default:
			l.report.Unsatisfied(l.into, StepFrom, AnchorProblem{ID: m.kind, Kind: m.kind, Size: m.size, Problem: RootMismatch})
		}
	}
}

// Conclude reports on the heads beyond the end of the log.
func (l *LogTrust) Conclude() {
	for _, m := range l.heads {
		step := StepFrom
		if m.remembered() {
			step = StepKnown
		}
		l.report.Unsatisfied(l.into, step, AnchorProblem{ID: m.kind, Kind: m.kind, Size: m.size, Problem: TailMissing})
	}
	l.heads = nil
	for _, h := range l.memory.heads {
		if slices.Contains(l.memory.met, h.kind) {
			l.report.PassUnlessWarned(StepKnown, extendsKnown, h.Size, how(h.kind))
		}
	}
}
