package compose

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"
	_ "time/tzdata" // schedules name zones that the machine may not know

	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/git"
	httpcatalog "github.com/writ-automation/writ/adapters/httpapi/catalog"
	httpscheduling "github.com/writ-automation/writ/adapters/httpapi/scheduling"
	"github.com/writ-automation/writ/adapters/inventory"
	"github.com/writ-automation/writ/adapters/secrets/sealer"
	catalogmodule "github.com/writ-automation/writ/modules/catalog"
	schedulingmodule "github.com/writ-automation/writ/modules/scheduling"
	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/secrets"
)

// launching provides what people launch, what launches it, and the REST of both. Repositories and secret engines often live in the own
// network, so that private addresses are allowed for git; what inventory sources fetch is named by whoever may keep one.
func launching(s *Settings, dir *dataDir) fx.Option {
	return fx.Options(
		fx.Supply(
			catalogmodule.Config{TempDir: dir.path("tmp")},
			schedulingmodule.Config{Catchup: s.Catalog.Catchup, ReadOnly: s.ReadOnly},
			time.Local,
		),
		fx.Module("launching", fx.Provide(
			func(log *slog.Logger) (catalog.Checkouts, error) {
				return git.New(git.Config{
					Dir: dir.path("projects"), LocalRoot: s.Catalog.LocalProjects, Egress: egress.Policy{Level: egress.PrivateAllowed}, Log: log,
				})
			},
			func() (catalog.Collector, error) {
				tmp := dir.path("tmp")
				return inventory.New(inventory.Config{TempDir: tmp, Egress: egress.Policy{Allow: s.Catalog.AllowPrivate}}), emptied(tmp)
			},
			func() *vault { return &vault{} },
			func(v *vault) secrets.Sealer { return v },
			func(v *vault) scheduling.Sealer { return v },
			func(c identity.CallerStore) scheduling.Owners { return owners{callers: c, open: s.Open} },
		)),
		catalogmodule.Module, schedulingmodule.Module, httpcatalog.Module, httpscheduling.Module,
	)
}

// emptied makes a directory, without what an earlier life of the server left in it.
func emptied(path string) error {
	if err := errors.Join(os.RemoveAll(path), os.Mkdir(path, 0o700)); err != nil {
		return fmt.Errorf("data-dir: %w", err)
	}
	return nil
}

// vault is the sealer, once the database was asked whether secrets exist already.
type vault struct{ sealer atomic.Pointer[sealer.Sealer] }

// openVault reads the encryption key, or makes it where nothing was ever sealed.
func openVault(life fx.Lifecycle, s *Settings, dir *dataDir, v *vault, triggers scheduling.TriggerStore) {
	life.Append(fx.Hook{OnStart: func(ctx context.Context) error {
		_, sealed, err := triggers.ListTriggers(ctx, access.Everything(), scheduling.Filter{}, page.Window{Limit: 1})
		if err != nil {
			return fmt.Errorf("look for sealed secrets: %w", err)
		}
		opened, err := sealer.Open(sealer.KeySource{Dir: dir.root, File: s.EncryptionKeyFile, Text: s.EncryptionKey, Existing: sealed > 0})
		if err != nil {
			return err
		}
		if opened.KeyID() == "" {
			s.Log.WarnContext(ctx, "the encryption key is gone: what was sealed cannot be read", "file", dir.path(sealer.KeyFile))
		}
		v.sealer.Store(opened)
		return nil
	}})
}

var errSealed = errors.New("the encryption key was not read yet")

// Seal implements secrets.Sealer.
func (v *vault) Seal(ctx context.Context, record string, plain []byte) ([]byte, error) {
	if s := v.sealer.Load(); s != nil {
		return s.Seal(ctx, record, plain)
	}
	return nil, fault.Wrap(fault.Unavailable, errSealed, "nothing can be sealed yet")
}

// Open implements secrets.Sealer.
func (v *vault) Open(ctx context.Context, record string, sealed []byte) ([]byte, error) {
	if s := v.sealer.Load(); s != nil {
		return s.Open(ctx, record, sealed)
	}
	return nil, fault.Wrap(fault.Unavailable, errSealed, "nothing can be opened yet")
}

// owners let what fires by itself act as an account.
type owners struct {
	callers identity.CallerStore
	open    bool
}

// As implements scheduling.Owners.
func (o owners) As(ctx context.Context, userID string) (context.Context, error) {
	b, err := o.callers.Caller(ctx, userID, "")
	if err != nil {
		return nil, err
	}
	return identity.With(ctx, identity.Principal{User: b.User, Version: b.Version, Open: o.open}), nil
}
