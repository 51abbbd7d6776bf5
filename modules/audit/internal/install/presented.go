package install

import (
	"context"
	"fmt"
	"strings"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof/checkpoint"
	"github.com/writ-automation/writ/ports/proof/keys"
)

// Held is a head that is stored outside of the database.
type Held struct {
	Seen
	// Note is the head with only the signatures of this install.
	Note string
	// Abandoned reports whether an accepted rollback abandoned the head. Such a head is not compared with the chain.
	Abandoned bool
	by        []keys.Key // who signed it, with the validity of their keys
}

// Foreign reports whether an error means that a note belongs to another install. Any other error means that the result
// is unknown.
func Foreign(err error) bool { return keys.CodeOf(err) != "" }

// Presented compares presented notes with the chain, one at a time. It reads identity and tip after the notes exist,
// so they are newer than every note: only heads over committed entries are signed.
type Presented struct {
	in        *Install
	abandoned *abandoned
	// Epochs are the epochs of the install; Size is the number of entries in the chain.
	Epochs []audit.Epoch
	Size   int64
}

// Presented begins a comparison. Call it after the notes were received.
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

// Validate compares a note with the chain. The error for a note of another install satisfies Foreign. A chain that
// does not recompute satisfies no note.
func (s *Presented) Validate(ctx context.Context, note string) (Held, error) {
	h, err := s.in.validate(ctx, s.abandoned, note, s.Size)
	if audit.Broken.Is(err) || audit.EntryNotFound.Is(err) {
		return h, nil
	}
	return h, err
}

// Tells reports whether workers may store an anchor: a head of the open epoch that the chain satisfies, signed by a
// key of the install, and by this server's own key if it has one. Somebody who can only write the database must not be
// able to give workers another head.
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

// validate reads a note and compares it with a chain of that size.
func (i *Install) validate(ctx context.Context, given *abandoned, note string, size int64) (Held, error) {
	h, err := i.read(given.id, note)
	if err != nil {
		return h, err
	}
	// An abandoned head need not fit the validity of its keys: a key may have been retired at the size that was kept.
	if h.Abandoned, err = given.held(ctx, h); err != nil || h.Abandoned {
		return h, err
	}
	for _, k := range h.by {
		if err := k.Admit(h.Size); err != nil {
			return h, err
		}
	}
	if !given.id.Closed(h.Epoch, h.Size) {
		h.Met, err = i.meets(ctx, given.id, h.Seen, size)
	}
	return h, err
}

// read verifies a note by the keys of this install, whatever their status, under the origin of the epoch of the note.
// This server's own key counts too: a restored store may lack it.
func (i *Install) read(id Identity, note string) (Held, error) {
	parsed, err := checkpoint.Parse([]byte(note))
	if err != nil {
		return Held{}, err
	}
	// A restored store also lacks later epochs, so the origin is compared without the epoch number.
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

// signers returns the keys that sign heads, including this server's own key, and whether the store lacks that one.
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

// lifeless returns a key ring under an origin that accepts every size, and the same keys by id.
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

// base returns an origin without the epoch.
func base(origin string) string { return origin[:strings.LastIndexByte(origin, '/')+1] }
