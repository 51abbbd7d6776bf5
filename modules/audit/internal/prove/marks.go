package prove

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/writ-automation/writ/modules/audit/internal/install"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof"
	"github.com/writ-automation/writ/ports/proof/checkpoint"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/proof/tree"
)

// mark is a head that the chain has to contain, without its note.
type mark struct {
	id, kind  string
	size      int64
	root      tree.Hash
	bad       bool      // its signature or its evidence is invalid
	unchecked bool      // it is of a third party whose key is not trusted
	time      time.Time // the verified time of a third party, or zero
}

// maxSigned bounds the newest heads of this install and of its workers whose signatures are verified. For older ones
// only the roots are compared with the chain.
const maxSigned = 10_000

// seen holds the keys that sign heads.
type seen struct {
	id        install.Identity
	ring      keys.Ring
	filed     string           // the note of the head file
	vouched   bool             // its head was abandoned
	skip      map[string]int64 // by kind, how many of the oldest heads are taken without a signature check
	gone      func(ctx context.Context, a *audit.Anchor) (bool, error)
	abandoned int64
	outsiders proof.Outsiders
}

func (p *Prover) newSeen(ctx context.Context) (*seen, error) {
	id, err := p.p.Install.Identity(ctx)
	if err != nil {
		return nil, err
	}
	s := &seen{id: id, skip: make(map[string]int64), gone: p.p.Install.Abandoned(id), outsiders: p.p.Settings.Outsiders}
	var list []keys.Key
	for _, k := range id.Keys {
		if k.Use != keys.Checkpoint {
			continue
		}
		for _, e := range id.Epochs {
			under, err := k.Under(e.Origin)
			if err != nil {
				return nil, fmt.Errorf("the key %s under epoch %d: %w", k.ID, e.N, err)
			}
			list = append(list, under)
		}
	}
	// The size of a ring is bounded; with more epochs than that the newest ones are used.
	slices.Reverse(list)
	if s.ring, err = keys.NewRing(list[:min(len(list), 128)]...); err != nil {
		return nil, fmt.Errorf("the keys of the install: %w", err)
	}
	kinds, err := p.p.Anchors.CountAnchors(ctx)
	if err != nil {
		return nil, fmt.Errorf("count the anchors: %w", err)
	}
	for _, kind := range []string{audit.KindCheckpoint, audit.KindWorker} {
		s.skip[kind] = max(0, kinds[kind]-maxSigned)
	}
	if p.p.HeadFile != nil {
		if s.filed, err = p.p.HeadFile.Load(); err != nil {
			return nil, fmt.Errorf("read the head file: %w", err)
		}
		if err := p.forsakenFile(ctx, s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// marks returns the source of the heads, ascending by size. Signatures are verified during the read.
func (p *Prover) marks(s *seen) func(ctx context.Context, give func(m *mark) error) error {
	return func(ctx context.Context, give func(m *mark) error) error {
		filed, err := s.fromFile()
		if err != nil {
			return err
		}
		n := make(map[string]int64)
		err = p.p.Anchors.Anchors(ctx, func(a *audit.Anchor) error {
			if filed != nil && filed.size < a.Size {
				if err := give(filed); err != nil {
					return err
				}
				filed = nil
			}
			n[a.Kind]++
			if s.id.Closed(a.Epoch, a.Size) {
				gone, err := s.gone(ctx, a)
				if err != nil {
					return fmt.Errorf("the anchor %s: %w", a.ID, err)
				}
				if gone {
					s.abandoned++
					return nil
				}
			}
			m := s.mark(a, n[a.Kind] > s.skip[a.Kind])
			return give(&m)
		})
		if err == nil && filed != nil {
			err = give(filed)
		}
		return err
	}
}

func (s *seen) origin(epoch int64) string {
	for _, e := range s.id.Epochs {
		if e.N == epoch {
			return e.Origin
		}
	}
	return ""
}

// mark reads an anchor. The note has to agree with the stored columns.
func (s *seen) mark(a *audit.Anchor, signed bool) mark {
	m := mark{id: a.ID, kind: a.Kind, size: a.Size, root: a.Root}
	note, err := checkpoint.Parse([]byte(a.Note))
	if err != nil || note.Size != a.Size || note.Root != a.Root || note.Origin != s.origin(a.Epoch) {
		m.bad = true
		return m
	}
	if signed {
		_, err = checkpoint.Open([]byte(a.Note), s.ring)
		m.bad = err != nil
	}
	switch a.Kind {
	case audit.KindTimestamp:
		m.reported(s.outsiders.Token(a.Evidence, a.Note))
	case audit.KindWitness:
		m.bad = m.bad || !cosigned(note)
		m.reported(s.outsiders.Cosigned(note))
	}
	return m
}

// reported adds the statement of a third party to the mark.
func (m *mark) reported(by proof.Sighting, err error) {
	m.bad = m.bad || err != nil
	m.unchecked = !by.Checked
	if !m.bad && by.Checked {
		m.time = by.At
	}
}

// cosigned reports whether a note has a signature line of another signer than its log.
func cosigned(n checkpoint.Note) bool {
	return slices.ContainsFunc(n.Lines, func(l checkpoint.Line) bool { return l.Name != n.Origin && len(l.Sig) >= 8+64 })
}

// forsakenFile finds out whether the head of the head file was abandoned. An attacker who edits the chain can also
// edit the closed epochs in the database, so a signed head of a later epoch has to confirm it.
func (p *Prover) forsakenFile(ctx context.Context, s *seen) error {
	note, err := checkpoint.Parse([]byte(s.filed))
	if s.filed == "" || err != nil {
		return nil // the read of the file reports the error
	}
	epoch, err := keys.EpochOf(note.Origin)
	if err != nil || !s.id.Closed(epoch, note.Size) {
		return nil
	}
	if s.vouched, err = p.p.Install.Vouched(ctx); err != nil {
		return fmt.Errorf("the head file: %w", err)
	}
	return nil
}

// fromFile reads the head file, whose note is not in the database.
func (s *seen) fromFile() (*mark, error) {
	if s.filed == "" {
		return nil, nil
	}
	note, err := checkpoint.Parse([]byte(s.filed))
	if err != nil {
		return nil, fmt.Errorf("the head file: %w", err)
	}
	epoch, err := keys.EpochOf(note.Origin)
	if err != nil {
		return nil, fmt.Errorf("the head file: %w", err)
	}
	if s.vouched {
		s.abandoned++
		return nil, nil
	}
	m := s.mark(&audit.Anchor{ID: audit.KindHeadFile, Kind: audit.KindHeadFile, Epoch: epoch, Size: note.Size,
		Root: note.Root, Note: s.filed}, true)
	return &m, nil
}

// turn is a place where an epoch ends or begins. Heads of a closed epoch are abandoned, so an attacker who could move
// such a place unnoticed could abandon any head.
type turn struct {
	size  int64
	epoch int64
	ends  bool
	root  tree.Hash // root at its end
}

// turns returns the turns of the epochs, ascending. A forgotten epoch begins where the next one does, and has no
// entry.
func turns(epochs []audit.Epoch) (out []turn) {
	for i, e := range epochs {
		if e.Closed {
			out = append(out, turn{size: e.LastSize, epoch: e.N, ends: true, root: e.LastRoot})
		}
		if last := i == len(epochs)-1; e.N > 1 && (last || epochs[i+1].FirstSeq != e.FirstSeq) {
			out = append(out, turn{size: e.FirstSeq, epoch: e.N})
		}
	}
	slices.SortStableFunc(out, func(a, b turn) int { return cmp.Compare(a.size, b.size) })
	return out
}

// turn compares the turns up to this place with the entry there, which is nil at the beginning.
func (w *walk) turn(l *leaf.Leaf) {
	for ; len(w.turns) > 0 && w.turns[0].size <= w.place; w.turns = w.turns[1:] {
		t := w.turns[0]
		switch {
		case t.ends && (t.size != w.place || t.root != w.frontier.Root()):
			w.problem(t.mark(), proof.RootMismatch)
		case !t.ends && (l == nil || l.Seq != t.size || l.Act != string(audit.ServiceEpoch) ||
			l.Obj != fmt.Sprintf("epoch/%d", t.epoch)):
			w.problem(t.mark(), proof.RootMismatch)
		}
	}
}

// unturned reports the turns that the chain does not reach.
func (w *walk) unturned() {
	for _, t := range w.turns {
		w.problem(t.mark(), proof.TailMissing)
	}
}

func (t turn) mark() mark {
	return mark{id: fmt.Sprintf("epoch_%d", t.epoch), kind: "epoch", size: t.size}
}
