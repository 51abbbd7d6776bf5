package install

import (
	"context"
	"fmt"
	"strings"

	"github.com/writ-automation/writ/modules/audit/internal/checkpoint"
	"github.com/writ-automation/writ/modules/audit/internal/keys"
	"github.com/writ-automation/writ/modules/audit/internal/tree"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
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

// looked is how many of the newest anchors are held against the chain.
const looked = 32

// hold asks that the chain satisfies what was seen.
func (i *Install) hold(ctx context.Context) error {
	tip, err := i.p.Chain.Tip(ctx)
	if err != nil {
		return fmt.Errorf("read the end of the audit trail: %w", err)
	}
	seen, err := i.Seen(ctx, tip.Size)
	if err != nil {
		return err
	}
	for _, s := range seen {
		if !s.Met {
			return rolledBack(s, tip.Size)
		}
	}
	return nil
}

func rolledBack(s Seen, size int64) error {
	what := fmt.Sprintf("the audit trail has %d entries, and %s a head of %d entries that it does not continue", size, s.Source, s.Size)
	return audit.RolledBack.New("%s: the database was restored from a copy or changed. If that was meant, run: "+
		"writ audit accept-rollback --reason '...'", what).With("seen_size", s.Size).With("size", size)
}

// Seen returns heads that were seen before and whether a chain of that size satisfies each: the head file's, and those of the
// store from the largest downwards to the first one that is satisfied, which vouches for those before it. Heads that were
// given up when an epoch was closed are left out.
func (i *Install) Seen(ctx context.Context, size int64) ([]Seen, error) {
	id, err := i.Identity(ctx)
	if err != nil {
		return nil, err
	}
	var out []Seen
	filed, err := i.filed(ctx, id)
	if err != nil {
		return nil, err
	}
	if filed != nil {
		given := givenUp(id.Epochs, filed.Seen)
		if given {
			if given, err = i.vouched(ctx, id, filed); err != nil {
				return nil, err
			}
		} else if filed.Met, err = i.meets(ctx, filed.Seen, size); err != nil {
			return nil, err
		}
		if !given {
			out = append(out, filed.Seen)
		}
	}
	kept, err := i.kept(ctx, id, "", looked, size)
	if err != nil {
		return nil, err
	}
	out = append(out, kept...)
	// What this install keeps of its own heads says nothing against who has its key: the newest of each kind that somebody outside
	// vouches for is asked as well.
	for _, kind := range []string{
		audit.KindTimestamp, audit.KindWitness, audit.KindHeadFile, audit.KindWorker, audit.KindReceipt, audit.KindPublish,
	} {
		if kept, err = i.kept(ctx, id, kind, 1, size); err != nil {
			return nil, err
		}
		out = append(out, kept...)
	}
	return out, nil
}

// kept returns the newest anchors of a kind, from the largest downwards to the first one that is satisfied.
func (i *Install) kept(ctx context.Context, id Identity, kind string, limit int, size int64) (out []Seen, err error) {
	anchors, err := i.p.Anchors.NewestAnchors(ctx, kind, limit)
	if err != nil {
		return nil, fmt.Errorf("read anchors: %w", err)
	}
	for _, a := range anchors {
		s := Seen{Source: "the anchor " + a.ID + " is", Epoch: a.Epoch, Size: a.Size, Root: a.Root}
		if givenUp(id.Epochs, s) {
			continue
		}
		if s.Met, err = i.meets(ctx, s, size); err != nil {
			return nil, err
		}
		if out = append(out, s); s.Met {
			break
		}
	}
	return out, nil
}

// Vouched reports whether the head of the head file may be given up: it is of an epoch that was closed, and something that cannot
// be written with the database alone says so. It is false where there is no head file.
func (i *Install) Vouched(ctx context.Context) (bool, error) {
	id, err := i.Identity(ctx)
	if err != nil {
		return false, err
	}
	filed, err := i.filed(ctx, id)
	if err != nil || filed == nil || !givenUp(id.Epochs, filed.Seen) {
		return false, err
	}
	return i.vouched(ctx, id, filed)
}

// givenUp reports whether the head lies beyond what remained of its epoch.
func givenUp(epochs []audit.Epoch, s Seen) bool {
	for _, e := range epochs {
		if e.N == s.Epoch {
			return e.Closed && s.Size > e.LastSize
		}
	}
	return false
}

func (i *Install) meets(ctx context.Context, s Seen, size int64) (bool, error) {
	if s.Size > size {
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

// filedHead is the head of the head file with the keys that signed it.
type filedHead struct {
	Seen
	by []keys.Key
}

// filed returns the head of the head file, nil where there is none.
func (i *Install) filed(ctx context.Context, id Identity) (*filedHead, error) {
	if i.p.Config.HeadFile == nil {
		return nil, nil
	}
	note, err := i.p.Config.HeadFile.Load()
	if err != nil {
		return nil, fault.Wrap(fault.Conflict, err, "the head file cannot be read; "+aside)
	}
	if note == "" {
		return nil, nil
	}
	signed, forgotten, err := i.open(ctx, note, id)
	if err != nil {
		return nil, fault.Wrap(fault.Conflict, err, "the head file is not one of this install: %s; "+aside, plain(err))
	}
	epoch, err := keys.EpochOf(signed.Origin)
	if err != nil {
		return nil, err
	}
	return &filedHead{
		Seen: Seen{Source: "the head file holds", Epoch: epoch, Size: signed.Size, Root: signed.Root, Forgotten: forgotten}, by: signed.By,
	}, nil
}

// vouched reports whether the store keeps a head of a later epoch that this server's own key signed, or one that signed the head
// file: that an epoch was given up can be written by anybody who writes the database, and this not.
func (i *Install) vouched(ctx context.Context, id Identity, filed *filedHead) (bool, error) {
	trusted := filed.by
	if own, _ := i.pair(); own != nil {
		mine, err := under(own.public()[:1], id.Epoch.Origin)
		if err != nil {
			return false, err
		}
		trusted = append(mine, trusted...)
	}
	found := false
	err := i.p.Anchors.Anchors(ctx, func(a *audit.Anchor) error {
		if found || a.Kind != audit.KindCheckpoint || a.Epoch <= filed.Epoch {
			return nil
		}
		parsed, err := checkpoint.Parse([]byte(a.Note))
		if err != nil || base(parsed.Origin) != base(id.Epoch.Origin) {
			return nil
		}
		epoch, err := keys.EpochOf(parsed.Origin)
		found = err == nil && epoch > filed.Epoch && signedBy(a.Note, parsed.Origin, trusted)
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("read anchors: %w", err)
	}
	return found, nil
}

// signedBy reports whether one of these keys signed a note, whatever the store says of them.
func signedBy(note, origin string, trusted []keys.Key) bool {
	for _, k := range trusted {
		public, err := k.Public()
		if err != nil {
			continue
		}
		bare, err := keys.NewKey(public, keys.Checkpoint, origin)
		if err != nil {
			continue
		}
		bare.Status = keys.Active
		ring, err := keys.NewRing(bare)
		if err != nil {
			continue
		}
		if _, err := checkpoint.Open([]byte(note), ring); err == nil {
			return true
		}
	}
	return false
}

// open verifies a note of this install by its keys, under the origin of the epoch that the note is of. This server's own key
// counts too: the store may have forgotten it when it was restored.
func (i *Install) open(ctx context.Context, note string, id Identity) (signed checkpoint.Signed, forgotten bool, err error) {
	parsed, err := checkpoint.Parse([]byte(note))
	if err != nil {
		return signed, false, err
	}
	// A restored store does not know of later epochs either, so that the origin is compared but for its number.
	if base(parsed.Origin) != base(id.Epoch.Origin) {
		return signed, false, keys.KeyUntrusted.New("it is of %s, and this is %s", parsed.Origin, id.Epoch.Origin)
	}
	stored, err := i.p.Identity.Keys(ctx)
	if err != nil {
		return signed, false, err
	}
	own, _ := i.pair()
	if own != nil && !knows(stored, own.checkpointID) {
		forgotten = true
		mine := own.public()[0]
		mine.Status = string(keys.Active)
		stored = append(stored, mine)
	}
	listed, err := under(stored, parsed.Origin)
	if err != nil {
		return signed, false, err
	}
	ring, err := keys.NewRing(listed...)
	if err != nil {
		return signed, false, err
	}
	if signed, err = checkpoint.Open([]byte(note), ring); err != nil {
		return signed, false, err
	}
	return signed, forgotten && signed.SignedBy(own.checkpointID), nil
}

// base returns an origin without its epoch.
func base(origin string) string { return origin[:strings.LastIndexByte(origin, '/')+1] }

func knows(stored []audit.PublicKey, id string) bool {
	for _, k := range stored {
		if k.KID == id {
			return true
		}
	}
	return false
}

// plain returns what a refusal says without its code.
func plain(err error) string {
	if code := keys.CodeOf(err); code != "" {
		return strings.TrimPrefix(err.Error(), string(code)+": ")
	}
	return err.Error()
}
