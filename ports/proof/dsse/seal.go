package dsse

import (
	"bytes"

	"github.com/writ-automation/writ/ports/proof/checkpoint"
	"github.com/writ-automation/writ/ports/proof/keys"
)

// SignSeal returns the seal.json of a seal; statement keys sign the canonical form of the rest.
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
// checkpoint by a key that it lists under its origin and, if the ring trusts checkpoint keys of that origin, by one of
// those or a successor by handover. The narrower validity of ring and listing counts: a seal can end the trust in a
// key and cannot renew it.
//
// A first contact without trusted keys passes keys.NewRing(seal.Keys...), which only checks that the seal is
// consistent.
//
// Faults: those of keys.ParseSeal, Envelope.Verify, checkpoint.Open and keys.Key.Admit; KeyUntrusted if no trusted key
// leads to the signer of the checkpoint.
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
		return keys.Seal{}, keys.FormatInvalid.New("the seal and its checkpoint have different origins")
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

// lead returns the listed checkpoint keys that are trusted directly or by handover.
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

// narrowed returns the signing keys with the narrower validity of ring and seal.
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
