package heads

import (
	"context"
	"errors"
	"fmt"

	"github.com/writ-automation/writ/modules/audit/internal/install"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/proof/checkpoint"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/tx"
)

// maxKeys is how many keys readers take, and leaves room for a pair.
const maxKeys = 126

// rotation is a new pair of keys and who hands over to it.
type rotation struct {
	origin string
	old    keys.Signer
	next   keys.Signer
	public []audit.PublicKey // of the new pair
}

// handedOver is the key under which a unit keeps its rotation.
type handedOver struct{ by *Admin }

// The old keys speak for the entry of the rotation still, and the new ones from it on: a head of that size was never
// signed before, so that every head has the lines that it needs. Where the unit fails for certain keep is called
// again with the old keys. Faults: NoSigningKey, those of Install.Checkpoint, and Conflict for too many keys.
func (k *Admin) Rotate(ctx context.Context, keep func(pem []byte) error) ([]audit.PublicKey, error) {
	// Nothing is handed over where the chain does not continue what was signed.
	if _, err := k.p.Install.Checkpoint(ctx); err != nil {
		return nil, err
	}
	before, err := k.p.Install.SigningKey()
	if err != nil {
		return nil, err
	}
	pem, err := install.GenerateKeys()
	if err != nil {
		return nil, fmt.Errorf("make signing keys: %w", err)
	}
	next, public, err := install.PublicOf(pem)
	if err != nil {
		return nil, err
	}
	if err := keep(pem); err != nil {
		return nil, fmt.Errorf("keep the new signing key: %w", err)
	}
	err = k.p.Unit.Do(ctx, func(ctx context.Context) error { return k.rotate(ctx, rotation{next: next, public: public}) })
	if err != nil {
		if err = k.undo(ctx, err, public[0].KID, before, keep); err != nil {
			return nil, err
		}
	}
	if err := k.p.Install.Adopt(pem); err != nil {
		return nil, err
	}
	return k.Keys(ctx)
}

// undo puts the old signing key back, unless the new one is registered in spite of the error: then it returns nil.
func (k *Admin) undo(ctx context.Context, failed error, kid string, before []byte, keep func(pem []byte) error) error {
	stored, err := k.s.Identity.Keys(context.WithoutCancel(ctx))
	if err != nil {
		return errors.Join(failed, fmt.Errorf("it is not known which signing key counts, look at both: %w", err))
	}
	for _, s := range stored {
		if s.KID == kid {
			return nil
		}
	}
	if err := keep(before); err != nil {
		return errors.Join(failed, fmt.Errorf("put the old signing key back: %w", err))
	}
	return failed
}

// rotate records the rotation. What depends on the place of that entry is left for the time when it is linked.
func (k *Admin) rotate(ctx context.Context, r rotation) error {
	if _, err := k.s.Identity.Install(ctx); err != nil { // rotations come one after the other
		return err
	}
	id, err := k.p.Install.Identity(ctx)
	if err != nil {
		return err
	}
	if len(id.Keys) > maxKeys {
		return fault.Wrap(fault.Conflict, nil, "the install has had %d signing keys, and readers take no more", len(id.Keys))
	}
	old, statement, err := k.p.Install.Signers(ctx)
	if err != nil {
		return err
	}
	r.origin, r.old = id.Epoch.Origin, old
	detail := map[string]any{"checkpoint": r.public[0].KID, "statement": r.public[1].KID}
	for _, s := range id.Keys {
		if public, err := s.Public(); err == nil && (public.Equal(old.Public()) || public.Equal(statement.Public())) {
			detail["old_"+string(s.Use)] = s.ID
		}
	}
	err = k.p.Recorder.Record(ctx, audit.Entry{
		Action: audit.SigningRotate, Object: audit.Object{Kind: "key", ID: r.public[0].KID}, Detail: detail,
	})
	if err != nil {
		return err
	}
	// The recorder gathered first, so that its entry has its place when this is called.
	return tx.BeforeCommit(ctx, handedOver{k}, r, k.handOver)
}

// handOver registers the new keys from the size of the chain on. The head is not committed yet when both keys sign
// it; the note is kept in the same unit alone.
func (k *Admin) handOver(ctx context.Context, made []rotation) error {
	r := made[len(made)-1]
	tip, err := k.s.Chain.Tip(ctx)
	if err != nil {
		return fmt.Errorf("read the end of the audit trail: %w", err)
	}
	root, err := k.p.Tree.Root(ctx, tip.Size)
	if err != nil {
		return fmt.Errorf("the root of %d entries: %w", tip.Size, err)
	}
	note, err := checkpoint.Handover(checkpoint.Body{Origin: r.origin, Size: tip.Size, Root: root}, r.old, r.next)
	if err != nil {
		return fmt.Errorf("hand over to the new keys: %w", err)
	}
	stored, err := k.s.Identity.Keys(ctx)
	if err != nil {
		return fmt.Errorf("read the public keys: %w", err)
	}
	for _, s := range stored {
		if s.Status != string(keys.Active) {
			continue
		}
		s.Status, s.LastSize = string(keys.Retired), tip.Size
		if err := k.s.Identity.PutKey(ctx, s); err != nil {
			return err
		}
	}
	for i, s := range r.public {
		s.Status, s.FirstSize, s.NotBefore = string(keys.Active), tip.Size, k.p.Clock.Now()
		if i == 0 {
			s.Handover = string(note)
		}
		if err := k.s.Identity.PutKey(ctx, s); err != nil {
			return err
		}
	}
	return nil
}
