package vault

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/writ-automation/writ/ports/extension"
)

// engine is the name that leases have.
const engine = "vault_dynamic"

// Dynamic is the engine vault_dynamic. It is safe for concurrent use and keeps nothing between two questions.
type Dynamic struct{ conf Config }

var (
	_ extension.SecretMinter    = (*Dynamic)(nil)
	_ extension.LeaseRevoker    = (*Dynamic)(nil)
	_ extension.ConfigDescriber = (*Dynamic)(nil)
	_ extension.ConfigValidator = (*Dynamic)(nil)
)

// NewDynamic returns the engine for secrets that Vault creates at each read, such as database/creds/ROLE.
func NewDynamic(c Config) *Dynamic { return &Dynamic{conf: c} }

func (d *Dynamic) ConfigFields() []extension.ConfigField { return fields() }

// ValidateConfig requires the secret members of the config too.
func (d *Dynamic) ValidateConfig(config map[string]any) error {
	_, err := d.conf.parse(config)
	return err
}

// Mint reads the path and returns the value of the member field, or the text of the JSON object of all members. The
// handle of the lease is its id in Vault; a lease without an id cannot be revoked. After an error it has ended
// everything that this engine can end.
func (d *Dynamic) Mint(ctx context.Context, config map[string]any) (string, *extension.SecretLease, error) {
	src, err := d.conf.parse(config)
	if err != nil {
		return "", nil, fmt.Errorf("vault: %w", err)
	}
	s, err := d.conf.open(ctx, src)
	if err != nil {
		return "", nil, err
	}
	r, err := s.read(ctx)
	if err != nil {
		s.end(ctx)
		return "", nil, err
	}
	value, err := fieldOf(r.Data, src.field)
	switch {
	case err != nil:
		return "", nil, errors.Join(err, s.discard(ctx, r.LeaseID))
	case r.LeaseID == "":
		s.end(ctx)
		return value, extension.NewSecretLease(engine, nil), nil
	}
	s.close()
	token, own := s.token, s.own
	lease := extension.NewSecretLease(engine, func(ctx context.Context) error {
		if !own {
			return d.revoke(ctx, src, r.LeaseID)
		}
		return d.revokeOwn(ctx, src, token, r.LeaseID)
	}).WithHandle(r.LeaseID)
	if r.Renews {
		lease.WithRenewal(shorter(seconds(r.Seconds), s.life), func(ctx context.Context) (time.Duration, error) {
			return d.renew(ctx, src, token, own, r.LeaseID)
		})
	}
	return value, lease, nil
}

// renew extends a lease and, if a login created it, the token of that login, whose end would also end the lease.
func (d *Dynamic) renew(
	ctx context.Context, src source, token string, own bool, lease string,
) (life time.Duration, err error) {
	s := d.conf.resume(src, token)
	defer s.close()
	var login time.Duration
	if own {
		if login, err = s.stay(ctx); err != nil {
			return 0, err
		}
	}
	life, err = s.renew(ctx, lease)
	return shorter(life, login), err
}

// discard ends the session and a lease that no run will get. Revoking the token of a login also revokes its leases.
func (s *session) discard(ctx context.Context, lease string) error {
	defer s.close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if s.own && s.leave(ctx) == nil || lease == "" {
		return nil
	}
	return s.revoke(ctx, lease)
}

// revokeOwn revokes a lease and the token that created it. One of both is enough, since the token revokes its leases.
// If the token has expired, a new login revokes the lease.
func (d *Dynamic) revokeOwn(ctx context.Context, src source, token, lease string) error {
	s := d.conf.resume(src, token)
	revoked := s.revoke(ctx, lease)
	left := s.leave(ctx)
	s.close()
	if revoked == nil || left == nil {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return revoked
	}
	return d.revoke(ctx, src, lease)
}

// RevokeLease revokes with the config's token or with that of a new login. The policy has to allow update on
// sys/leases/revoke.
func (d *Dynamic) RevokeLease(ctx context.Context, config map[string]any, handle string) error {
	src, err := d.conf.parse(config)
	if err != nil {
		return fmt.Errorf("vault: %w", err)
	}
	return d.revoke(ctx, src, handle)
}

func (d *Dynamic) revoke(ctx context.Context, src source, lease string) error {
	if lease == "" {
		return errors.New("vault: revoke the lease: it has no id")
	}
	s, err := d.conf.open(ctx, src)
	if err != nil {
		return err
	}
	defer s.end(ctx)
	return s.revoke(ctx, lease)
}
