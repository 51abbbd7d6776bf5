package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/cmd/compose"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
)

// install selects the trail of a command: that of the database that serve would open with the same sources.
type install struct{ config, url, dataDir, keyFile string }

func (i *install) register(c *cobra.Command) {
	c.Flags().StringVar(&i.url, "db", "", "database (default as for serve)")
	c.Flags().StringVar(&i.dataDir, "data-dir", "", "the server's own `directory` (default as for serve)")
	c.Flags().StringVar(&i.keyFile, "signing-key-file", "", "`file` of the signing keys (default as for serve)")
	c.Flags().StringVar(&i.config, "config", "", "the server's YAML `file`")
}

// settings returns the settings of the server, overridden by the flags of the command.
func (i *install) settings(w environment) (compose.Settings, error) {
	serve, err := serveSettings(w, i.config)
	if err != nil {
		return compose.Settings{}, err
	}
	for flag, provided := range map[*string]string{&serve.DB: i.url, &serve.DataDir: i.dataDir,
		&serve.SigningKeyFile: i.keyFile} {
		if provided != "" {
			*flag = provided
		}
	}
	serve.logLevel = "error" // the command prints its own messages
	return serve.settings(w)
}

// with opens the trail for fn and closes it again.
func (i *install) with(ctx context.Context, w environment, fn func(context.Context, *compose.Trail) error) error {
	s, err := i.settings(w)
	if err != nil {
		return err
	}
	ctx = actor.With(ctx, actor.Actor{Type: actor.System, Name: commandLine()})
	t, err := compose.OpenTrail(ctx, s)
	if err != nil {
		return err
	}
	err = fn(ctx, t)
	return errors.Join(err, t.Close(context.WithoutCancel(ctx)))
}

func bundleCommand(w environment) *cobra.Command {
	var in install
	var q audit.BundleQuery
	var format, out string
	c := &cobra.Command{
		Use: "bundle", Short: "Write the chain, or a window of it, to a signed file", Args: args(cobra.NoArgs),
		Long: "Verifies the whole chain and every anchor, then writes the bundle, with the private values that were not " +
			"erased.",
		RunE: func(c *cobra.Command, _ []string) error {
			switch format {
			case "json":
			case "tiles":
				q.Tiles = true
			default:
				return usagef("--format takes json or tiles")
			}
			q.Private = true
			return in.with(c.Context(), w, func(ctx context.Context, t *compose.Trail) error {
				doc, err := t.Prover.Bundle(ctx, q)
				if err != nil {
					return err
				}
				return writeFile(w, out, func(to io.Writer) error { return doc.WriteTo(ctx, to) })
			})
		},
	}
	in.register(c)
	c.Flags().Int64Var(&q.From, "from", 0, "`number` of the first entry")
	c.Flags().Int64Var(&q.To, "to", 0, "`number` of the last entry")
	c.Flags().Int64Var(&q.Limit, "limit", 0, "only this `number` of the newest entries")
	c.Flags().StringVar(&format, "format", "json", "json, or tiles: a zip for third-party tools")
	c.Flags().StringVar(&out, "file", "-", "`file` to write; - is standard output")
	return c
}

func receiptCommand(w environment) *cobra.Command {
	var in install
	var q audit.ReceiptQuery
	var from, out string
	c := &cobra.Command{
		Use: "receipt RUN", Short: "Write the signed receipt of a run", Args: args(cobra.ExactArgs(1)),
		Long: "Writes the signed receipt of a run, by its id in the database. 'writ run receipt' asks a server, and takes\n" +
			"latest as well.",
		RunE: func(c *cobra.Command, a []string) error {
			if a[0] == latestRun {
				return usagef("the database knows runs by their ids; 'writ run receipt %s' asks the server", latestRun)
			}
			if from != "" {
				n, err := strconv.ParseInt(from, 10, 64)
				if err != nil || n < 0 {
					return usagef("--from takes a number of entries")
				}
				q.From = &n
			}
			q.Private = true
			return in.with(c.Context(), w, func(ctx context.Context, t *compose.Trail) error {
				r, err := t.Prover.Receipt(ctx, a[0], q)
				if err != nil {
					return err
				}
				return writeFile(w, out, func(to io.Writer) error {
					_, err := to.Write(r.Body)
					return err
				})
			})
		},
	}
	in.register(c)
	c.Flags().BoolVar(&q.Sparse, "sparse", false, "only the entries of the run, each with an inclusion proof")
	c.Flags().StringVar(&from, "from", "", "add a consistency proof from this number of `entries`")
	c.Flags().StringVar(&out, "file", "-", "`file` to write; - is standard output")
	return c
}

// writeFile writes a file whole or not at all. An existing path that is not a regular file, such as a device or a pipe,
// is written to and never replaced.
func writeFile(w environment, name string, fill func(io.Writer) error) error {
	if name == "-" {
		return fill(w.out)
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return writeInto(name, fill)
	}
	if to, err := filepath.EvalSymlinks(name); err == nil {
		name = to // the file behind a link is replaced, and not the link
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), ".writ-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", oneLine(name, maxDetail), err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // already gone after the renaming
	err = fill(tmp)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", oneLine(name, maxDetail), err)
	}
	return nil
}

// writeInto writes to a device or a pipe.
func writeInto(name string, fill func(io.Writer) error) error {
	to, err := os.OpenFile(name, os.O_WRONLY, 0) //nolint:gosec // the caller names it
	if err != nil {
		return err
	}
	if err := errors.Join(fill(to), to.Close()); err != nil {
		return fmt.Errorf("write %s: %w", oneLine(name, maxDetail), err)
	}
	return nil
}
