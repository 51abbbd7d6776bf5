package cli

import (
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/pflag"

	"github.com/writ-automation/writ/cmd/compose"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/config"
	"github.com/writ-automation/writ/platform/logging"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/system"
)

const (
	executorsPerCore = 8
	defaultLogCap    = 256 << 20
)

// workerTokenFlag is the flag of the token that workers show to servers. Its variable is safer, since other users of
// the machine can read flags.
const workerTokenFlag = "worker-token"

// executorFlags are the flags of every process that executes runs, with their sources.
type executorFlags struct {
	config, logLevel, logFormat         string
	dataDir, workDir, runsDir, name     string
	queues                              []string
	executors, defaultForks             int
	runTimeout, killGrace, drainTimeout config.Duration
	logCap                              config.Size
	workerToken                         string

	isolation, runUser           string
	isolationShow, isolationHide []string
	runPIDs                      int
	runTmpSize                   config.Size
}

// register adds the flags. The texts name the owner of the directory, its default, and the purpose of the token.
func (f *executorFlags) register(fs *pflag.FlagSet, dataDir, token string) {
	fs.StringVar(&f.config, "config", "", "YAML `file` with any of these flags as keys")
	fs.StringVar(&f.dataDir, "data-dir", "", dataDir)
	fs.StringVar(&f.workerToken, workerTokenFlag, "",
		token+" (prefer "+config.EnvName(workerTokenFlag)+": other users see flags)")
	config.DurationVar(fs, &f.runTimeout, "run-timeout", 0, "timeout of runs that set none; 0 is no timeout")
	fs.IntVar(&f.executors, "executors", executorsPerCore*runtime.GOMAXPROCS(0),
		"maximum of concurrent `runs`; a server with 0 executes none")
	fs.IntVar(&f.defaultForks, "default-forks", 0, "`forks` of Ansible runs that set none; 0 is Ansible's default")
	fs.StringArrayVar(&f.queues, "queue", nil, "`queue` to execute runs of (repeatable; default the queue named default)")
	fs.StringVar(&f.name, "name", "", "`name` of this executor (default an id that is stored in the data directory)")
	fs.StringVar(&f.runsDir, "runs-dir", "",
		"`directory` for the private files of runs (default in memory if 512 MiB are free)")
	fs.StringVar(&f.workDir, "work-dir", "",
		"`directory` that relative playbook and inventory paths begin at (default the working directory)")
	config.DurationVar(fs, &f.killGrace, "kill-grace", 10*time.Second,
		"time between TERM and KILL when a run is ended")
	config.DurationVar(fs, &f.drainTimeout, "drain-timeout", 30*time.Second,
		"time that running runs have to end when the process stops")
	config.SizeVar(fs, &f.logCap, "log-cap", defaultLogCap, "output stored per run")
	fs.StringVar(&f.isolation, "isolation", "auto",
		"boundary around runs: auto is the strongest that works here, required refuses a weak one, none has none")
	fs.StringArrayVar(&f.isolationShow, "isolation-show", nil,
		"`path` that runs see although it is hidden, PATH or PATH:rw (repeatable)")
	fs.StringArrayVar(&f.isolationHide, "isolation-hide", nil, "`path` that runs do not see (repeatable)")
	fs.StringVar(&f.runUser, "run-user", "",
		"`account` of runs if the process is root: a name, an id or FIRST-LAST (default 65600-66623)")
	fs.IntVar(&f.runPIDs, "run-pids", 4096, "maximum of `processes` of a run with an account of its own; 0 is no limit")
	config.SizeVar(fs, &f.runTmpSize, "run-tmp-size", 1<<30, "size of /dev/shm of a run")
	fs.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	fs.StringVar(&f.logFormat, "log-format", "text", "text or json")
}

// load sets flags that the command line omits from the environment and the file.
func (f *executorFlags) load(fs *pflag.FlagSet, w environment) error {
	if f.config == "" {
		f.config = w.env(config.EnvName("config"))
	}
	err := config.Load(fs, config.Sources{
		File: f.config, Environ: w.environ, Reserved: reserved(), NotInFile: []string{"config", "help"},
		Warn: func(m string) { _, _ = fmt.Fprintf(w.err, "writ: warning: %s\n", m) },
	})
	if err != nil {
		return usageError{err}
	}
	return nil
}

// reserved are the variables of the environment that begin like a setting and are something else.
func reserved() []string {
	return []string{
		"WRIT_SERVER", "WRIT_TOKEN", "WRIT_CRASH_POINT", "WRIT_CRASH_ARM", oidcSecretEnv, signingKeyEnv, encryptionKeyEnv,
		smtpPasswordEnv,
		twilioTokenEnv,
	}
}

// executor turns the flags into settings.
func (f *executorFlags) executor(w environment) (compose.Executor, error) {
	log, err := logging.New(w.err, logging.Config{Level: f.logLevel, Format: f.logFormat})
	if err != nil {
		return compose.Executor{}, err
	}
	for name, dir := range map[string]*string{"work-dir": &f.workDir, "runs-dir": &f.runsDir} {
		if err := fromRoot(name, dir); err != nil {
			return compose.Executor{}, err
		}
	}
	isolation := compose.Isolation{Mode: f.isolation, Hide: f.isolationHide, Users: f.runUser, Processes: f.runPIDs,
		TmpSize: int64(f.runTmpSize)}
	if err := isolation.Parse(f.isolationShow); err != nil {
		return compose.Executor{}, err
	}
	b := readBuild()
	return compose.Executor{
		Isolation: isolation, ConfigFile: f.config,
		DataDir: f.dataDir, RunsDir: f.runsDir, WorkDir: f.workDir, Name: f.name, Queues: f.queues, Executors: f.executors,
		RunTimeout: f.runTimeout.Duration, DefaultForks: f.defaultForks, LogCap: int64(f.logCap),
		KillGrace:    f.killGrace.Duration,
		DrainTimeout: f.drainTimeout.Duration, Log: log, Options: w.options,
		Info: system.Info{Version: b.Version, Commit: b.Commit, Started: clock.New().Now()},
	}, nil
}

// token returns the token from the flag, its variable or the file.
func (f *executorFlags) token() secret.Text { return secret.Text(f.workerToken) }

// fromRoot makes a path absolute unless it is empty.
func fromRoot(flag string, path *string) error {
	if *path == "" {
		return nil
	}
	abs, err := filepath.Abs(*path)
	if err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	*path = abs
	return nil
}
