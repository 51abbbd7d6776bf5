package install

import (
	"context"
	"fmt"
	"strings"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/tree"
)

// Seen is a head that was seen before. The chain has to satisfy it.
type Seen struct {
	Source string // where it is stored, in words
	Epoch  int64
	Size   int64
	Root   tree.Hash
	Met    bool
	// Forgotten reports whether this server's own key signed the head and the store lacks that key.
	Forgotten bool
}

const (
	// looked bounds how many of the newest anchors are compared with the chain.
	looked = 32
	// contested bounds how many heads of workers that were unsatisfied before are compared with it.
	contested = 256
)

// checkSeen checks that the chain satisfies the seen heads.
func (i *Install) checkSeen(ctx context.Context) error {
	seen, size, err := i.SeenHeads(ctx)
	if err != nil {
		return err
	}
	for _, s := range seen {
		if !s.Met {
			return audit.RolledBack.New("%s: the database was restored from a copy or changed. If that was meant, run: "+
				"writ audit accept-rollback --reason '...'", s.Problem(size)).With("seen_size", s.Size).With("size", size)
		}
	}
	return nil
}

// SeenHeads returns the heads of the current chain and the number of its entries.
func (i *Install) SeenHeads(ctx context.Context) (seen []Seen, size int64, err error) {
	tip, err := i.p.Chain.Tip(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("read the end of the audit trail: %w", err)
	}
	seen, err = i.Seen(ctx, tip.Size)
	return seen, tip.Size, err
}

// Problem describes why a chain of that size does not satisfy the head.
func (s *Seen) Problem(size int64) string {
	return fmt.Sprintf("the audit trail has %d entries, and %s a head of %d entries that it does not continue", size,
		s.Source, s.Size)
}

// Seen returns heads that were seen before and whether a chain of that size satisfies each: the one in the head file;
// those in the store from the largest downwards to the first satisfied one, which covers the smaller ones, over all
// kinds and for each kind of an outsider; and those of workers that were unsatisfied before. Abandoned heads are left
// out.
func (i *Install) Seen(ctx context.Context, size int64) ([]Seen, error) {
	// The head file is read first, so that keys and epochs are at least as new.
	note, err := i.filed()
	if err != nil {
		return nil, err
	}
	id, err := i.Identity(ctx)
	if err != nil {
		return nil, err
	}
	var out []Seen
	given := i.abandoned(id)
	if note != "" {
		h, err := i.validate(ctx, given, note, size)
		if err != nil {
			return nil, ofFile(err)
		}
		if !h.Abandoned {
			h.Source = "the head file holds"
			out = append(out, h.Seen)
		}
	}
	// Somebody with the install's key can forge its own heads, so each outside kind is read separately.
	for _, kind := range []string{
		"", audit.KindTimestamp, audit.KindWitness, audit.KindHeadFile, audit.KindWorker, audit.KindReceipt,
		audit.KindPublish,
	} {
		kept, err := i.kept(ctx, given, audit.AnchorFilter{Kind: kind, Limit: looked}, size)
		if err != nil {
			return nil, err
		}
		out = append(out, kept...)
	}
	// A worker may show a head after the chain was rewritten and has larger satisfied heads.
	kept, err := i.kept(ctx, given, audit.AnchorFilter{Kind: audit.KindWorker, Evidence: true, Limit: contested}, size)
	return append(out, kept...), err
}

// kept returns the newest anchors of a filter, from the largest downwards to the first satisfied one. Anchors with
// evidence do not cover each other.
func (i *Install) kept(
	ctx context.Context, given *abandoned, f audit.AnchorFilter, size int64,
) (out []Seen, err error) {
	anchors, err := i.p.Anchors.FindAnchors(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("read anchors: %w", err)
	}
	for n := range anchors {
		a := &anchors[n]
		if up, err := given.up(ctx, a); err != nil || up {
			if err != nil {
				return nil, err
			}
			continue
		}
		s := Seen{Source: "the anchor " + a.ID + " is", Epoch: a.Epoch, Size: a.Size, Root: a.Root}
		if a.Kind == audit.KindWorker {
			s.Source = "the worker " + a.Source + " holds"
			if h, err := i.read(given.id, a.Note); err == nil {
				s.Forgotten = h.Forgotten
			}
		}
		if s.Met, err = i.meets(ctx, given.id, s, size); err != nil {
			return nil, err
		}
		if out = append(out, s); s.Met && !f.Evidence {
			break
		}
	}
	if len(out) == 0 && len(anchors) == f.Limit && f.Epoch == 0 {
		// Abandoned heads may be larger than the whole present chain.
		f.Epoch = given.id.Epoch.N
		return i.kept(ctx, given, f, size)
	}
	return out, nil
}

// Satisfied returns the size of the largest stored head, up to a number of entries, that the chain satisfies; 0 if
// none of the largest ones is satisfied.
func (i *Install) Satisfied(ctx context.Context, upTo int64) (int64, error) {
	if upTo <= 0 {
		return 0, nil
	}
	id, err := i.Identity(ctx)
	if err != nil {
		return 0, err
	}
	kept, err := i.kept(ctx, i.abandoned(id), audit.AnchorFilter{UpTo: upTo, Limit: looked}, upTo)
	if n := len(kept); err == nil && n > 0 && kept[n-1].Met {
		return kept[n-1].Size, nil
	}
	return 0, err
}

func (i *Install) meets(ctx context.Context, id Identity, s Seen, size int64) (bool, error) {
	if s.Size > size {
		// The chain may have grown since its size was read, and the head may have the larger size.
		tip, err := i.p.Chain.Tip(ctx)
		if err != nil {
			return false, fmt.Errorf("read the end of the audit trail: %w", err)
		}
		size = tip.Size
	}
	// The chain cannot satisfy heads that the store knows nothing of: a restored copy lacks epochs too.
	if s.Size > size || s.Epoch > id.Epoch.N {
		return false, nil
	}
	root, err := i.p.Tree.Root(ctx, s.Size)
	if err != nil {
		return false, fmt.Errorf("the root of %d entries: %w", s.Size, err)
	}
	return root == s.Root, nil
}

// aside is the advice for a head file that has no head of this chain.
const aside = "if it is damaged, or the database was meant to be another one, move it away and start again: " +
	"the server then no longer checks by this file whether the database was restored or changed"

// filed returns the contents of the head file, empty without one.
func (i *Install) filed() (string, error) {
	if i.p.Config.HeadFile == nil {
		return "", nil
	}
	note, err := i.p.Config.HeadFile.Load()
	if err != nil {
		return "", fault.Wrap(fault.Conflict, err, "the head file cannot be read; "+aside)
	}
	return note, nil
}

// ofFile turns the error of a note into one of the head file.
func ofFile(err error) error {
	if !Foreign(err) {
		return err
	}
	return fault.Wrap(fault.Conflict, err, "the head file is not one of this install: %s; "+aside, plain(err))
}

// plain returns the text of a refusal without its code.
func plain(err error) string { return strings.TrimPrefix(err.Error(), string(keys.CodeOf(err))+": ") }
