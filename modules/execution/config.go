package execution

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/writ-automation/writ/modules/execution/internal/engine"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// Config holds the settings of an executor. Zero members other than Worker and RunsDir mean the defaults in their
// comments. RunsDir is best on a file system in memory: on a disk, making a run's files costs more than the rest of
// the executor's work for a short run. SpoolDir is better on a disk: data beyond the memory limits is stored there.
type Config struct {
	Worker string // stable name: after a restart the executor settles the runs of this name
	// Kind, Version and Labels are reported to the fleet. Kind is how the executor reaches the runs: ServerWorker, or
	// DatabaseWorker for a separate process.
	Kind         execution.WorkerKind
	Version      string // of the binary
	Labels       map[string]string
	Queues       []string      // the queues to claim from; the default queue
	Executors    int           // runs at once; 0 executes nothing
	RunTimeout   time.Duration // for runs without a timeout of their own; 0 is no limit
	KillGrace    time.Duration // between the signals TERM and KILL, which the tools apply; 10 s
	DrainTimeout time.Duration // time for running runs at a stop; 0 is none
	LossGrace    time.Duration // time that runs continue while the control plane does not answer; 2 min
	Poll         time.Duration // how often to poll for runs without a signal; 5 s
	RunsDir      string        // parent of the private directories of runs
	SpoolDir     string        // for output beyond the memory limit; RunsDir
	WorkDir      string        // base of relative playbooks and inventories; the working directory
	KnownHosts   string        // file with the host keys that runs know whose inventory stores none; none
	LogCap       int64         // bytes of output that wait on disk for a run; 256 MiB
	MaxEvents    int64         // events kept for a run; 2,000,000
	EventSpool   int64         // bytes of events that wait on disk for a run before it is slowed; 256 MiB
	Env          []string      // names of further variables of the environment that every run gets
	Environ      []string      // the environment to select from, as "k=v"; the process's own
	// Crash is called at named points of every run (before-claim, after-claim, after-begin, after-exit, before-finish,
	// after-finish), so that tests can end the process there. Nil does nothing.
	Crash func(point string)

	Relay RelayConfig // of a server
}

// Validate reports the first invalid setting as an Invalid fault that names it.
func (c *Config) Validate() error {
	switch {
	case c.Worker == "":
		return fault.BadField("worker", "an executor needs a name")
	case c.Executors < 0:
		return fault.BadField("executors", "must not be negative")
	case c.RunsDir == "" || !filepath.IsAbs(c.RunsDir):
		return fault.BadField("runs-dir", "must be an absolute path")
	case c.SpoolDir != "" && !filepath.IsAbs(c.SpoolDir):
		return fault.BadField("data-dir", "must be an absolute path")
	case c.WorkDir != "" && !filepath.IsAbs(c.WorkDir):
		return fault.BadField("work-dir", "must be an absolute path")
	case c.LogCap < 0 || c.MaxEvents < 0 || c.EventSpool < 0:
		return fault.BadField("log-cap", "a cap must not be negative")
	case c.Relay.ScratchDir != "" && !filepath.IsAbs(c.Relay.ScratchDir):
		return fault.BadField("data-dir", "must be an absolute path")
	case slices.Contains(c.Relay.Queues, ""):
		return fault.BadField("worker-queue", "a queue needs a name")
	case min(c.RunTimeout, c.KillGrace, c.DrainTimeout, c.LossGrace, c.Poll) < 0:
		return fault.BadField("run-timeout", "a duration must not be negative")
	}
	for _, q := range c.Queues {
		if q == "" {
			return fault.BadField("queue", "a queue needs a name")
		}
	}
	return nil
}

// filled returns c with its defaults.
func (c Config) filled() (Config, error) {
	if len(c.Queues) == 0 {
		c.Queues = []string{runs.DefaultQueue}
	}
	set(&c.Kind, execution.ServerWorker)
	set(&c.KillGrace, 10*time.Second)
	set(&c.LossGrace, 2*time.Minute)
	set(&c.Poll, 5*time.Second)
	set(&c.LogCap, 256<<20)
	set(&c.MaxEvents, 2_000_000)
	set(&c.EventSpool, 256<<20)
	if c.Environ == nil {
		c.Environ = os.Environ()
	}
	c.SpoolDir = cmp.Or(c.SpoolDir, c.RunsDir)
	c.Relay.ScratchDir = cmp.Or(c.Relay.ScratchDir, filepath.Join(c.SpoolDir, "relay"))
	if c.WorkDir == "" {
		dir, err := os.Getwd()
		if err != nil {
			return c, fault.Wrap(fault.Internal, err, "the working directory is unknown")
		}
		c.WorkDir = dir
	}
	return c, nil
}

func set[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// options returns the engine's settings: all except those of the fleet and of the relay.
func (c Config) options() engine.Options {
	return engine.Options{
		Worker: c.Worker, Queues: c.Queues, Executors: c.Executors, RunTimeout: c.RunTimeout, KillGrace: c.KillGrace,
		DrainTimeout: c.DrainTimeout, LossGrace: c.LossGrace, Poll: c.Poll, RunsDir: c.RunsDir, SpoolDir: c.SpoolDir,
		WorkDir: c.WorkDir, KnownHosts: c.KnownHosts,
		LogCap: c.LogCap, MaxEvents: c.MaxEvents, EventSpool: c.EventSpool, Env: c.Env, Environ: c.Environ, Crash: c.Crash,
	}
}
