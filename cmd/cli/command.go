package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/cmd/compose"
)

// group is a command that only has commands below it.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Args: args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(commands...)
	return c
}

// printCommand completes a command that prints what it found or did.
func printCommand(
	w environment, c *cobra.Command, run func(context.Context, []string, printer) error,
) *cobra.Command {
	var f outputFlags
	c.RunE = func(c *cobra.Command, a []string) error {
		out, err := f.printer(w)
		if err != nil {
			return err
		}
		return run(c.Context(), a, out)
	}
	f.register(c)
	return c
}

// clientCommand completes a command that calls a server. run also gets the arguments.
func clientCommand(
	w environment, c *cobra.Command, run func(context.Context, *client, []string, printer) error,
) *cobra.Command {
	conn := w.conn
	if conn == nil {
		conn = &connection{}
	}
	conn.register(w, c)
	return printCommand(w, c, func(ctx context.Context, a []string, out printer) error {
		cl, err := conn.client(ctx, w)
		if err != nil {
			return err
		}
		return run(ctx, cl, a, out)
	})
}

// objectsCommand is clientCommand for a command whose arguments are objects of nouns, and completes them.
func objectsCommand(
	w environment, c *cobra.Command, run func(context.Context, *client, []string, printer) error, of ...string,
) *cobra.Command {
	if w.conn == nil {
		w.conn = &connection{}
	}
	c.ValidArgsFunction = completeArguments(w, of...)
	return clientCommand(w, c, run)
}

// ofRuns is objectsCommand for runs.
func ofRuns(
	w environment, c *cobra.Command, run func(context.Context, *client, []string, printer) error,
) *cobra.Command {
	return objectsCommand(w, c, run, "run")
}

// trailCommand completes a command that works on the trail of a database.
func trailCommand(
	w environment, c *cobra.Command, run func(context.Context, *compose.Trail, []string, printer) error,
) *cobra.Command {
	var in install
	in.register(c)
	return printCommand(w, c, func(ctx context.Context, a []string, out printer) error {
		return in.with(ctx, w, func(ctx context.Context, t *compose.Trail) error { return run(ctx, t, a, out) })
	})
}
