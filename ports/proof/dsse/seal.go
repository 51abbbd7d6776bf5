package dsse

import (
	"bytes"

	"github.com/writ-automation/writ/ports/proof/checkpoint"
	"github.com/writ-automation/writ/ports/proof/keys"
)

// SignSeal returns seal.json of a seal, signed by statement keys over the canonical rest.
func SignSeal(s keys.Seal, signers ...keys.Signer) ([]byte, error) {
	rest, err := s.Rest()
	if err != nil {
		return nil, err
	}
	e, err := Sign(SealType, rest, signers...)
	if err != nil {
		return nil, err
	}
	if s.Sig, err = e.Marshal(); err != nil {
		return nil, err
	}
	return s.Marshal()
}

// OpenSeal reads seal.json and verifies it against trusted keys: its signature by a trusted statement key, its newest
// checkpoint by a key that it lists under its origin and, where the ring trusts checkpoint keys of that origin, by
// one of those or one that they hand over to. Of what ring and listing say of a key's life the narrower counts: a
// seal can end a key that was trusted and cannot bring back one that was not any more.
//
// A first contact that trusts nobody passes keys.NewRing(seal.Keys...) and learns that the seal agrees with itself
// and nothing more.
//
// Faults: those of keys.ParseSeal, Envelope.Verify, checkpoint.Open and keys.Key.Admit; KeyUntrusted where the
// checkpoint is by a key that no trusted one leads to.
func OpenSeal(data []byte, trusted keys.Ring, need ...string) (keys.Seal, error) {
	s, err := keys.ParseSeal(data)
	if err != nil {
		return keys.Seal{}, err
	}
	by, err := verifySig(s, trusted, need)
	if err != nil {
		return keys.Seal{}, err
	}
	led, err := lead(s, trusted)
	if err != nil {
		return keys.Seal{}, err
	}
	head, err := checkpoint.Open([]byte(s.Checkpoint), led)
	if err != nil {
		return keys.Seal{}, err
	}
	if head.Origin != s.Origin {
		return keys.Seal{}, keys.FormatInvalid.New("the seal's checkpoint is of another origin")
	}
	return s, admit(narrowed(s, by), head.Size)
}

func verifySig(s keys.Seal, trusted keys.Ring, need []string) ([]keys.Key, error) {
	e, err := Parse(s.Sig, SealType)
	if err != nil {
		return nil, err
	}
	rest, err := s.Rest()
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(rest, e.Payload) {
		return nil, keys.SignatureInvalid.New("the seal's signature covers another document")
	}
	return e.Verify(trusted, need...)
}

// lead returns the listed checkpoint keys that trust leads to.
func lead(s keys.Seal, trusted keys.Ring) (keys.Ring, error) {
	var all, roots []keys.Key
	pinned := false
	for _, k := range trusted.Keys() {
		pinned = pinned || k.Use == keys.Checkpoint && k.Origin() == s.Origin
	}
	for _, k := range s.Keys {
		if k.Use != keys.Checkpoint {
			continue
		}
		all = append(all, k)
		for _, t := range trusted.Keys() {
			if t.ID == k.ID && t.VKey == k.VKey {
				roots = append(roots, k.Stricter(t))
			}
		}
	}
	if !pinned {
		return keys.NewRing(all...)
	}
	ring, err := keys.NewRing(roots...)
	if err != nil {
		return keys.Ring{}, err
	}
	return checkpoint.Follow(ring, all)
}

// narrowed returns the signing keys with the narrower life of what the ring and the seal say of them.
func narrowed(s keys.Seal, by []keys.Key) []keys.Key {
	out := make([]keys.Key, 0, len(by))
	for _, k := range by {
		for _, l := range s.Keys {
			if l.ID == k.ID {
				k = k.Stricter(l)
			}
		}
		out = append(out, k)
	}
	return out
}
