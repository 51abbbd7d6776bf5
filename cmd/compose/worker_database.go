package compose

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/anchor"
	"github.com/writ-automation/writ/adapters/outbox"
	"github.com/writ-automation/writ/adapters/secrets/sealer"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	auditmodule "github.com/writ-automation/writ/modules/audit"
	catalogmodule "github.com/writ-automation/writ/modules/catalog"
	"github.com/writ-automation/writ/modules/execution"
	runsmodule "github.com/writ-automation/writ/modules/runs"
	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/events"
	portexecution "github.com/writ-automation/writ/ports/execution"
)

// databaseOptions lists the parts of a worker over the database: execution and the stores of its results, and no part
// that only servers need.
func databaseOptions(s *WorkerSettings, dir *dataDir) (fx.Option, error) {
	executing, err := s.executionConfig(dir)
	if err != nil {
		return nil, err
	}
	executing.Kind, executing.Labels = portexecution.DatabaseWorker, s.Labels
	return fx.Options(
		fx.Supply(s, &s.Install, s.sensitive(), executing, s.trailConfig(), runsmodule.Config{LogCap: s.LogCap}),
		platform(), stores()[storeOf(s.DB)], tools(), auditmodule.Module,
		fx.Module("first", fx.Invoke(awaitSchema, readServerKeys, borrowSigning)),
		sealing(), runSecrets(&s.Install, true), agents(), fetching(&s.Install, &s.Isolation, dir, false, executing),
		runsmodule.WorkModule, catalogmodule.MaterialModule,
		fx.Supply(s.audience()), fx.Module("work",
			fx.Provide(plane, fx.Annotate(outbox.NewWriter, fx.As(new(events.Publisher))))),
		fx.Supply(auditmodule.WorkerName(executing.Worker),
			fx.Annotate(anchor.NewHeadStore(dir.path(headsDir)), fx.As(new(audit.HeadStore)))),
		auditmodule.HeadCopies, execution.WorkerModule,
		fx.Module("ready", fx.Invoke(readyLast)),
	), nil
}

// A worker reads the version of the schema every lookEvery, and logs every remindEvery that it waits.
const (
	lookEvery   = time.Second
	remindEvery = time.Minute
)

// awaitSchema waits until the database has the schema of this binary, or a newer compatible one: servers migrate,
// workers do not. A schema that needs a newer binary is an error.
func awaitSchema(life fx.Lifecycle, d *db.DB, log *slog.Logger) {
	life.Append(fx.Hook{OnStart: func(ctx context.Context) error {
		found := make(chan error, 1)
		waited := time.Duration(0)
		wait := background.Loop{Name: "wait for the schema", Every: lookEvery, Log: log}
		wait.Pass = func(ctx context.Context) error {
			applied, known, err := d.Schema(ctx, migrations.FS)
			if err == nil && applied >= known {
				found <- d.Migrate(ctx, migrations.FS) // changes nothing, and refuses a schema that needs a newer binary
				<-ctx.Done()
				return nil
			}
			if waited%remindEvery == 0 {
				log.WarnContext(ctx, "this worker waits for a server of its version to migrate the database",
					"schema", applied, "known", known, "error", err)
			}
			waited += lookEvery
			return nil
		}
		wait.Start()
		var err error
		select {
		case err = <-found:
		case <-ctx.Done():
			err = ctx.Err()
		}
		return errors.Join(err, wait.Stop(context.WithoutCancel(ctx)))
	}})
}

// readServerKeys reads the encryption key that the servers seal with. A worker makes none.
func readServerKeys(life fx.Lifecycle, i *Install, dir *dataDir, v *sealed, log *slog.Logger) {
	life.Append(fx.Hook{OnStart: func(ctx context.Context) error {
		from, err := i.serverKeys(dir.root)
		if err != nil {
			return err
		}
		opened, err := sealer.Open(from)
		if err != nil {
			return err
		}
		if opened.KeyID() == "" {
			log.WarnContext(ctx, "there is no encryption key: runs with credentials fail on this worker (--encryption-key-file)",
				"file", dir.path(sealer.KeyFile))
		}
		v.sealer.Store(opened)
		return nil
	}})
}

// trailConfig returns the trail's settings in a worker, which signs nothing.
func (s *WorkerSettings) trailConfig() auditmodule.Config {
	c := auditmodule.Config{Version: s.Info.Version}
	if s.SigningKeyFile != "" {
		c.Keys = signingKeys{configured: s.SigningKeyFile}
	}
	return c
}

// borrowSigning reads the signing keys of the servers if the operator names them: the heads that a worker receives must
// then be signed by them.
func borrowSigning(life fx.Lifecycle, o *auditmodule.Opening) { life.Append(fx.StartHook(o.Join)) }

// serverKeys returns the directory with the encryption keys of the servers: the configured one, else the worker's own
// data directory, else the default data directory of a server over this database.
func (i *Install) serverKeys(root string) (sealer.KeySource, error) {
	from := i.keySource(root)
	from.Existing = true
	if from.File != "" || from.Text != "" {
		return from, nil
	}
	if _, err := os.Stat(filepath.Join(root, sealer.KeyFile)); !errors.Is(err, fs.ErrNotExist) {
		return from, nil
	}
	server, err := absolute(i.beside(""))
	if err != nil {
		return from, err
	}
	if path := filepath.Join(server, sealer.KeyFile); readable(path) {
		from.File = path
	}
	return from, nil
}

func readable(path string) bool {
	f, err := os.Open(path) //nolint:gosec // next to the database of the operator
	if err != nil {
		return false
	}
	return f.Close() == nil
}

// readyLast reports that a worker over the database executes runs from now on.
func readyLast(life fx.Lifecycle, c execution.Config, log *slog.Logger) {
	life.Append(fx.Hook{OnStart: func(ctx context.Context) error { ready(ctx, log, &c); return nil }})
}
