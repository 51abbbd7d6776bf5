package cli

import (
	"context"
	"errors"
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
	}
	f.register(c)
	return clientCommand(w, c, func(ctx context.Context, cl *client, _ []string, out printer) error {
		f.unlessSet(c, out)
		return f.submit(ctx, cl, out)
	})
}

// following are the flags of a command that submits a run.
type following struct{ follow, raw bool }

// unlessSet makes a command follow its run on a terminal unless --follow is set.
func (f *following) unlessSet(c *cobra.Command, out printer) {
	if !c.Flags().Changed("follow") {
		f.follow = newScreen(out.environment).tty && !out.json
	}
}

// show follows a submitted run to its end, or prints it.
func (f *following) show(ctx context.Context, c *client, r record, out printer) error {
	if f.follow {
		return followRun(ctx, c, r.ID, f.raw, out)
	}
	return out.print(r, "%s", oneLine(r.ID, 80))
}

func (f *runFlags) submit(ctx context.Context, c *client, out printer) error {
	body, err := f.body(out.environment)
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
	return f.show(ctx, c, r, out)
}

// followRun shows a run to its end and fails unless it succeeded.
func followRun(ctx context.Context, c *client, id string, raw bool, out printer) error {
	w := out.environment
	ctx, stop := interruptible(ctx)
	defer stop()
	p := newProgress(newScreen(w), raw)
	p.outage = outage{w.err}
	var to watcher = p
	if out.json {
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
	if out.json {
		return errors.Join(out.document(r), r.verdict())
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
