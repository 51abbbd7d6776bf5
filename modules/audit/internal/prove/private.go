package prove

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof"
	"github.com/writ-automation/writ/ports/proof/disclosure"
	"github.com/writ-automation/writ/ports/proof/leaf"
)

const (
	// maxGone bounds the entries whose missing private values are tracked one by one.
	maxGone = 1 << 20
	// maxErasures bounds the listed erasures.
	maxErasures = 20
)

// private describes the private values of the entries read so far.
type private struct {
	open    int64
	gone    map[int64]int64 // missing values by entry, as long as no entry records their erasure
	further int64           // entries beyond maxGone
	erased  []erasure
	more    int64 // values in erasures beyond maxErasures
}

// erasure is an entry that records the erasure of private values.
type erasure struct{ by, values int64 }

// opened compares the stored private parts of an entry with its leaf: each disclosure and the detail. It returns the
// number of present and of missing private values. Its errors contain no value.
func opened(e *audit.Stored, l *leaf.Leaf) (open, gone int64, err error) {
	here, missing, err := disclosure.Count(l.SD, e.Disclosures)
	if err != nil {
		return 0, 0, err
	}
	open, gone = int64(here), int64(missing)
	switch {
	case e.Detail != "" && !isDigest(l.Det, e.Detail):
		return 0, 0, &disclosure.Error{Code: disclosure.CodeMismatch}
	case e.Detail != "":
		open++
	case l.Det != "":
		gone++
	}
	return open, gone, nil
}

// isDigest reports whether the digest of a leaf is that of the document.
func isDigest(det, document string) bool {
	var space [1 << 10]byte
	sum := sha256.Sum256(append(space[:0], document...))
	const lead = "sha256:"
	text := hex.AppendEncode(append(space[:0], lead...), sum[:])
	return det == string(text)
}

// add counts the private values of an entry, and records those that the entry lists as erased.
func (p *private) add(e *audit.Stored, l *leaf.Leaf, open, gone int64) {
	p.open += open
	switch {
	case gone == 0:
	case len(p.gone) < maxGone:
		if p.gone == nil {
			p.gone = make(map[int64]int64)
		}
		p.gone[l.Seq] = gone
	default:
		p.further++
	}
	if l.Act != string(audit.AuditErase) || l.Out != leaf.Applied {
		return
	}
	var logged struct {
		Seqs []int64 `json:"seqs"`
	}
	if json.Unmarshal([]byte(e.Detail), &logged) != nil {
		return
	}
	done := erasure{by: l.Seq}
	for _, seq := range logged.Seqs {
		done.values += p.gone[seq]
		delete(p.gone, seq)
	}
	switch {
	case done.values == 0:
	case len(p.erased) < maxErasures:
		p.erased = append(p.erased, done)
	default:
		p.more += done.values
	}
}

// conclude reports on the private values: how many are unchanged, which are erased and by which entry, and which are
// withheld because no entry records their erasure.
func (p *private) conclude(r *proof.Report) {
	var b strings.Builder
	fmt.Fprintf(&b, "%d private values match their recorded digests", p.open)
	for i, e := range p.erased {
		sep := ", "
		if i == 0 {
			sep = "; erased: "
		}
		fmt.Fprintf(&b, "%s%d (by entry %d)", sep, e.values, e.by)
	}
	if p.more > 0 {
		fmt.Fprintf(&b, ", %d by further entries", p.more)
	}
	if len(p.gone) == 0 && p.further == 0 {
		r.Pass(proof.StepDisclosures, "%s", b.String())
		return
	}
	var values, first int64
	for seq, n := range p.gone {
		values += n
		if first == 0 || seq < first {
			first = seq
		}
	}
	fmt.Fprintf(&b,
		"; withheld: %d values of %d entries are missing, and no entry records their erasure; the first is entry %d", values,
		len(p.gone), first)
	if p.further > 0 {
		fmt.Fprintf(&b, "; values of %d further entries are missing, erased or withheld", p.further)
	}
	r.Warn(proof.StepDisclosures, "%s", b.String())
}

// maxDecisions bounds the decisions that a visibility remembers.
const maxDecisions = 4096

// visibility decides which entries the reader of one document sees, and remembers decisions. A nil one sees all. It is
// for one goroutine.
type visibility struct {
	audience audit.Audience
	decided  map[subject]bool
}

// subject is what an entry is about.
type subject struct{ object, run string }

// newVisibility returns the visibility for an audience.
func newVisibility(a audit.Audience) *visibility {
	if a == nil {
		return nil
	}
	return &visibility{audience: a, decided: map[subject]bool{}}
}

// sees reports whether the reader sees an entry.
func (s *visibility) sees(ctx context.Context, e *audit.Stored) (bool, error) {
	if s == nil {
		return true, nil
	}
	about := subject{e.Object, e.Run}
	if seen, ok := s.decided[about]; ok {
		return seen, nil
	}
	seen, err := s.audience.Sees(ctx, e.Object, e.Run)
	if err != nil {
		return false, fmt.Errorf("decide who sees entry %d: %w", e.Seq, err)
	}
	if len(s.decided) >= maxDecisions {
		clear(s.decided)
	}
	s.decided[about] = seen
	return seen, nil
}

// errUnseen ends the search for an entry that an audience does not see.
var errUnseen = errors.New("an entry is not visible")

// seesBetween reports whether an audience sees each entry between those of a run.
func (p *Prover) seesBetween(ctx context.Context, own []audit.Stored, a audit.Audience) (bool, error) {
	visibility := newVisibility(a)
	if visibility == nil {
		return true, nil
	}
	mine := make(map[int64]bool, len(own))
	for _, e := range own {
		mine[e.Seq] = true
	}
	err := p.p.Reader.Range(ctx, own[0].Seq, own[len(own)-1].Seq, false, func(e *audit.Stored) error {
		if mine[e.Seq] {
			return nil
		}
		seen, err := visibility.sees(ctx, e)
		if err == nil && !seen {
			err = errUnseen
		}
		return err
	})
	if errors.Is(err, errUnseen) {
		return false, nil
	}
	return err == nil, err
}
