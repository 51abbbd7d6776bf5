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

// maxKeys is the number of keys that readers accept, less room for a new pair.
const maxKeys = 126

// rotation is a new key pair and the keys that sign the handover.
type rotation struct {
	origin string
	old    keys.Signer
	next   keys.Signer
	public []audit.PublicKey // of the new pair
}

// handedOver is the key under which a unit keeps its rotation.
type handedOver struct{ by *Admin }

// The old keys stay valid for the entry of the rotation, and the new keys are valid from it on: no head of that size
// was signed before, so every head has all needed signatures. If the unit certainly failed, keep is called again with
// the old keys. Faults: NoSigningKey, those of Install.Checkpoint, and Conflict for too many keys.
func (k *Admin) Rotate(ctx context.Context, keep func(pem []byte) error) ([]audit.PublicKey, error) {
	// No handover happens if the chain does not continue the signed heads.
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
		return nil, fmt.Errorf("store the new signing key: %w", err)
	}
	err = k.p.Unit.Do(tx.Alone(ctx), func(ctx context.Context) error {
		return k.rotate(ctx, rotation{next: next, public: public})
	})
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

// undo restores the old signing key and returns the error. If the new key is registered despite the error, it keeps
// the new key and returns nil.
func (k *Admin) undo(ctx context.Context, failed error, kid string, before []byte, keep func(pem []byte) error) error {
	stored, err := k.s.Identity.Keys(context.WithoutCancel(ctx))
	if err != nil {
		return errors.Join(failed, fmt.Errorf("it is not known which signing key is in use; compare both: %w", err))
	}
	for _, s := range stored {
		if s.KID == kid {
			return nil
		}
	}
	if err := keep(before); err != nil {
		return errors.Join(failed, fmt.Errorf("restore the old signing key: %w", err))
	}
	return failed
}

// rotate records the rotation. What depends on the place of that entry is done when the entry is linked.
func (k *Admin) rotate(ctx context.Context, r rotation) error {
	if _, err := k.s.Identity.Install(ctx); err != nil { // serializes rotations
		return err
	}
	id, err := k.p.Install.Identity(ctx)
	if err != nil {
		return err
	}
	if len(id.Keys) > maxKeys {
		return fault.Wrap(fault.Conflict, nil, "the install has had %d signing keys, and readers accept no more",
			len(id.Keys))
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
	// The recorder was registered first, so its entry is already placed when this function runs.
	return tx.BeforeCommit(ctx, tx.Last, handedOver{k}, r, k.handOver)
}

// handOver registers the new keys from the current size on. Both keys sign the head before it is committed; the note
// is stored only in the same unit.
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
