package cli

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/writ-automation/writ/cmd/compose"
	"github.com/writ-automation/writ/platform/clock"
)

// demoAddr is another port than that of serve, so that both run on one machine.
const demoAddr = "127.0.0.1:8085"

func demoCommand(w environment) *cobra.Command {
	f := &serveFlags{}
	var open bool
	c := &cobra.Command{
		Use: "demo", Short: "Run a server with example content that refuses changes", Args: args(cobra.NoArgs),
		Long: "Run a server with example content: 90 days of a fleet of 240 hosts, made at the start in a temporary\n" +
			"directory, which is removed at the end. Everybody on this machine may see everything, and changes are\n" +
			"refused. Runs go on meanwhile; they execute nothing. " + fromEverywhere,
		Example: "  writ demo --open",
		RunE: func(c *cobra.Command, _ []string) error {
			started := clock.Start()
			if err := f.load(c.Flags(), w); err != nil {
				return err
			}
			s, err := f.settings(w)
			if err != nil {
				return err
			}
			return live(c.Context(), w, &s.Executor, func() (daemon, error) {
				d, err := compose.NewDemo(s)
				if err != nil {
					return nil, err
				}
				return &shownDemo{Demo: d, w: w, started: started, open: open, log: s.Log}, nil
			})
		},
	}
	some := only(f, "config", "addr", "log-level", "log-format", "drain-timeout")
	f.Addr = demoAddr
	_ = some.Lookup("log-level").Value.Set("error")
	_ = some.Lookup("drain-timeout").Value.Set("1s")
	some.VisitAll(func(x *pflag.Flag) { x.DefValue = x.Value.String() })
	c.Flags().AddFlagSet(some)
	c.Flags().BoolVar(&open, "open", false, "open the browser")
	return c
}

// only returns some of the flags of serve. The others have their defaults.
func only(f *serveFlags, names ...string) *pflag.FlagSet {
	all, some := pflag.NewFlagSet("", pflag.ContinueOnError), pflag.NewFlagSet("", pflag.ContinueOnError)
	f.register(all)
	for _, n := range names {
		some.AddFlag(all.Lookup(n))
	}
	return some
}

// shownDemo prints where the demo is once it is ready.
type shownDemo struct {
	*compose.Demo
	w       environment
	started clock.Stopwatch
	open    bool
	log     *slog.Logger
}

// Start starts the demo.
func (d *shownDemo) Start(ctx context.Context) error {
	if err := d.Demo.Start(ctx); err != nil {
		return err
	}
	url := "http://" + d.Addr() + "/ui/"
	_, err := fmt.Fprintf(d.w.out, "The demo is ready after %.1f s: %s\n"+
		"It refuses changes, and its directory %s is removed at the end (Ctrl-C).\n"+
		"Two receipts to verify at http://%s/verify or with 'writ audit verify FILE'. In the second one a word is forged:\n"+
		"  %s\n  %s\n", d.started.Elapsed().Seconds(), url, d.Dir, d.Addr(), d.Receipt(), d.Forged())
	if err == nil && d.open {
		if failed := startBrowser(ctx, d.w, url); failed != nil {
			d.log.WarnContext(ctx, "the browser was not opened", "error", failed)
		}
	}
	return err
}
