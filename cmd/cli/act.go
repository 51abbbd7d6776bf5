package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strconv"

	"github.com/spf13/cobra"
)

// interruptible returns a context that an interrupt ends.
func interruptible(ctx context.Context) (context.Context, func()) {
	return signal.NotifyContext(ctx, os.Interrupt)
}

// detached means that an interrupt ended only the following of the run.
func detached(w environment, id string) error {
	_, _ = fmt.Fprintf(w.err,
		"writ: no longer following %[1]s; the run continues.\n  follow again  writ logs -f %[1]s\n  end it        writ "+
			"cancel %[1]s\n",
		oneLine(id, 80))
	return errSilent
}

// outage reports on standard error that the connection broke and that it was restored.
type outage struct{ err io.Writer }

func (o outage) lost(err error) {
	if err != nil {
		_, _ = fmt.Fprintf(o.err, "writ: the connection is lost, trying again: %s\n", oneLine(err.Error(), 300))
	} else {
		_, _ = fmt.Fprintln(o.err, "writ: connected again")
	}
}

type decisionBody struct {
	Reason          string `json:"reason,omitempty"`
	OverrideWindows bool   `json:"override_windows,omitempty"`
}

// actionFlags are those of the commands that act on runs.
type actionFlags struct {
	confirmFlag

	reason, match string
	override      bool
}

func cancelCommand(w environment) *cobra.Command {
	return actionCommand(w, "cancel", "End held, pending or running runs", false)
}

func approveCommand(w environment) *cobra.Command {
	return actionCommand(w, "approve", "Approve held runs", true)
}

func rejectCommand(w environment) *cobra.Command {
	return actionCommand(w, "reject", "Reject held runs", true)
}

// actionCommand is a command that acts on runs and prints their states. Several at once take a confirmation.
func actionCommand(w environment, verb, short string, withReason bool) *cobra.Command {
	var f actionFlags
	c := &cobra.Command{
		Use: verb + " RUN...", Short: short, Args: args(cobra.MinimumNArgs(1)), Long: short + ". " + latestHelp +
			"\nSeveral at once take a confirmation, or --yes.",
		Example: "  writ " + verb + " latest\n" +
			"  writ " + verb + " --yes $(writ runs --status pending_approval --jq '.runs[].id')",
	}
	f.confirmFlag.register(c)
	if withReason {
		c.Flags().StringVarP(&f.reason, "reason", "m", "", "reason; it is recorded")
		c.Flags().StringVar(&f.match, "match", "", "`digest` of what the decision is about, which writ runs RUN shows")
	}
	if verb == "approve" {
		c.Flags().BoolVar(&f.override, "override-windows", false, "let the run start whatever windows say")
	}
	return ofRuns(w, c, func(ctx context.Context, c *client, a []string, out printer) error {
		if len(a) > 1 && f.match != "" {
			return usagef("--match is the digest of one run: name one")
		}
		if len(a) > 1 {
			if err := f.ask(out, verb+" "+count(len(a), "run")); err != nil {
				return err
			}
		}
		return f.all(ctx, c, verb, a, out)
	})
}

// all acts on each run. One that fails does not keep the others from their action.
func (f *actionFlags) all(ctx context.Context, c *client, verb string, names []string, out printer) error {
	if len(names) == 1 {
		r, err := f.act(ctx, c, verb, names[0])
		if err != nil {
			return err
		}
		return f.printed(ctx, c, r, out)
	}
	done, failed := []record{}, false
	for _, name := range names {
		r, err := f.act(ctx, c, verb, name)
		switch {
		case ctx.Err() != nil:
			return err
		case err != nil:
			failed = true
			_, _ = fmt.Fprintf(out.err, "writ: %s: %s\n", oneLine(name, 80), err)
			continue
		case out.json:
			done = append(done, r)
		default:
			if err := f.printed(ctx, c, r, out); err != nil {
				return err
			}
		}
	}
	var err error
	if out.json {
		err = out.document(map[string]any{"runs": done, "count": len(done)})
	}
	if failed {
		err = errors.Join(err, errSilent)
	}
	return err
}

func (f *actionFlags) act(ctx context.Context, c *client, verb, name string) (r record, err error) {
	id, err := c.runID(ctx, name)
	if err != nil {
		return r, err
	}
	var body any
	if f.reason != "" || f.override {
		body = decisionBody{f.reason, f.override}
	}
	with := *c
	if f.match != "" {
		with.header = http.Header{"If-Match": {strconv.Quote(f.match)}}
	}
	return r, with.call(ctx, http.MethodPost, runPath(id, "/"+verb), body, &r)
}

// printed prints the state of a run after an action, and what a held run still needs.
func (f *actionFlags) printed(ctx context.Context, c *client, r record, out printer) error {
	s := newScreen(out.environment)
	state := s.paint(r.state(), oneLine(r.state(), 40))
	if r.Canceling && !r.ended() {
		state = s.paint("canceled", "is being canceled")
	}
	err := out.print(r, "%s %s", oneLine(r.ID, 80), state)
	if err == nil && r.held() && !out.json {
		printWhy(ctx, s, c, r.ID)
	}
	return err
}
