package cli

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/cmd/compose"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/lifecycle"
	"github.com/writ-automation/writ/platform/logging"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/system"
)

// gcPercent trades a little processor time for memory: an idle server has little to collect.
const gcPercent = 60

func serveCommand(w world) *cobra.Command {
	f := &serveFlags{}
	c := &cobra.Command{
		Use: "serve", Short: "Run a server", Args: args(cobra.NoArgs),
		Long: "Run a server. Every flag can also be set by the environment (WRIT_ and the flag's name, as in\n" +
			"WRIT_RUN_TIMEOUT) and by a YAML file (--config): flag beats environment beats file beats default.",
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.load(c.Flags(), w); err != nil {
				return err
			}
			return f.serve(c.Context(), w)
		},
	}
	f.register(c.Flags())
	return c
}

// settings turns the flags into what a server is told.
func (f *serveFlags) settings(w world) (compose.Settings, error) {
	log, err := logging.New(w.err, logging.Config{Level: f.logLevel, Format: f.logFormat})
	if err != nil {
		return compose.Settings{}, usageError{err}
	}
	proxies, err := prefixes("trusted-proxies", f.trustedProxies)
	if err != nil {
		return compose.Settings{}, usageError{err}
	}
	work := f.workDir
	if work != "" {
		if work, err = filepath.Abs(work); err != nil {
			return compose.Settings{}, fmt.Errorf("work-dir: %w", err)
		}
	}
	runsDir := f.runsDir
	if runsDir != "" {
		if runsDir, err = filepath.Abs(runsDir); err != nil {
			return compose.Settings{}, fmt.Errorf("runs-dir: %w", err)
		}
	}
	b := readBuild()
	s := compose.Settings{
		Addr: f.addr, DB: f.db, DataDir: f.dataDir, RunsDir: runsDir, TLSCert: f.tlsCert, TLSKey: f.tlsKey,
		RunTimeout: f.runTimeout.Duration, Executors: f.executors, DefaultForks: f.defaultForks,
		RetainRuns: f.retainRuns.Duration, RetainEvents: f.retainEvents.Duration, LogCap: int64(f.logCap),
		KillGrace: f.killGrace.Duration, DrainTimeout: f.drainTimeout.Duration, WorkDir: work, Name: f.name, Queues: f.queues,
		Open: f.open, MetricsAuth: f.metricsAuth, Events: f.events, PublicURL: strings.TrimRight(f.publicURL, "/"),
		TrustedProxies: proxies, Log: log, Announce: w.out,
		SigningKeyFile: f.signingKeyFile, SigningKey: secret.Text(w.env(signingKeyEnv)), AuditBeat: f.auditBeat.Duration,
		StrictGrants: f.strictGrants, ReadOnly: f.readOnly, InsecureCookies: f.insecureCookies, SessionTTL: f.sessionTTL.Duration,
		Info: system.Info{Version: b.Version, Commit: b.Commit, Started: clock.New().Now()},
	}
	if err := errors.Join(f.signIn.apply(&s, w), f.catalog.apply(&s, w), f.secrets.apply(&s), f.notify.apply(&s, w)); err != nil {
		return compose.Settings{}, usageError{err}
	}
	if err := s.Validate(); err != nil {
		return compose.Settings{}, usageError{err}
	}
	return s, nil
}

// prefixes reads the networks of a flag; a plain address is a network of one.
func prefixes(flag string, list []string) ([]netip.Prefix, error) {
	out := make([]netip.Prefix, 0, len(list))
	for _, text := range list {
		if addr, err := netip.ParseAddr(text); err == nil {
			out = append(out, netip.PrefixFrom(addr, addr.BitLen()))
			continue
		}
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%s: expected networks such as 10.0.0.0/8", flag)
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

// serve runs until a signal or an error of the server itself. The first signal drains, the second ends the process.
func (f *serveFlags) serve(ctx context.Context, w world) error {
	s, err := f.settings(w)
	if err != nil {
		return err
	}
	if w.env("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if err := lifecycle.NoCoreDumps(); err != nil {
		s.Log.Warn("a crash may leave secrets in a core dump", "error", err)
	}
	ctx, stop := lifecycle.Watch(ctx, func(sig os.Signal) {
		s.Log.Warn("ending at once", "signal", sig.String())
		os.Exit(exitFailed)
	})
	defer stop()
	srv, err := compose.NewServer(s)
	if err != nil {
		return err
	}
	if err := srv.Start(ctx); err != nil {
		return err
	}
	var failed error
	select {
	case <-ctx.Done():
		s.Log.Info("draining", "drain_timeout", s.DrainTimeout.String())
	case failed = <-srv.Failed():
		s.Log.Error("the server cannot go on", "error", failed)
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.StopTimeout())
	defer cancel()
	if err := errors.Join(failed, srv.Stop(end)); err != nil {
		return err
	}
	s.Log.Info("stopped")
	return nil
}
