package install

import (
	"context"
	"fmt"
	"strconv"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof/keys"
)

// OriginOf returns the origin of another epoch of the same install.
func OriginOf(origin string, epoch int64) (string, error) {
	made := base(origin) + "e" + strconv.FormatInt(epoch, 10)
	return made, keys.CheckOrigin(made)
}

// PublicOf returns the checkpoint signer of a signing.key and both public keys, the checkpoint key first. The keys
// have neither status nor sizes.
func PublicOf(pem []byte) (keys.Signer, []audit.PublicKey, error) {
	p, err := newPair(pem)
	if err != nil {
		return nil, nil, err
	}
	if p == nil {
		return nil, nil, keys.FormatInvalid.New("there is no signing key")
	}
	return p.checkpoint, p.public(), nil
}

// SigningKey returns the contents of this server's signing.key, which are secret. It returns NoSigningKey if there are
// none.
func (i *Install) SigningKey() ([]byte, error) {
	own, err := i.pair()
	if err != nil || own == nil {
		return nil, audit.NoSigningKey.New("this server has no signing key").Because(err)
	}
	first, err := keys.MarshalPrivate(own.checkpoint)
	if err != nil {
		return nil, err
	}
	second, err := keys.MarshalPrivate(own.statement)
	return append(first, second...), err
}

// Renew makes this server's keys active beyond a size, in the open unit, and retires the previous ones. It is for a
// store that lacks these keys: there is no handover, so readers must pin the new epoch anew.
func (i *Install) Renew(ctx context.Context, size int64) error {
	own, err := i.pair()
	if err != nil || own == nil {
		return audit.NoSigningKey.New("this server has no signing key").Because(err)
	}
	stored, err := i.p.Identity.Keys(ctx)
	if err != nil {
		return fmt.Errorf("read the public keys: %w", err)
	}
	for _, k := range stored {
		if k.Status != string(keys.Active) {
			continue
		}
		k.Status, k.LastSize = string(keys.Retired), max(size, k.FirstSize)
		if err := i.p.Identity.PutKey(ctx, k); err != nil {
			return err
		}
	}
	return i.register(ctx, own, size+1)
}
