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

// Seen is a head that was seen before and that the chain has to satisfy.
type Seen struct {
	Source string // where it is kept, in words
	Epoch  int64
	Size   int64
	Root   tree.Hash
	Met    bool
	// Forgotten says that this server's own key signed it, and that the store knows nothing of that key.
	Forgotten bool
}

const (
	// looked is how many of the newest anchors are held against the chain.
	looked = 32
	// contested is how many heads of workers that were not satisfied once are held against it.
	contested = 256
)

// checkSeen asks that the chain satisfies what was seen.
func (i *Install) checkSeen(ctx context.Context) error {
	seen, size, err := i.SeenHeads(ctx)
	if err != nil {
		return err
	}
	for _, s := range seen {
		if !s.Met {
			return rolledBack(s, size)
		}
	}
	return nil
}

// SeenHeads returns the heads of the current chain, and how many entries that has.
func (i *Install) SeenHeads(ctx context.Context) (seen []Seen, size int64, err error) {
	tip, err := i.p.Chain.Tip(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("read the end of the audit trail: %w", err)
	}
	seen, err = i.Seen(ctx, tip.Size)
	return seen, tip.Size, err
}

func rolledBack(s Seen, size int64) error {
	what := fmt.Sprintf("the audit trail has %d entries, and %s a head of %d entries that it does not continue", size, s.Source, s.Size)
	return audit.RolledBack.New("%s: the database was restored from a copy or changed. If that was meant, run: "+
		"writ audit accept-rollback --reason '...'", what).With("seen_size", s.Size).With("size", size)
}

// Seen returns heads that were seen before and whether a chain of that size satisfies each: the head file's; those of
// the store from the largest downwards to the first one that is satisfied, which vouches for those before it, of all
// and of each kind that somebody outside vouches for; and those of workers that were not satisfied once. Heads that
// were given up when an epoch was closed are left out.
func (i *Install) Seen(ctx context.Context, size int64) ([]Seen, error) {
	// The head file comes first, so that keys and epochs are at least as new.
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
	// What this install keeps of its own heads says nothing against who has its key: so each kind is asked.
	for _, kind := range []string{
		"", audit.KindTimestamp, audit.KindWitness, audit.KindHeadFile, audit.KindWorker, audit.KindReceipt, audit.KindPublish,
	} {
		kept, err := i.kept(ctx, given, audit.AnchorFilter{Kind: kind, Limit: looked}, size)
		if err != nil {
			return nil, err
		}
		out = append(out, kept...)
	}
	// A worker may show a head long after the chain has become another one, which has larger heads that are satisfied.
	kept, err := i.kept(ctx, given, audit.AnchorFilter{Kind: audit.KindWorker, Evidence: true, Limit: contested}, size)
	return append(out, kept...), err
}

// kept returns the newest anchors of a filter, from the largest downwards to the first one that is satisfied. Of
// those with evidence none vouches for another one.
func (i *Install) kept(ctx context.Context, given *abandoned, f audit.AnchorFilter, size int64) (out []Seen, err error) {
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
		// Those that were given up may be larger than all that the chain has become.
		f.Epoch = given.id.Epoch.N
		return i.kept(ctx, given, f, size)
	}
	return out, nil
}

// Satisfied returns the size of the largest head that the store keeps, of at most so many entries, that the chain
// satisfies; 0 where none of the largest is.
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
		// The chain may have grown since its size was read, and the head be of that.
		tip, err := i.p.Chain.Tip(ctx)
		if err != nil {
			return false, fmt.Errorf("read the end of the audit trail: %w", err)
		}
		size = tip.Size
	}
	// What the store knows nothing of it cannot satisfy: a copy that was restored forgets epochs too.
	if s.Size > size || s.Epoch > id.Epoch.N {
		return false, nil
	}
	root, err := i.p.Tree.Root(ctx, s.Size)
	if err != nil {
		return false, fmt.Errorf("the root of %d entries: %w", s.Size, err)
	}
	return root == s.Root, nil
}

// aside is what to do with a head file that says nothing of this chain.
const aside = "if it is damaged, or the database was meant to be another one, put it aside and start again: " +
	"what it shows of a database that was restored or changed is not looked at then"

// filed returns what the head file holds, empty where there is none.
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

// ofFile makes the error of a head file out of that of its note.
func ofFile(err error) error {
	if !Foreign(err) {
		return err
	}
	return fault.Wrap(fault.Conflict, err, "the head file is not one of this install: %s; "+aside, plain(err))
}

// plain returns what a refusal says without its code.
func plain(err error) string { return strings.TrimPrefix(err.Error(), string(keys.CodeOf(err))+": ") }
