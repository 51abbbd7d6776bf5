package proof

import (
	"bytes"
	"slices"

	"github.com/writ-automation/writ/ports/proof/bundle"
	"github.com/writ-automation/writ/ports/proof/dsse"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/tree"
)

// statementKeys returns the listed keys that may sign statements, and whether the keys that were known in advance
// narrowed them. A seal and pins narrow them to their own keys, unless an unknown key signed the checkpoint: statement
// keys are not handed over, so the file itself brings the keys of a later pair. Who signed is verified; the validity
// of keys that a file lists is not.
func (b *basis) statementKeys(
	listed []keys.Key, origin string, by []keys.Key,
) (ring keys.Ring, narrowed bool, err error) {
	var out []keys.Key
	for _, k := range listed {
		if k.Use == keys.Statement {
			out = append(out, k)
		}
	}
	if b.seal != nil && signedBy(by, func(id string) bool { return slices.ContainsFunc(b.seal.checkpoints, same(id)) }) {
		out, narrowed = common(out, b.seal.statements), true
	}
	if tokens := b.pinnedText(listed, origin); len(tokens) > 0 && signedBy(by, func(id string) bool {
		return b.pinned(origin, id)
	}) {
		out, narrowed = slices.DeleteFunc(out, func(k keys.Key) bool { return !slices.Contains(tokens, k.ID) }), true
	}
	ring, err = keys.NewRing(out...)
	return ring, narrowed, err
}

// signedBy reports whether one of the signers is known. If no signer is known, the narrower validity counts.
func signedBy(by []keys.Key, known func(id string) bool) bool {
	return len(by) == 0 || slices.ContainsFunc(by, func(k keys.Key) bool { return known(k.ID) })
}

func same(id string) func(keys.Key) bool { return func(k keys.Key) bool { return k.ID == id } }

// pinnedText returns the ids of a log's pins that are not among its listed checkpoint keys: pins do not contain the
// use of a key.
func (b *basis) pinnedText(listed []keys.Key, origin string) (ids []string) {
	for _, p := range b.pins {
		if p.Origin == origin && !slices.ContainsFunc(listed, func(k keys.Key) bool {
			return k.ID == p.KeyID && k.Use == keys.Checkpoint
		}) {
			ids = append(ids, p.KeyID)
		}
	}
	return ids
}

// needed returns the keys that must have signed a note of this size: each one in use. If two are in use at once,
// neither signature can be left out.
func needed(ring keys.Ring, origin string, size int64) (ids []string) {
	for _, k := range ring.Keys() {
		if k.Status == keys.Active && k.Origin() == origin && k.Admit(size) == nil {
			ids = append(ids, k.ID)
		}
	}
	return ids
}

// openManifest verifies the manifest with the listed statement keys and compares it with the data read before. It
// returns the id of the key.
func (c *chain) openManifest(envelope []byte, covered tree.Hash) (string, error) {
	e, err := dsse.Parse(envelope, dsse.StatementType)
	if err != nil {
		return "", err
	}
	if len(e.Signatures) != 1 {
		return "", keys.FormatInvalid.New("a manifest has exactly one signature")
	}
	var ring keys.Ring
	if ring, c.narrowed, err = c.basis.statementKeys(c.head.Keys, c.head.Origin, c.by); err != nil {
		return "", err
	}
	opened, err := dsse.OpenStatement(envelope, dsse.BundleV1, ring)
	if err != nil {
		return "", err
	}
	want, err := keys.Encode(c.head.Manifest())
	if err != nil {
		return "", err
	}
	if len(opened.Subjects) != 1 || !bytes.Equal(want, opened.Predicate) {
		return "", keys.ProofInvalid.New("the manifest describes another window")
	}
	if err := opened.About(bundle.SubjectName, covered); err != nil {
		return "", keys.ProofInvalid.New("the digest of the file is not the one in the manifest").Because(err)
	}
	return opened.By[0].ID, opened.Admit(c.head.Size)
}
