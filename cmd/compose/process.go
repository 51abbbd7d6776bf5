package compose

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"
)

// startTimeout leaves room for a long migration of a large database.
const startTimeout = 30 * time.Minute

// stopSlack is the time that a stop may take in addition to the drain time and the kill grace.
const stopSlack = 30 * time.Second

// process is an assembled process with its data directory. It is started once.
type process struct {
	app    *fx.App
	dir    *dataDir
	failed chan error
}

// failure receives the fatal error of a part of the process.
type failure func(error)

// assemble locks the data directory and assembles a process from the options; nothing runs yet.
func assemble(
	x *Executor, root string, options func(dir *dataDir, fail failure) (fx.Option, error), more ...fx.Option,
) (*process, error) {
	dir, err := openDataDir(root)
	if err != nil {
		return nil, err
	}
	p := &process{dir: dir, failed: make(chan error, 1)}
	list, err := options(dir, p.fail)
	if err != nil {
		return nil, p.abandon(err)
	}
	replaced, _, err := x.replacements()
	if err != nil {
		return nil, p.abandon(err)
	}
	p.app = fx.New(base(x, dir), list, replaced, fx.Options(more...))
	if err := p.app.Err(); err != nil {
		return nil, p.abandon(rootCause(err))
	}
	return p, nil
}

// abandon ends a start that failed, and returns why.
func (p *process) abandon(err error) error {
	p.dir.undo()
	return errors.Join(err, p.dir.close())
}

// base lists the parts that every process has.
func base(x *Executor, dir *dataDir) fx.Option {
	return fx.Options(fx.WithLogger(quiet), fx.StartTimeout(startTimeout), fx.StopTimeout(x.StopTimeout()),
		fx.Supply(x, dir, x.Log))
}

// Start brings everything up in order.
func (p *process) Start(ctx context.Context) error {
	if err := p.app.Start(ctx); err != nil {
		return p.abandon(err)
	}
	return nil
}

// Stop stops all parts in the reverse order: it drains the executor and closes its dependencies last.
func (p *process) Stop(ctx context.Context) error {
	err := p.app.Stop(ctx)
	p.dir.tidy()
	return errors.Join(err, p.dir.close())
}

// Failed reports a fatal error; the caller then stops the process.
func (p *process) Failed() <-chan error { return p.failed }

func (p *process) fail(err error) {
	select {
	case p.failed <- err:
	default:
	}
}

// StopTimeout returns how long a stop may take with these settings.
func (x *Executor) StopTimeout() time.Duration { return x.DrainTimeout + x.KillGrace + stopSlack }

// quiet logs the steps of the assembly at the debug level. Its errors are returned anyway.
func quiet(log *slog.Logger) fxevent.Logger {
	l := &fxevent.SlogLogger{Logger: log}
	l.UseLogLevel(slog.LevelDebug - 4)
	l.UseErrorLevel(slog.LevelDebug)
	return l
}
