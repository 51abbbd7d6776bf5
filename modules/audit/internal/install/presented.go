package install

import (
	"context"
	"fmt"
	"strings"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof/checkpoint"
	"github.com/writ-automation/writ/ports/proof/keys"
)

// Held is a head that is kept outside of the store.
type Held struct {
	Seen
	// Note is the head with the signatures of this install alone.
	Note string
	// Abandoned says that a rollback was accepted which the head is behind. It is then not held against the chain.
	Abandoned bool
	by        []keys.Key // who signed it, with their lives
}

// Foreign reports whether an error says that a note is none of this install: everything else says that nobody knows.
func Foreign(err error) bool { return keys.CodeOf(err) != "" }

// Presented holds notes that somebody shows against the chain, one after the other. Identity and tip are read first,
// and so are newer than every note: a head is signed over committed entries.
type Presented struct {
	in        *Install
	abandoned *abandoned
	// Epochs are those that the notes are held against, Size is how many entries the chain has.
	Epochs []audit.Epoch
	Size   int64
}

// Presented begins to hold notes against the chain. It is called once they are there.
func (i *Install) Presented(ctx context.Context) (*Presented, error) {
	id, err := i.Identity(ctx)
	if err != nil {
		return nil, err
	}
	tip, err := i.p.Chain.Tip(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the end of the audit trail: %w", err)
	}
	return &Presented{in: i, abandoned: i.abandoned(id), Epochs: id.Epochs, Size: tip.Size}, nil
}

// Validate holds a note against the chain. Of a note of another install the error is Foreign. A chain that does not
// recompute satisfies nothing.
func (s *Presented) Validate(ctx context.Context, note string) (Held, error) {
	h, err := s.in.validate(ctx, s.abandoned, note, s.Size)
	if audit.Broken.Is(err) || audit.EntryNotFound.Is(err) {
		return h, nil
	}
	return h, err
}

// Tells reports whether an anchor is a head that others may keep: one of the open epoch that the chain satisfies, by
// a key of the install, and where this server has a signing key by that one: whoever writes the database alone must
// not put another head into their hands.
func (s *Presented) Tells(ctx context.Context, a *audit.Anchor) (bool, error) {
	h, err := s.Validate(ctx, a.Note)
	if err != nil {
		if Foreign(err) {
			err = nil
		}
		return false, err
	}
	own, _ := s.in.pair()
	return h.Met && h.Epoch == s.abandoned.id.Epoch.N && (own == nil || signedWith(h.by, own.checkpointID)), nil
}

func signedWith(by []keys.Key, id string) bool {
	for _, k := range by {
		if k.ID == id {
			return true
		}
	}
	return false
}

// validate reads a note and holds it against a chain of that size.
func (i *Install) validate(ctx context.Context, given *abandoned, note string, size int64) (Held, error) {
	h, err := i.read(given.id, note)
	if err != nil {
		return h, err
	}
	// What was given up need not fit the lives of keys any more: a key may have been retired at what remained.
	if h.Abandoned, err = given.held(ctx, h); err != nil || h.Abandoned {
		return h, err
	}
	for _, k := range h.by {
		if err := k.Admit(h.Size); err != nil {
			return h, err
		}
	}
	if !abandonedHeads(given.id.Epochs, h.Epoch, h.Size) {
		h.Met, err = i.meets(ctx, given.id, h.Seen, size)
	}
	return h, err
}

// read verifies a note of this install by its keys, whatever became of them, under the origin of the epoch that the
// note is of. This server's own key counts too: the store may have forgotten it when it was restored.
func (i *Install) read(id Identity, note string) (Held, error) {
	parsed, err := checkpoint.Parse([]byte(note))
	if err != nil {
		return Held{}, err
	}
	// A restored store does not know of later epochs either, so that the origin is compared but for its number.
	if base(parsed.Origin) != base(id.Epoch.Origin) {
		return Held{}, keys.KeyUntrusted.New("it is of %s, and this is %s", parsed.Origin, id.Epoch.Origin)
	}
	epoch, err := keys.EpochOf(parsed.Origin)
	if err != nil {
		return Held{}, err
	}
	own, _ := i.pair()
	known, forgotten, err := signers(id, own)
	if err != nil {
		return Held{}, err
	}
	ring, lives, err := lifeless(known, parsed.Origin)
	if err != nil {
		return Held{}, err
	}
	signed, err := checkpoint.Open([]byte(note), ring)
	if err != nil {
		return Held{}, err
	}
	h := Held{Seen: Seen{Epoch: epoch, Size: signed.Size, Root: signed.Root}, Note: signed.Bare()}
	for _, k := range signed.By {
		h.by = append(h.by, lives[k.ID])
	}
	h.Forgotten = forgotten && signed.SignedBy(own.checkpointID)
	return h, nil
}

// signers returns the keys that sign heads, this server's own among them, and whether the store has forgotten that one.
func signers(id Identity, own *pair) (list []keys.Key, forgotten bool, err error) {
	forgotten = own != nil
	for _, k := range id.Keys {
		if k.Use != keys.Checkpoint {
			continue
		}
		list = append(list, k)
		forgotten = forgotten && k.ID != own.checkpointID
	}
	if forgotten {
		mine, err := keys.NewKey(own.checkpoint.Public(), keys.Checkpoint, id.Epoch.Origin)
		if err != nil {
			return nil, false, err
		}
		mine.Status = keys.Active
		list = append(list, mine)
	}
	return list, forgotten, nil
}

// lifeless returns a ring of keys under an origin that admits every size, and the same keys by their ids.
func lifeless(list []keys.Key, origin string) (keys.Ring, map[string]keys.Key, error) {
	bare, lives := make([]keys.Key, 0, len(list)), make(map[string]keys.Key, len(list))
	for _, k := range list {
		public, err := k.Public()
		if err != nil {
			return keys.Ring{}, nil, err
		}
		made, err := keys.NewKey(public, keys.Checkpoint, origin)
		if err != nil {
			return keys.Ring{}, nil, err
		}
		made.Status = keys.Active
		bare, lives[k.ID] = append(bare, made), k
	}
	ring, err := keys.NewRing(bare...)
	return ring, lives, err
}

// base returns an origin without its epoch.
func base(origin string) string { return origin[:strings.LastIndexByte(origin, '/')+1] }
