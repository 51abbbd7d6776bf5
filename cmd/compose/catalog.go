package compose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"time"
	_ "time/tzdata" // time zones of schedules, if the machine lacks them

	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/git"
	httpcatalog "github.com/writ-automation/writ/adapters/httpapi/catalog"
	httpscheduling "github.com/writ-automation/writ/adapters/httpapi/scheduling"
	"github.com/writ-automation/writ/adapters/inventory"
	catalogmodule "github.com/writ-automation/writ/modules/catalog"
	executionmodule "github.com/writ-automation/writ/modules/execution"
	schedulingmodule "github.com/writ-automation/writ/modules/scheduling"
	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/platform/program"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
)

// launching provides templates, launches and triggers, and their REST operations.
func launching(s *Settings, dir *dataDir, x executionmodule.Config) fx.Option {
	return fx.Options(
		fx.Supply(schedulingmodule.Config{Catchup: s.Catchup, ReadOnly: s.frozen()}, time.Local),
		fx.Module("launching", fx.Provide(
			func(c identity.CallerStore) scheduling.Owners { return owners{callers: c, open: s.Open} },
		)),
		fetching(&s.Install, &s.Isolation, dir, s.frozen(), x), catalogmodule.Module, schedulingmodule.Module,
		httpcatalog.Module,
		httpscheduling.Module,
	)
}

// fetching provides the fetching of projects and inventory sources. Repositories are often in the private network, so
// private addresses are allowed for git. Users name the addresses of inventory sources, so the egress policy applies to
// those.
func fetching(
	i *Install, profiles *Isolation, dir *dataDir, readOnly bool, executing executionmodule.Config,
) fx.Option {
	return fx.Module("fetching", fx.Provide(
		func() (catalogmodule.Config, error) {
			privileged, err := profiles.privileged()
			config := catalogmodule.Config{
				TempDir: dir.path(sourcesDir), ReadOnly: readOnly, Privileged: privileged,
				SourceQueue: cmp.Or(i.SourceQueue, runs.DefaultQueue), InstallElsewhere: executing.Executors == 0,
			}
			if executing.Executors > 0 {
				config.Worker, config.Queues = executing.Worker, queuesOf(executing)
			}
			return config, err
		},
		fx.Annotate(checkouts(dir, i.LocalProjects, readOnly), fx.As(new(catalog.Checkouts)),
			fx.As(new(catalog.Histories))),
	), collecting(dir, i.AllowPrivate))
}

// checkouts returns the constructor of the mirrors of projects, and of their requirements.
func checkouts(
	dir *dataDir, localRoot string, readOnly bool,
) func(fx.Lifecycle, *slog.Logger, *boundary.Boundary) (*git.Checkouts, error) {
	return func(life fx.Lifecycle, log *slog.Logger, b *boundary.Boundary) (*git.Checkouts, error) {
		k, err := git.New(git.Config{
			Dir: dir.path(projectsDir), LocalRoot: localRoot, Egress: egress.Policy{Level: egress.PrivateAllowed},
			ReadOnly: readOnly, Log: log, Boundary: b,
		})
		if err == nil {
			life.Append(fx.StopHook(k.Close))
		}
		return k, err
	}
}

// collecting provides the collection of inventories.
func collecting(dir *dataDir, allowPrivate []netip.Prefix) fx.Option {
	tmp := dir.path(sourcesDir)
	return fx.Provide(func(x *Executor, b *boundary.Boundary) (catalog.Collector, error) {
		return inventory.New(inventory.Config{
			TempDir: tmp, Egress: egress.Policy{Allow: allowPrivate}, Boundary: b, AllowPrograms: x.SourcePrograms,
		}), emptied(tmp)
	})
}

// queuesOf returns the queues that an executor serves.
func queuesOf(c executionmodule.Config) []string {
	if len(c.Queues) == 0 {
		return []string{runs.DefaultQueue}
	}
	return c.Queues
}

// emptied makes a directory, or removes the content that an earlier process of the server left in it.
func emptied(path string) error {
	if err := errors.Join(program.Remove(path), os.Mkdir(path, 0o700)); err != nil {
		return fmt.Errorf("data-dir: %w", err)
	}
	return nil
}

// owners lets schedules and triggers act as an account.
type owners struct {
	callers identity.CallerStore
	open    bool
}

func (o owners) As(ctx context.Context, userID string) (context.Context, error) {
	b, err := o.callers.Caller(ctx, userID, "")
	if err != nil {
		return nil, err
	}
	return identity.With(ctx, identity.Principal{User: b.User, Version: b.Version, Open: o.open}), nil
}
