package cli

import (
	"fmt"
	"runtime"
	"time"

	"github.com/spf13/pflag"

	"github.com/writ-automation/writ/platform/config"
)

// serveFlags are the flags of serve, which are also the keys of a configuration file.
type serveFlags struct {
	config string

	addr, db, dataDir, tlsCert, tlsKey string
	runTimeout, killGrace              config.Duration
	drainTimeout                       config.Duration
	retainRuns, retainEvents           config.Duration
	executors, defaultForks            int
	logCap                             config.Size
	workDir, runsDir, name             string
	queues, trustedProxies             []string
	open, metricsAuth                  bool
	strictGrants, readOnly             bool
	insecureCookies                    bool
	sessionTTL                         config.Duration
	signIn                             signInFlags
	events, publicURL                  string
	signingKeyFile                     string
	auditBeat                          config.Duration
	catalog                            catalogFlags
	notify                             notifyFlags
	secrets                            secretFlags
	logLevel, logFormat                string
}

// signingKeyEnv may hold the text of signing.key, for installs that keep secrets in the environment.
const signingKeyEnv = "WRIT_SIGNING_KEY"

const (
	executorsPerCore = 8
	defaultLogCap    = 256 << 20
)

func (f *serveFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.config, "config", "", "YAML `file` with any of these flags as keys")
	fs.StringVar(&f.addr, "addr", "127.0.0.1:8080", "`address` to listen on")
	fs.StringVar(&f.db, "db", "writ.db", "database: a `path` is SQLite, postgres://... is Postgres")
	fs.StringVar(&f.dataDir, "data-dir", "", "the server's own `directory` (default beside the database)")
	fs.StringVar(&f.signingKeyFile, "signing-key-file", "", "`file` of the keys that sign the audit trail (default signing.key in the data directory)")
	config.DurationVar(fs, &f.auditBeat, "audit-beat", time.Hour, "how often the audit trail says that the server lives")
	fs.StringVar(&f.tlsCert, "tls-cert", "", "certificate `file`; with --tls-key, serve https")
	fs.StringVar(&f.tlsKey, "tls-key", "", "private key `file` of the certificate")
	fs.StringVar(&f.publicURL, "public-url", "", "`address` under which users reach the server")
	fs.StringSliceVar(&f.trustedProxies, "trusted-proxies", nil, "`networks` whose X-Forwarded-For is believed")
	fs.BoolVar(&f.open, "open", false, "ask for no tokens; loopback addresses only")
	config.DurationVar(fs, &f.sessionTTL, "session-ttl", 12*time.Hour, "how long a session lasts")
	fs.BoolVar(&f.strictGrants, "strict-grants", false, "restrict objects that carry no grant as well")
	fs.BoolVar(&f.readOnly, "read-only", false, "refuse every change")
	fs.BoolVar(&f.insecureCookies, "insecure-cookies", false, "let browsers sign in over plain http from other machines")
	f.signIn.register(fs)
	f.catalog.register(fs)
	f.secrets.register(fs)
	f.notify.register(fs)
	fs.BoolVar(&f.metricsAuth, "metrics-auth", false, "ask a token of /metrics")
	config.DurationVar(fs, &f.runTimeout, "run-timeout", 0, "end runs that set no timeout after this; 0 is never")
	fs.IntVar(&f.executors, "executors", executorsPerCore*runtime.GOMAXPROCS(0), "`runs` at once; 0 executes nothing")
	fs.IntVar(&f.defaultForks, "default-forks", 0, "`forks` of ansible runs that set none; 0 is the tool's own")
	fs.StringArrayVar(&f.queues, "queue", nil, "`queue` to execute runs of (repeatable; default the queue named default)")
	fs.StringVar(&f.name, "name", "", "`name` under which this server executes runs (default an id of its own)")
	fs.StringVar(&f.runsDir, "runs-dir", "", "`directory` of the runs' private files (default in memory where there is room)")
	fs.StringVar(&f.workDir, "work-dir", "", "`directory` of relative playbooks and inventories (default the working directory)")
	config.DurationVar(fs, &f.killGrace, "kill-grace", 10*time.Second, "how long a run gets to end itself before it is killed")
	config.DurationVar(fs, &f.drainTimeout, "drain-timeout", 30*time.Second, "how long runs may go on when the server stops")
	config.SizeVar(fs, &f.logCap, "log-cap", defaultLogCap, "output kept per run")
	config.DaysVar(fs, &f.retainRuns, "retain-runs", 0, "delete ended runs after this; 0 keeps them")
	config.DaysVar(fs, &f.retainEvents, "retain-events", 0, "delete the events of ended runs after this; 0 keeps them")
	fs.StringVar(&f.events, "events", "memory", "`bus` of domain events: memory, or nats://... for several servers")
	fs.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	fs.StringVar(&f.logFormat, "log-format", "text", "text or json")
}

// reserved are the variables of the environment that begin like a setting of serve and are something else.
func reserved() []string {
	return []string{
		"WRIT_SERVER", "WRIT_TOKEN", "WRIT_CRASH_POINT", "WRIT_CRASH_ARM", oidcSecretEnv, signingKeyEnv, encryptionKeyEnv, smtpPasswordEnv,
		twilioTokenEnv,
	}
}

// load fills what the command line left open from the environment and the file.
func (f *serveFlags) load(fs *pflag.FlagSet, w world) error {
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
