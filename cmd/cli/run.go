package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"
)

const runExample = `  writ run --playbook site.yml --inventory hosts.ini --limit web
  writ run --tool bash --command 'uptime'
  writ run --tool python --file report.py --extra-var month=5`

func runCommand(w environment) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use: "run", Short: "Submit a run and follow it", Example: runExample, Args: args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if !c.Flags().Changed("follow") {
				f.follow = newScreen(w).tty && !f.asJSON
			}
			return f.submit(c.Context(), w)
		},
	}
	f.register(c)
	return c
}

func (f *runFlags) submit(ctx context.Context, w environment) error {
	c, err := f.conn.client(w)
	if err != nil {
		return err
	}
	body, err := f.body(w)
	if err != nil {
		return err
	}
	if body["playbook"] == nil && body["command"] == nil {
		return usagef("nothing to run: give --playbook, --command or --file")
	}
	var r record
	if err := c.call(ctx, http.MethodPost, "/v1/runs", body, &r); err != nil {
		return err
	}
	switch {
	case f.follow:
		return followRun(ctx, w, c, r.ID, f.raw, f.asJSON)
	case f.asJSON:
		return printJSON(w.out, r)
	default:
		_, err = fmt.Fprintln(w.out, r.ID)
		return err
	}
}

// followRun shows a run to its end and fails unless it succeeded.
func followRun(ctx context.Context, w environment, c *client, id string, raw, asJSON bool) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	p := newProgress(newScreen(w), raw)
	p.outage = outage{w.err}
	var to watcher = p
	if asJSON {
		to = nullWatcher{outage{w.err}}
	}
	r, err := c.follow(ctx, id, to)
	if err != nil {
		p.flush()
		if ctx.Err() != nil {
			return detached(w, id)
		}
		return err
	}
	if asJSON {
		return errors.Join(printJSON(w.out, r), r.verdict())
	}
	if r.Kind == "split" {
		c.partsEnd(ctx, p.screen, id)
		p.end(r, nil)
		return r.verdict()
	}
	p.end(r, c.failures(ctx, id, &p.outcome))
	return r.verdict()
}

// nullWatcher watches without showing anything.
type nullWatcher struct{ outage }

func (nullWatcher) run(record)       {}
func (nullWatcher) event(event)      {}
func (nullWatcher) log(string) error { return nil }
