package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/cmd/compose"
	"github.com/writ-automation/writ/platform/config"
	"github.com/writ-automation/writ/platform/lifecycle"
)

const (
	// gcPercent saves memory for a little processor time, since an idle server has little to collect.
	gcPercent = 60
	// startGCPercent applies until the process is ready: the heap only grows until then, and collecting it again and
	// again took a fifth of the start.
	startGCPercent = 400
)

// fromEverywhere ends the help of commands that run until they are stopped.
const fromEverywhere = "Every flag can also be set by the environment (WRIT_ and the flag's name, as in\n" +
	"WRIT_RUN_TIMEOUT) and by a YAML file (--config). A flag\n" +
	"overrides the environment, the environment overrides the file, and the file overrides the default."

func serveCommand(w environment) *cobra.Command {
	f := &serveFlags{}
	c := &cobra.Command{
		Use: "serve", Short: "Run a server", Args: args(cobra.NoArgs), Long: "Run a server. " + fromEverywhere,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.load(c.Flags(), w); err != nil {
				return err
			}
			s, err := f.settings(w)
			if err != nil {
				return err
			}
			return live(c.Context(), w, &s.Executor, func() (daemon, error) { return compose.NewServer(s) })
		},
	}
	f.register(c.Flags())
	sections(c, serveSections())
	return c
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

// daemon is a server or a worker, assembled.
type daemon interface {
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
	// Failed reports a fatal error.
	Failed() <-chan error
}

// forgetEnvironment removes the secrets from the environment of this process, which have been read: nothing that it
// starts inherits them.
func forgetEnvironment(x *compose.Executor) error {
	names := append(reserved(), config.EnvName(workerTokenFlag), config.EnvName("db"))
	for _, variables := range x.PluginEnv {
		names = slices.AppendSeq(names, maps.Keys(variables))
	}
	for _, name := range names {
		if strings.HasPrefix(name, "WRIT_CRASH_") { // they are no secrets, and are read later
			continue
		}
		if err := os.Unsetenv(name); err != nil {
			return fmt.Errorf("forget %s: %w", name, err)
		}
	}
	return nil
}

// live runs a daemon until a signal arrives or the daemon fails. The first signal drains, the second ends the
// process.
func live(ctx context.Context, w environment, x *compose.Executor, assemble func() (daemon, error)) error {
	ready := startMemory(w, x.Log)
	if err := lifecycle.NoCoreDumps(); err != nil {
		x.Log.Warn("a crash may leave secrets in a core dump", "error", err)
	}
	if err := forgetEnvironment(x); err != nil {
		return err
	}
	ctx, stop := lifecycle.Watch(ctx, func(sig os.Signal) {
		x.Log.Warn("stopping at once", "signal", sig.String())
		os.Exit(exitFailed)
	})
	defer stop()
	p, err := assemble()
	if err != nil {
		return err
	}
	err = p.Start(ctx)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		x.Log.Info("stopped before it was ready")
		return nil
	}
	if err != nil {
		return err
	}
	ready(ctx)
	var failed error
	select {
	case <-ctx.Done():
		x.Log.Info("draining", "drain_timeout", x.DrainTimeout.String())
	case failed = <-p.Failed():
		x.Log.Error("the process cannot continue", "error", failed)
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), x.StopTimeout())
	defer cancel()
	if err := errors.Join(failed, p.Stop(end)); err != nil {
		return err
	}
	x.Log.Info("stopped")
	return nil
}

// startMemory collects little garbage until the returned function is called, which returns the memory that only the
// start needed. An operator who sets GOGC decides alone.
func startMemory(w environment, log *slog.Logger) (ready func(context.Context)) {
	if w.env("GOGC") != "" {
		return func(context.Context) {}
	}
	debug.SetGCPercent(startGCPercent)
	return func(ctx context.Context) {
		debug.SetGCPercent(gcPercent)
		debug.FreeOSMemory()
		if err := lifecycle.UnmapProgram(); err != nil {
			log.DebugContext(ctx, "pages of the program stay mapped", "error", err)
		}
	}
}
