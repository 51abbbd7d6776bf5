package cli

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/pflag"

	"github.com/writ-automation/writ/cmd/compose"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/config"
	"github.com/writ-automation/writ/platform/logging"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/system"
)

const (
	executorsPerCore = 8
	defaultLogCap    = 256 << 20
)

// workerTokenFlag is the flag of the token that workers present to servers. Its variable is safer, since other users
// of the machine can read flags.
const workerTokenFlag = "worker-token"

// executorFlags are the flags of every process that executes runs, beside its settings.
type executorFlags struct {
	config, logLevel, logFormat string
	isolationShow, pluginEnv    []string
	profiles                    config.Section
}

// register adds the flags and those of the settings. The texts name the owner of the directory, its default, and the
// purpose of the token.
func (f *executorFlags) register(
	fs *pflag.FlagSet, x *compose.Executor, token *secret.Text, dataDir, purpose string,
) {
	fs.StringVar(&f.config, "config", "", "YAML `file` with any of these flags as keys")
	fs.StringVar(&x.DataDir, "data-dir", "", dataDir)
	fs.StringVar((*string)(token), workerTokenFlag, "",
		purpose+" (prefer "+config.EnvName(workerTokenFlag)+": other users see flags)")
	config.DurationVar(fs, &x.RunTimeout, "run-timeout", 0, "timeout of runs that set none; 0 is no timeout")
	fs.IntVar(&x.Executors, "executors", executorsPerCore*runtime.GOMAXPROCS(0),
		"maximum of concurrent `runs`; a server with 0 executes none")
	fs.IntVar(&x.DefaultForks, "default-forks", 0, "`forks` of Ansible runs that set none; 0 is Ansible's default")
	fs.StringArrayVar(&x.Queues, "queue", nil, "`queue` to execute runs of (repeatable; default the queue named default)")
	fs.StringVar(&x.Name, "name", "", "`name` of this executor (default an id that is stored in the data directory)")
	fs.StringVar(&x.RunsDir, "runs-dir", "",
		"`directory` for the private files of runs (default in memory if 512 MiB are free)")
	fs.StringVar(&x.WorkDir, "work-dir", "",
		"`directory` that relative playbook and inventory paths begin at (default the working directory)")
	fs.StringVar(&x.PluginsDir, "plugins-dir", "", "`directory` whose executables are started as plugins (default none)")
	fs.StringArrayVar(&f.pluginEnv, pluginEnvFlag, nil,
		"give the plugin with that file name a variable of this environment, as `PLUGIN=VARIABLE` (repeatable)")
	config.DurationVar(fs, &x.KillGrace, "kill-grace", 10*time.Second,
		"time between TERM and KILL when a run is ended")
	config.DurationVar(fs, &x.DrainTimeout, "drain-timeout", 30*time.Second,
		"time that running runs have to end when the process stops")
	config.SizeVar(fs, &x.LogCap, "log-cap", defaultLogCap, "output stored per run")
	fs.StringVar(&x.Isolation.Mode, "isolation", "auto",
		"boundary around runs: auto is the strongest that works here, required refuses a weak one, none has none")
	fs.StringArrayVar(&f.isolationShow, "isolation-show", nil,
		"`path` that runs see although it is hidden, PATH or PATH:rw (repeatable)")
	fs.StringArrayVar(&x.Isolation.Hide, "isolation-hide", nil, "`path` that runs do not see (repeatable)")
	fs.StringVar(&x.Isolation.Users, "run-user", "",
		"`account` of runs if the process is root: a name, an id or FIRST-LAST (default 65600-66623)")
	config.SizeVar(fs, &x.Isolation.Memory, "run-memory", 0,
		"memory of a run, of a plugin, and of a program of a source, git or ansible-galaxy, where control groups are "+
			"delegated; 0 is no limit")
	fs.IntVar(&x.Isolation.Processes, "run-pids", 4096,
		"maximum of `processes` of a run with a control group or an account of its own; 0 is no limit")
	fs.StringVar(&x.Isolation.Profile, "isolation-profile", runs.StandardProfile,
		"isolation `profile` of runs: standard, sealed, host or one of the configuration file")
	fs.StringArrayVar(&x.Isolation.QueueProfiles, "queue-profile", nil,
		"`QUEUE=PROFILE` that runs of a queue may have, the first one without a choice (repeatable)")
	config.SizeVar(fs, &x.Isolation.TmpSize, "run-tmp-size", 1<<30, "size of /dev/shm of a run")
	fs.BoolVar(&x.SourcePrograms, "allow-source-programs", false,
		"run scripts and plugins of inventory sources also with the isolation none")
	fs.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	fs.StringVar(&f.logFormat, "log-format", "text", "text or json")
}

// load sets flags that the command line omits from the environment and the file.
func (f *executorFlags) load(fs *pflag.FlagSet, w environment) error {
	f.config = cmp.Or(f.config, w.env(config.EnvName("config")))
	err := config.Load(fs, config.Sources{
		File: f.config, Sections: map[string]*config.Section{"profiles": &f.profiles},
		Environ: w.environ, Reserved: reserved(), NotInFile: []string{"config", "help"},
		Warn: func(m string) { _, _ = fmt.Fprintf(w.err, "writ: warning: %s\n", m) },
	})
	if err != nil {
		return usageError{err}
	}
	return nil
}

// reserved returns the environment variables that begin like a setting but are none.
func reserved() []string {
	return []string{
		"WRIT_SERVER", "WRIT_TOKEN", "WRIT_CRASH_POINT", "WRIT_CRASH_ARM", oidcSecretEnv, signingKeyEnv, encryptionKeyEnv,
		smtpPasswordEnv,
		twilioTokenEnv, aiKeyEnv,
	}
}

// complete sets the settings that are no flags, and makes paths absolute.
func (f *executorFlags) complete(x *compose.Executor, w environment) (err error) {
	c := logging.Config{Level: f.logLevel, Format: f.logFormat, Terminal: interactive(w.err)}
	if x.Log, err = logging.New(w.err, c); err != nil {
		return err
	}
	if err := x.Isolation.Parse(f.isolationShow); err != nil {
		return err
	}
	x.Isolation.Profiles = f.profiles
	if x.PluginEnv, err = pluginEnv(f.pluginEnv, x.PluginsDir, w.env); err != nil {
		return usageError{err}
	}
	b := readBuild()
	x.ConfigFile = f.config
	x.Options, x.Info = w.options, system.Info{Version: b.Version, Commit: b.Commit, Started: clock.New().Now()}
	return errors.Join(fromRoot("work-dir", &x.WorkDir), fromRoot("runs-dir", &x.RunsDir))
}

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
