package proof

import (
	"fmt"
	"slices"

	"github.com/writ-automation/writ/ports/proof/checkpoint"
	"github.com/writ-automation/writ/ports/proof/dsse"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/tree"
)

// basis is the trust that a reader has before it opens a file: given keys, a stored seal, pins of logs.
// Each of them that knows the file's log has to lead to the signer: one can refuse what another accepts.
type basis struct {
	provided  []keys.Key // checkpoint keys
	seal      *sealed
	pins      []keys.Pin
	notes     []string // of the heads of pins, if they were stored
	outsiders Outsiders
}

// sealed is the content of a seal.
type sealed struct {
	checkpoints []keys.Key
	statements  []keys.Key
	head        checkpoint.Body
	note        string
}

// basisOf reads the trusted data and checks the form of the demanded head.
func basisOf(t Trust) (basis, error) {
	var b basis
	for _, text := range t.VKeys {
		k, err := keys.FromVKey(text)
		if err != nil {
			return b, fmt.Errorf("a trusted key: %w", err)
		}
		b.provided = append(b.provided, k)
	}
	if t.Seal != nil {
		s, err := openSeal(t.Seal)
		if err != nil {
			return b, fmt.Errorf("the seal: %w", err)
		}
		b.seal = &s
	}
	var err error
	if b.outsiders, err = ParseOutsiders(t.TSARoots, t.Witnesses); err != nil {
		return b, err
	}
	if b.pins, err = parsePins(t.Known); err != nil {
		return b, fmt.Errorf("the known logs: %w", err)
	}
	b.notes = notesOf(t.Known)
	if t.From != nil && (t.From.Size < 0 || t.From.Size > tree.MaxSize) {
		return b, fmt.Errorf("no chain has a size of %d", t.From.Size)
	}
	return b, nil
}

// openSeal checks that a seal is consistent. The reader who passes it vouches that it belongs to the install.
func openSeal(data []byte) (sealed, error) {
	var out sealed
	s, err := keys.ParseSeal(data)
	if err != nil {
		return out, err
	}
	ring, err := keys.NewRing(s.Keys...)
	if err != nil {
		return out, err
	}
	if s, err = dsse.OpenSeal(data, ring); err != nil {
		return out, err
	}
	for _, k := range s.Keys {
		if k.Use == keys.Checkpoint {
			out.checkpoints = append(out.checkpoints, k)
		} else {
			out.statements = append(out.statements, k)
		}
	}
	out.head, err = headOf(s.Checkpoint)
	out.note = s.Checkpoint
	return out, err
}

func headOf(note string) (checkpoint.Body, error) {
	n, err := checkpoint.Parse([]byte(note))
	return n.Body, err
}

// knows reports whether anything is known of the log: given keys and seals apply to any file.
func (b *basis) knows(origin string) bool {
	return len(b.provided) > 0 || b.seal != nil || b.met(origin)
}

// met reports whether a key of the log is pinned.
func (b *basis) met(origin string) bool {
	return slices.ContainsFunc(b.pins, func(p keys.Pin) bool { return p.Origin == origin })
}

func (b *basis) pinned(origin, id string) bool {
	return slices.ContainsFunc(b.pins, func(p keys.Pin) bool { return p.Origin == origin && p.KeyID == id })
}

// trusted returns the keys that may sign checkpoints: the listed ones to which all sources that know the log lead, or
// all listed ones if no source knows it. The narrower validity of listing and source counts.
func (b *basis) trusted(listed []keys.Key, origin string) (keys.Ring, error) {
	var all []keys.Key
	for _, k := range listed {
		if k.Use == keys.Checkpoint {
			all = append(all, k)
		}
	}
	var rings [][]keys.Key
	for _, roots := range b.roots(all, origin) {
		if len(roots) == 0 {
			return keys.Ring{}, b.stranger(all)
		}
		ring, err := keys.NewRing(roots...)
		if err != nil {
			return keys.Ring{}, err
		}
		if ring, err = checkpoint.Follow(ring, all); err != nil {
			return keys.Ring{}, err
		}
		rings = append(rings, ring.Keys())
	}
	if len(rings) == 0 {
		return keys.NewRing(all...)
	}
	out := rings[0]
	for _, other := range rings[1:] {
		out = common(out, other)
	}
	if len(out) == 0 {
		return keys.Ring{}, keys.KeyUntrusted.New("the given keys, the seal and the pins lead to different keys of the file")
	}
	return keys.NewRing(out...)
}

// roots returns, for each source that knows the log, the listed keys that it trusts directly.
func (b *basis) roots(listed []keys.Key, origin string) (out [][]keys.Key) {
	matching := func(known []keys.Key) (roots []keys.Key) {
		for _, k := range listed {
			if i := slices.IndexFunc(known, func(p keys.Key) bool { return p.ID == k.ID && p.VKey == k.VKey }); i >= 0 {
				roots = append(roots, k.Stricter(known[i]))
			}
		}
		return roots
	}
	if len(b.provided) > 0 {
		out = append(out, matching(b.provided))
	}
	if b.seal != nil {
		out = append(out, matching(b.seal.checkpoints))
	}
	if b.met(origin) {
		var roots []keys.Key
		for _, k := range listed {
			if b.pinned(origin, k.ID) && k.Origin() == origin {
				roots = append(roots, k)
			}
		}
		out = append(out, roots)
	}
	return out
}

// common returns the keys of both lists with the narrower validity of the two.
func common(a, b []keys.Key) (out []keys.Key) {
	for _, k := range a {
		if i := slices.IndexFunc(b, func(o keys.Key) bool { return o.ID == k.ID && o.VKey == k.VKey }); i >= 0 {
			out = append(out, k.Stricter(b[i]))
		}
	}
	return out
}

// stranger explains why no listed key is trusted.
func (b *basis) stranger(listed []keys.Key) error {
	known := slices.Clone(b.provided)
	if b.seal != nil {
		known = append(known, b.seal.checkpoints...)
	}
	for _, k := range listed {
		for _, p := range known {
			if k.ID == p.ID {
				return keys.KeyUntrusted.New(
					"the trusted key is for %s, and the file is from %s: a file of another epoch needs the seal.json of that epoch",
					p.Origin(), k.Origin())
			}
		}
	}
	return keys.KeyUntrusted.New("the file lists none of the trusted keys")
}

const ownKeysOnly = "the file was checked only against the keys that it lists"

// heldTo records which sources a file is checked against.
func (b *basis) heldTo(r *Report, origin string) {
	provided := len(b.provided) > 0 || b.seal != nil
	switch other := b.otherEpoch(origin); {
	case provided && b.met(origin):
		r.Pass(StepTrust, "checked against the given key and the pinned key")
	case provided:
		r.Pass(StepTrust, "checked against the given key")
	case b.met(origin):
		r.Pass(StepTrust, "checked against the pinned key")
	case other != "":
		r.Warn(StepTrust,
			"another epoch of this log was recorded earlier, %s: a rollback of the database was accepted between them, or one "+
				"of them is forged. "+ownKeysOnly, other)
	case len(b.pins) > 0:
		r.Warn(StepTrust, "no key of this log is pinned: "+ownKeysOnly)
	default:
		r.Warn(StepTrust, "no trusted key was given: "+ownKeysOnly)
	}
}

// otherEpoch returns the origin of another epoch of the log that has a pin, or "".
func (b *basis) otherEpoch(origin string) string {
	for _, p := range b.pins {
		if p.Origin != origin && sameLog(p.Origin, origin) {
			return p.Origin
		}
	}
	return ""
}
