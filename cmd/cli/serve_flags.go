package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/writ-automation/writ/cmd/compose"
	"github.com/writ-automation/writ/platform/config"
	"github.com/writ-automation/writ/ports/proof"
	"github.com/writ-automation/writ/ports/secret"
)

// serveFlags are the flags of serve, which are also the keys of a configuration file.
type serveFlags struct {
	executorFlags
	installFlags

	addr, tlsCert, tlsKey    string
	retainRuns, retainEvents config.Duration
	catchup                  config.Duration
	trustedProxies           []string
	workerQueues             []string
	open, metricsAuth        bool
	strictGrants, readOnly   bool
	insecureCookies          bool
	sessionTTL               config.Duration
	signIn                   signInFlags
	events, publicURL        string
	signingKeyFile           string
	auditBeat                config.Duration
	auditTSARoots            string
	auditWitnesses           []string
	notify                   notifyFlags
}

// signingKeyEnv may hold the text of signing.key, for installs that keep secrets in the environment.
const signingKeyEnv = "WRIT_SIGNING_KEY"

func (f *serveFlags) register(fs *pflag.FlagSet) {
	f.executorFlags.register(fs, "the server's own `directory` (default beside the database)",
		"`token` that workers authenticate with at the relay")
	f.installFlags.register(fs, "writ.db", "the data directory")
	fs.StringArrayVar(&f.workerQueues, "worker-queue", nil,
		"`queue` with grants that the shared worker token serves too (repeatable; * is every one)")
	fs.StringVar(&f.addr, "addr", "127.0.0.1:8080", "`address` to listen on")
	fs.StringVar(&f.signingKeyFile, "signing-key-file", "",
		"`file` of the keys that sign the audit trail (default signing.key in the data directory)")
	config.DurationVar(fs, &f.auditBeat, "audit-beat", time.Hour,
		"interval of the audit entry that records that the server runs")
	fs.StringVar(&f.auditTSARoots, "audit-tsa-roots", "",
		"PEM `file` of certificates of the trusted time-stamping authorities")
	fs.StringArrayVar(&f.auditWitnesses, "audit-witness-key", nil,
		"verifier key `VKEY` of a trusted witness (repeatable)")
	fs.StringVar(&f.tlsCert, "tls-cert", "", "certificate `file`; with --tls-key, serve https")
	fs.StringVar(&f.tlsKey, "tls-key", "", "private key `file` of the certificate")
	fs.StringVar(&f.publicURL, "public-url", "", "`address` under which users reach the server")
	fs.StringSliceVar(&f.trustedProxies, "trusted-proxies", nil, "`networks` whose X-Forwarded-For is trusted")
	fs.BoolVar(&f.open, "open", false, "require no tokens; loopback addresses only")
	config.DurationVar(fs, &f.sessionTTL, "session-ttl", 12*time.Hour, "how long a session lasts")
	fs.BoolVar(&f.strictGrants, "strict-grants", false, "restrict objects without a grant as well")
	fs.BoolVar(&f.readOnly, "read-only", false, "refuse every change")
	fs.BoolVar(&f.insecureCookies, "insecure-cookies", false, "allow browser sign-in over plain http from other machines")
	f.signIn.register(fs)
	f.notify.register(fs)
	config.DurationVar(fs, &f.catchup, "schedule-catchup", 5*time.Minute,
		"how late a missed schedule still fires")
	fs.BoolVar(&f.metricsAuth, "metrics-auth", false, "require a token for /metrics")
	config.DaysVar(fs, &f.retainRuns, "retain-runs", 0, "age at which ended runs are deleted; 0 keeps them")
	config.DaysVar(fs, &f.retainEvents, "retain-events", 0,
		"age at which the events of ended runs are deleted; 0 keeps them")
	fs.StringVar(&f.events, "events", "memory", "`bus` of domain events: memory, or nats://... for several servers")
}

// settings converts the flags to the settings of a server.
func (f *serveFlags) settings(w environment) (compose.Settings, error) {
	executor, err := f.executor(w)
	if err != nil {
		return compose.Settings{}, usageError{err}
	}
	install, err := f.install(w)
	if err != nil {
		return compose.Settings{}, usageError{err}
	}
	proxies, err := prefixes("trusted-proxies", f.trustedProxies)
	if err != nil {
		return compose.Settings{}, usageError{err}
	}
	outsiders, err := believed(f.auditTSARoots, f.auditWitnesses)
	if err != nil {
		return compose.Settings{}, usageError{err}
	}
	s := compose.Settings{
		Executor: executor, Install: install, Addr: f.addr, TLSCert: f.tlsCert, TLSKey: f.tlsKey,
		RetainRuns: f.retainRuns.Duration, RetainEvents: f.retainEvents.Duration, Catchup: f.catchup.Duration,
		Open: f.open, MetricsAuth: f.metricsAuth, Events: f.events, PublicURL: strings.TrimRight(f.publicURL, "/"),
		TrustedProxies: proxies, Announce: w.out, WorkerToken: f.token(), WorkerQueues: f.workerQueues,
		SigningKeyFile: f.signingKeyFile, SigningKey: secret.Text(w.env(signingKeyEnv)), AuditBeat: f.auditBeat.Duration,
		AuditOutsiders: outsiders,
		StrictGrants:   f.strictGrants, ReadOnly: f.readOnly, InsecureCookies: f.insecureCookies,
		SessionTTL: f.sessionTTL.Duration,
	}
	if err := errors.Join(f.signIn.apply(&s, w), f.notify.apply(&s, w)); err != nil {
		return compose.Settings{}, usageError{err}
	}
	if err := s.Validate(); err != nil {
		return compose.Settings{}, usageError{err}
	}
	return s, nil
}

// believed reads the trusted outside services: a file of certificates and the verifier keys of witnesses.
func believed(roots string, witnesses []string) (proof.Outsiders, error) {
	var text []byte
	if roots != "" {
		var err error
		if text, err = small(roots); err != nil {
			return proof.Outsiders{}, fmt.Errorf("audit-tsa-roots: %w", err)
		}
	}
	o, err := proof.ParseOutsiders(text, witnesses)
	if err != nil {
		return o, fmt.Errorf("audit-tsa-roots, audit-witness-key: %w", err)
	}
	return o, nil
}
