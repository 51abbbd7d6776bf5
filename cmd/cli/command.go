package cli

import (
	"context"
	"fmt"

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

// printer prints what a command did: for people, or as JSON with --json.
type printer struct {
	environment
	json bool
}

// print prints a line, or its view as JSON.
func (o printer) print(view any, line string, args ...any) error {
	if o.json {
		return printJSON(o.out, view)
	}
	_, err := fmt.Fprintf(o.out, line+"\n", args...)
	return err
}

// clientCommand completes a command that calls a server. run also gets the arguments.
func clientCommand(
	w environment, c *cobra.Command, run func(context.Context, *client, []string, printer) error,
) *cobra.Command {
	var conn connection
	out := printer{environment: w}
	c.RunE = func(c *cobra.Command, a []string) error {
		cl, err := conn.client(w)
		if err != nil {
			return err
		}
		return run(c.Context(), cl, a, out)
	}
	conn.register(c)
	jsonFlag(c, &out.json)
	return c
}

// accountsCommand completes a command that works on the accounts of a database.
func accountsCommand(
	w environment, c *cobra.Command, run func(context.Context, *compose.Accounts, []string, printer) error,
) *cobra.Command {
	var d database
	out := printer{environment: w}
	c.RunE = func(c *cobra.Command, a []string) error {
		return d.with(c.Context(), w, func(ctx context.Context, accounts *compose.Accounts) error {
			return run(ctx, accounts, a, out)
		})
	}
	d.register(c)
	jsonFlag(c, &out.json)
	return c
}

// trailCommand completes a command that works on the trail of a database.
func trailCommand(
	w environment, c *cobra.Command, run func(context.Context, *compose.Trail, []string, printer) error,
) *cobra.Command {
	var in install
	out := printer{environment: w}
	c.RunE = func(c *cobra.Command, a []string) error {
		return in.with(c.Context(), w, func(ctx context.Context, t *compose.Trail) error { return run(ctx, t, a, out) })
	}
	in.register(c)
	jsonFlag(c, &out.json)
	return c
}
