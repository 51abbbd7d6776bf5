package compose

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/cmd/compose/demo"
	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	portclock "github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/events"
	portids "github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/system"
)

// Demo is a server with the content of the demo, in a temporary directory. It refuses the changes of its visitors.
type Demo struct {
	*Server
	// Dir is the directory, which Stop removes.
	Dir string
}

// demoExecutors is how many runs the demo executes at once.
const demoExecutors = 8

// NewDemo makes the directory and assembles the server, which makes the content when it starts. The settings are those
// of NewServer; their database, directories and modes are replaced.
func NewDemo(s Settings) (_ *Demo, err error) {
	dir, err := os.MkdirTemp(demoBase(), "writ-demo-")
	if err != nil {
		return nil, fmt.Errorf("make a temporary directory: %w", err)
	}
	content := &demoContent{repository: filepath.Join(dir, "repositories", "site"), dir: dir, made: make(chan error, 1)}
	go content.makeRepository()
	defer func() {
		if err != nil {
			<-content.made
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	s.DataDir, s.DB = filepath.Join(dir, "data"), filepath.Join(dir, "demo.db")
	s.LocalProjects = filepath.Join(dir, "repositories")
	if err := os.MkdirAll(s.LocalProjects, 0o700); err != nil {
		return nil, err
	}
	s.Open, s.ReadOnly, s.Executors, s.Queues = true, true, demoExecutors, nil
	s.demo = content
	srv, err := NewServer(s)
	if err != nil {
		return nil, err
	}
	return &Demo{Server: srv, Dir: dir}, nil
}

// demoBase returns where the directory is made: in memory if there is room, since the content is many small commits.
func demoBase() string {
	if base := "/dev/shm"; os.Getenv("TMPDIR") == "" && inMemory(base) {
		return base
	}
	return os.TempDir()
}

// Receipt returns the path of the receipt of a run.
func (d *Demo) Receipt() string { return filepath.Join(d.Dir, demo.ReceiptFile) }

// Forged returns the path of the receipt with a forged word.
func (d *Demo) Forged() string { return filepath.Join(d.Dir, demo.ForgedFile) }

// Start makes the content and serves it. An error removes the directory.
func (d *Demo) Start(ctx context.Context) error {
	err := d.Server.Start(ctx)
	if err != nil {
		err = errors.Join(err, os.RemoveAll(d.Dir))
	}
	return err
}

// Stop stops the server and removes the directory.
func (d *Demo) Stop(ctx context.Context) error {
	return errors.Join(d.Server.Stop(ctx), os.RemoveAll(d.Dir))
}

// demoContent is what makes a server a demo.
type demoContent struct {
	repository, dir string
	made            chan error // receives the result of makeRepository
}

// makeRepository makes the repository of the demo's project, beside the assembly of the server.
func (d *demoContent) makeRepository() {
	err := os.MkdirAll(d.repository, 0o700)
	if err == nil {
		err = demo.MakeRepository(context.Background(), d.repository)
	}
	d.made <- err
}

// frozen reports whether background work changes nothing. In the demo it does, and only visitors cannot.
func (s *Settings) frozen() bool { return s.ReadOnly && s.demo == nil }

// content returns the parts that make the content of a demo once the schema is there, before anything else runs.
func (s *Settings) content() fx.Option {
	if s.demo == nil {
		return fx.Options()
	}
	return fx.Options(
		fx.Provide(
			func() *demo.Clock { return demo.NewClock(clock.New()) },
			demo.NewPublisher, demo.NewPins, demo.NewSeeder,
		),
		fx.Decorate(
			func(_ portclock.Clock, c *demo.Clock) portclock.Clock { return c },
			func(g portids.Generator, c *demo.Clock) portids.Generator { return demo.NewIDs(c, g) },
			func(p events.Publisher, d *demo.Publisher) events.Publisher { return d.Over(p) },
			func(r catalog.References, p *demo.Pins) catalog.References { return p.References(r) },
			demo.Tools,
			func(system.Licenses) system.Licenses { return demo.License{} },
		),
		fx.Module("demo", fx.Invoke(s.demo.seed)),
	)
}

// seed makes the content at the start.
func (d *demoContent) seed(life fx.Lifecycle, s *demo.Seeder, p audit.Prover, log *slog.Logger) {
	life.Append(fx.Hook{OnStart: func(ctx context.Context) error {
		watch := clock.Start()
		err := <-d.made
		switch {
		case errors.Is(err, demo.ErrNoGit):
			log.WarnContext(ctx, "the demo has no project", "error", err)
		case err != nil:
			return fmt.Errorf("make the demo's repository: %w", err)
		default:
			s.Repository = d.repository
		}
		if err := s.Seed(ctx); err != nil {
			return fmt.Errorf("make the demo's content: %w", err)
		}
		if err := demo.WriteReceipts(ctx, p, s.Rejected(), d.dir); err != nil {
			return err
		}
		log.InfoContext(ctx, "content made", "duration_ms", watch.Elapsed().Milliseconds())
		return nil
	}})
}

// goOn executes and begins runs while the demo is served.
func (s *Settings) goOn() fx.Option {
	if s.demo == nil {
		return fx.Options()
	}
	return fx.Module("demo runs", fx.Invoke(func(life fx.Lifecycle, d *demo.Seeder, log *slog.Logger) {
		var group background.Group
		life.Append(fx.Hook{
			OnStart: func(context.Context) error { group = d.Live(log); group.Start(); return nil },
			OnStop:  func(ctx context.Context) error { return group.Stop(ctx) },
		})
	}))
}
