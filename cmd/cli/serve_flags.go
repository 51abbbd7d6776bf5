package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/writ-automation/writ/cmd/compose"
	"github.com/writ-automation/writ/platform/config"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/proof"
	"github.com/writ-automation/writ/ports/secret"
)

// serveFlags are the flags of serve, which are also the keys of a configuration file. Most are settings themselves.
type serveFlags struct {
	compose.Settings
	executorFlags
	installFlags

	trustedProxies []string
	auditTSARoots  string
	auditWitnesses []string
	signIn         signInFlags
	notify         notifyFlags
}

// signingKeyEnv may hold the text of signing.key, for installs that keep secrets in the environment.
const signingKeyEnv = "WRIT_SIGNING_KEY"

func (f *serveFlags) register(fs *pflag.FlagSet) {
	f.executorFlags.register(fs, &f.Executor, &f.WorkerToken, "the server's own `directory` (default beside the database)",
		"`token` that workers authenticate with at the relay")
	f.installFlags.register(fs, &f.Install, "writ.db", "the data directory")
	fs.StringArrayVar(&f.WorkerQueues, "worker-queue", nil,
		"`queue` with grants that the shared worker token serves too (repeatable; * is every one)")
	fs.StringVar(&f.Addr, "addr", "127.0.0.1:8080", "`address` to listen on")
	fs.StringVar(&f.SigningKeyFile, "signing-key-file", "",
		"`file` of the keys that sign the audit trail (default signing.key in the data directory)")
	config.DurationVar(fs, &f.AuditBeat, "audit-beat", time.Hour,
		"interval of the audit entry that records that the server runs")
	fs.StringVar(&f.auditTSARoots, "audit-tsa-roots", "",
		"PEM `file` of certificates of the trusted time-stamping authorities")
	fs.StringArrayVar(&f.auditWitnesses, "audit-witness-key", nil,
		"verifier key `VKEY` of a trusted witness (repeatable)")
	fs.StringVar(&f.AdminPasswordFile, "admin-password-file", "",
		"`file` with the password that the account admin gets at the first start")
	fs.StringVar(&f.LicenseFile, "license", "", "licence `file`; without one the install is of the tier community")
	fs.StringVar(&f.PolicyFile, "policy-file", "", "`file` that is the only source of policies (default the database)")
	fs.StringArrayVar(&f.VolatileFacts, "volatile-facts", nil,
		"`pattern` of the keys of further facts that change all the time (repeatable)")
	fs.StringVar(&f.TLSCert, "tls-cert", "", "certificate `file`; with --tls-key, serve https")
	fs.StringVar(&f.TLSKey, "tls-key", "", "private key `file` of the certificate")
	fs.StringVar(&f.PublicURL, "public-url", "", "`address` under which users reach the server")
	fs.StringSliceVar(&f.trustedProxies, "trusted-proxies", nil, "`networks` whose X-Forwarded-For is trusted")
	fs.BoolVar(&f.Open, "open", false, "require no tokens; loopback addresses only")
	config.DurationVar(fs, &f.SessionTTL, "session-ttl", 12*time.Hour, "how long a session lasts")
	fs.BoolVar(&f.StrictGrants, "strict-grants", false, "restrict objects without a grant as well")
	fs.BoolVar(&f.ReadOnly, "read-only", false, "refuse every change")
	fs.BoolVar(&f.MCP, "mcp", false, "let agents use the server at /mcp, by the Model Context Protocol")
	fs.BoolVar(&f.InsecureCookies, "insecure-cookies", false, "allow browser sign-in over plain http from other machines")
	f.signIn.register(fs, &f.OIDC, &f.SAML)
	f.notify.register(fs, &f.Notify)
	registerAI(fs, &f.AI)
	config.DurationVar(fs, &f.Catchup, "schedule-catchup", 5*time.Minute,
		"how late a missed schedule still fires")
	fs.BoolVar(&f.MetricsAuth, "metrics-auth", false, "require a token for /metrics")
	config.DaysVar(fs, &f.ApprovalTTL, "approval-ttl", 0, "time after which a held run is rejected; 0 holds it for ever")
	config.DaysVar(fs, &f.RetainRuns, "retain-runs", 0, "age at which ended runs are deleted; 0 keeps them")
	config.DaysVar(fs, &f.RetainEvents, "retain-events", 0,
		"age at which the events of ended runs are deleted; 0 keeps them")
	fs.IntVar(&f.RetainHistory, "retain-history", estate.DefaultHistory,
		"`number` of results that are kept of each host, at least 500")
	fs.StringVar(&f.Events, "events", "memory", "`bus` of domain events: memory, or nats://... for several servers")
}

// settings returns the settings of a server.
func (f *serveFlags) settings(w environment) (compose.Settings, error) {
	s := f.Settings
	s.Docs = w.docs
	s.PublicURL, s.Announce, s.SigningKey = strings.TrimRight(s.PublicURL, "/"), w.out, secret.Text(w.env(signingKeyEnv))
	s.AI.Key = extension.AIKey(w.env(aiKeyEnv))
	var errs []error
	for _, step := range []func() error{
		func() error { return f.executorFlags.complete(&s.Executor, w) },
		func() error { return f.installFlags.complete(&s.Install, w) },
		func() (err error) { s.TrustedProxies, err = prefixes("trusted-proxies", f.trustedProxies); return err },
		func() (err error) { s.AuditOutsiders, err = believed(f.auditTSARoots, f.auditWitnesses); return err },
		func() error { return errors.Join(f.signIn.complete(&s, w), f.notify.complete(&s.Notify, w)) },
	} {
		errs = append(errs, step())
	}
	if s.Log == nil { // log-level or log-format is at fault
		s.Log = slog.New(slog.DiscardHandler)
	}
	if err := errors.Join(append(errs, s.Validate())...); err != nil {
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
