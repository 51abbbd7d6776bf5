package compose

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/secrets/sealer"
	auditmodule "github.com/writ-automation/writ/modules/audit"
	secretsmodule "github.com/writ-automation/writ/modules/secrets"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

// keySource is the location of the encryption keys of an install with this data directory.
func (i *Install) keySource(root string) sealer.KeySource {
	return sealer.KeySource{Dir: root, File: i.EncryptionKeyFile, Text: i.EncryptionKey}
}

// sealing provides the sealer, which opens when the server starts.
func sealing() fx.Option {
	return fx.Module("sealing", fx.Provide(
		func() *sealed { return &sealed{} },
		func(v *sealed) secrets.Sealer { return v },
		func(v *sealed) secrets.Digester { return v },
		func(v *sealed) scheduling.Sealer { return v },
	))
}

// sealed is the sealer, after the check whether the database has secrets already.
type sealed struct{ sealer atomic.Pointer[sealer.Sealer] }

// sealedStores are all tables with sealed data.
type sealedStores struct {
	fx.In

	List []secrets.SealedStore `group:"sealed_holders"`
}

// openVault reads the encryption key, or makes one if no data was ever sealed.
func openVault(life fx.Lifecycle, s *Settings, dir *dataDir, v *sealed, h sealedStores) {
	life.Append(fx.Hook{OnStart: func(ctx context.Context) error {
		from := s.keySource(dir.root)
		for _, held := range h.List {
			some, err := held.ListSealed(ctx, "", 1)
			if err != nil {
				return fmt.Errorf("look for sealed secrets: %w", err)
			}
			from.Existing = from.Existing || len(some) > 0
		}
		opened, err := sealer.Open(from)
		if err != nil {
			return err
		}
		if opened.KeyID() == "" {
			s.Log.WarnContext(ctx, "the encryption key is missing: sealed secrets cannot be read", "file",
				dir.path(sealer.KeyFile))
		}
		v.sealer.Store(opened)
		return nil
	}})
}

var errSealed = errors.New("the encryption key was not read yet")

func (v *sealed) Seal(ctx context.Context, record string, plain []byte) ([]byte, error) {
	if s := v.sealer.Load(); s != nil {
		return s.Seal(ctx, record, plain)
	}
	return nil, fault.Wrap(fault.Unavailable, errSealed, "nothing can be sealed yet")
}

func (v *sealed) Open(ctx context.Context, record string, sealed []byte) ([]byte, error) {
	if s := v.sealer.Load(); s != nil {
		return s.Open(ctx, record, sealed)
	}
	return nil, fault.Wrap(fault.Unavailable, errSealed, "nothing can be opened yet")
}

func (v *sealed) Digest(ctx context.Context, purpose string, text []byte) ([]byte, error) {
	if s := v.sealer.Load(); s != nil {
		return s.Digest(ctx, purpose, text)
	}
	return nil, fault.Wrap(fault.Unavailable, errSealed, "nothing can be sealed yet")
}

// keyID returns the id of the sealing key, empty if there is none.
func (v *sealed) keyID() string {
	if s := v.sealer.Load(); s != nil {
		return s.KeyID()
	}
	return ""
}

// AddEncryptionKey adds a new key to the encryption key's file, behind the others, and returns its id.
func AddEncryptionKey(_ context.Context, s Settings) (string, error) {
	root, err := s.dataDir()
	if err != nil {
		return "", err
	}
	return sealer.AddKey(s.keySource(root))
}

// Rewrap selects the sealing key by its id, or makes a new one for an empty id, and wraps all sealed data of the
// database under it. The install must have been started before. A running server continues meanwhile.
func Rewrap(ctx context.Context, s Settings, to string) (done secretsmodule.Wrapped, err error) {
	root, err := s.dataDir()
	if err != nil {
		return done, err
	}
	if err := exists(s.DB); err != nil {
		return done, err
	}
	var d *db.DB
	var o *auditmodule.Opening
	var unit tx.Unit
	var rec audit.Recorder
	var h sealedStores
	app := fx.New(
		fx.WithLogger(quiet), fx.Supply(&s.Install, s.Log, s.auditConfig(root)), platform(), stores()[storeOf(s.DB)],
		auditmodule.Module,
		fx.Populate(&d, &o, &unit, &rec, &h),
	)
	if err := app.Err(); err != nil {
		return done, rootCause(err)
	}
	if err := app.Start(ctx); err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, app.Stop(context.WithoutCancel(ctx))) }()
	if err := errors.Join(d.Probe(ctx), o.Join(ctx)); err != nil {
		return done, err
	}
	from := s.keySource(root)
	from.Existing = true
	opened, err := sealer.Open(from)
	if err != nil {
		return done, err
	}
	if to == "" || opened.KeyID() != to {
		if _, err := sealer.Promote(from, to); err != nil {
			return done, err
		}
	}
	r := secretsmodule.Rewrapping{Unit: unit, Sealer: opened, SealedStores: h.List, Recorder: rec}
	return r.Rewrap(ctx)
}
