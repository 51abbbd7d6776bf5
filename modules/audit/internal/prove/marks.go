package prove

import (
	"context"
	"fmt"
	"slices"

	"github.com/writ-automation/writ/modules/audit/internal/install"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof"
	"github.com/writ-automation/writ/ports/proof/checkpoint"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/proof/tree"
)

// mark is a head that the chain has to pass through, without its note.
type mark struct {
	id, kind  string
	size      int64
	root      tree.Hash
	bad       bool   // its signature, or what is said of it, does not hold
	unchecked bool   // the word of somebody outside of whom nothing is known
	time      string // when somebody outside saw it, in the form of a leaf; empty where nobody said
}

// maxSigned is of how many heads that this install signed and kept the signatures are verified, of those that workers hold too: the
// newest ones. Those before are held to the chain by their roots alone.
const maxSigned = 10_000

// seen knows the keys by which heads are signed.
type seen struct {
	id        install.Identity
	ring      keys.Ring
	filed     string           // the note of the head file
	vouched   bool             // its head was given up
	skip      map[string]int64 // by kind, of how many heads, the oldest, signatures are not looked at
	gone      func(ctx context.Context, a *audit.Anchor) (bool, error)
	givenUp   int64
	outsiders proof.Outsiders
}

func (p *Prover) newSeen(ctx context.Context) (*seen, error) {
	id, err := p.p.Install.Identity(ctx)
	if err != nil {
		return nil, err
	}
	s := &seen{id: id, skip: make(map[string]int64), gone: p.p.Install.GivenUp(id), outsiders: p.p.Settings.Outsiders}
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
	// A ring holds so many keys; with more epochs than that it is the newest that count.
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

// marks returns the source of the heads, ascending by size. Signatures are verified where they are read.
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
			if s.forsaken(a.Epoch, a.Size) {
				gone, err := s.gone(ctx, a)
				if err != nil {
					return fmt.Errorf("the anchor %s: %w", a.ID, err)
				}
				if gone {
					s.givenUp++
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

// forsaken reports whether a head lies beyond what remained of its epoch.
func (s *seen) forsaken(epoch, size int64) bool {
	for _, e := range s.id.Epochs {
		if e.N == epoch {
			return e.Closed && size > e.LastSize
		}
	}
	return false
}

func (s *seen) origin(epoch int64) string {
	for _, e := range s.id.Epochs {
		if e.N == epoch {
			return e.Origin
		}
	}
	return ""
}

// mark reads an anchor. The note has to say what is stored beside it.
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
		m.told(s.outsiders.Token(a.Evidence, a.Note))
	case audit.KindWitness:
		m.bad = m.bad || !cosigned(note)
		m.told(s.outsiders.Cosigned(note))
	}
	return m
}

// told notes what somebody outside says of the head.
func (m *mark) told(by proof.Sighting, err error) {
	m.bad = m.bad || err != nil
	m.unchecked = !by.Checked
	if !m.bad && by.Checked {
		m.time = leaf.At(by.At)
	}
}

// cosigned reports whether a note has a line that is not of its own log, by whomever.
func cosigned(n checkpoint.Note) bool {
	return slices.ContainsFunc(n.Lines, func(l checkpoint.Line) bool { return l.Name != n.Origin && len(l.Sig) >= 8+64 })
}

// forsakenFile asks whether the head file's head was given up. That an epoch was closed stands in the database, which whoever
// edits the chain can edit too: so it takes a word that is signed.
func (p *Prover) forsakenFile(ctx context.Context, s *seen) error {
	note, err := checkpoint.Parse([]byte(s.filed))
	if s.filed == "" || err != nil {
		return nil // what is wrong with it is told where it is read
	}
	epoch, err := keys.EpochOf(note.Origin)
	if err != nil || !s.forsaken(epoch, note.Size) {
		return nil
	}
	if s.vouched, err = p.p.Install.Vouched(ctx); err != nil {
		return fmt.Errorf("the head file: %w", err)
	}
	return nil
}

// fromFile reads the head file, whose note the database does not have.
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
		s.givenUp++
		return nil, nil
	}
	m := s.mark(&audit.Anchor{ID: audit.KindHeadFile, Kind: audit.KindHeadFile, Epoch: epoch, Size: note.Size, Root: note.Root, Note: s.filed}, true)
	return &m, nil
}
