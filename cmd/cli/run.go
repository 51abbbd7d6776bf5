package cli

import (
	"context"
	"errors"
	"net/http"
	"path"
	"slices"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/ports/runs"
)

const runExample = `  writ run site.yml --project site -i production --limit web
  writ run site.yml -i ./hosts.ini
  writ run --tool bash --command 'uptime'
  writ run --tool python --file report.py --extra-var month=5`

func runCommand(w environment) *cobra.Command {
	var f runFlags
	w.conn = &connection{}
	c := &cobra.Command{
		Use: "run [PLAYBOOK]", Short: "Submit a run and follow it", Example: runExample, Args: args(cobra.MaximumNArgs(1)),
		Long: "Submits a run and, on a terminal, follows it. Objects are named by name or id. The value of --inventory\n" +
			"is a path on the executing machine if it has a / or , or ends in .ini, .yml, .yaml, .json, .toml, .cfg,\n" +
			".txt, .py or .sh; anything else is the name of a stored inventory. Ctrl-C ends the following, and the run\n" +
			"continues.",
	}
	f.register(w, c)
	return clientCommand(w, c, func(ctx context.Context, cl *client, a []string, out printer) error {
		if err := f.positional(a); err != nil {
			return err
		}
		f.unlessSet(c, out)
		return f.submit(ctx, cl, out)
	})
}

// following are the flags of a command that submits a run.
type following struct{ follow, raw bool }

func (f *following) register(c *cobra.Command) {
	c.Flags().BoolVarP(&f.follow, "follow", "f", false, "follow the run to its end (default on a terminal)")
	c.Flags().BoolVar(&f.raw, "log", false, "show the tool's output instead of progress")
}

// unlessSet makes a command follow its run on a terminal unless --follow is set.
func (f *following) unlessSet(c *cobra.Command, out printer) {
	if !c.Flags().Changed("follow") {
		f.follow = newScreen(out.environment).tty && !out.json
	}
}

// show follows a submitted run to its end, or prints it. The warnings of the answer come first.
func (f *following) show(ctx context.Context, c *client, r record, out printer) error {
	r.warn(out)
	if f.follow {
		return followRun(ctx, c, r.ID, f.raw, out, r.Warnings...)
	}
	return out.print(r, "%s", oneLine(r.ID, 80))
}

// positional takes a playbook as the argument. Other words are more likely a mistyped command than a playbook.
func (f *runFlags) positional(a []string) error {
	switch {
	case len(a) == 0:
		return nil
	case f.playbook != "" || f.command != "" || f.file != "":
		return usagef("%q: the flags say already what to run", a[0])
	case !slices.Contains([]string{".yml", ".yaml", ".json"}, path.Ext(a[0])):
		return usagef("unknown command %q for \"writ run\"; a playbook ends in .yml or .yaml, or is given with "+
			"--playbook, and a script with --command", a[0])
	}
	f.playbook = a[0]
	return nil
}

func (f *runFlags) submit(ctx context.Context, c *client, out printer) error {
	body, err := f.body(out.environment)
	if err != nil {
		return err
	}
	if body["playbook"] == nil && body["command"] == nil {
		return usagef("nothing to run: give --playbook, --command or --file")
	}
	if err := f.resolve(ctx, c, body); err != nil {
		return err
	}
	return f.send(ctx, c, "/v1/runs", f.key, body, out)
}

// send submits a run, with a key for repetitions unless it is empty, and shows it.
func (f *following) send(ctx context.Context, c *client, path, key string, body any, out printer) error {
	with := *c
	if key != "" {
		with.header = http.Header{"Idempotency-Key": {key}}
	}
	var r record
	if err := with.call(ctx, http.MethodPost, path, body, &r); err != nil {
		return err
	}
	return f.show(ctx, c, r, out)
}

// followRun shows a run to its end, a pipeline with its steps, and fails unless it succeeded. Warnings that were shown
// before are not repeated.
func followRun(ctx context.Context, c *client, id string, raw bool, out printer, shown ...warning) error {
	w := out.environment
	ctx, stop := interruptible(ctx)
	defer stop()
	if out.json {
		r, err := c.follow(ctx, id, nullWatcher{outage{w.err}})
		if err != nil {
			return stopped(ctx, w, id, err)
		}
		return errors.Join(out.document(r), r.verdict())
	}
	p := newProgress(newScreen(w), raw)
	p.outage, p.shown = outage{w.err}, shown
	r, err := c.followFamily(ctx, id, p, w.err)
	if err != nil {
		p.flush()
		return stopped(ctx, w, id, err)
	}
	switch r.Kind {
	case "split":
		c.partsEnd(ctx, p.screen, id)
		p.end(r, nil)
	case "pipeline":
		c.stepsEnd(ctx, p.screen, &r)
		p.end(r, nil)
	default:
		p.end(r, c.failures(ctx, id, &p.outcome))
	}
	return r.verdict()
}

// stopped is the end of a command whose following ended before the run.
func stopped(ctx context.Context, w environment, id string, err error) error {
	if ctx.Err() != nil {
		return detached(w, id)
	}
	return err
}

// nullWatcher watches without showing anything.
type nullWatcher struct{ outage }

func (nullWatcher) run(record)          {}
func (nullWatcher) event(event)         {}
func (nullWatcher) log(string) error    { return nil }
func (nullWatcher) waits([]runs.Reason) {}
