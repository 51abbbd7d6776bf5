package cli

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/cmd/compose"
	"github.com/writ-automation/writ/ports/audit"
)

// anchorView is an anchor as --json shows it.
type anchorView struct {
	ID     string    `json:"id"`
	Kind   string    `json:"kind"`
	Size   int64     `json:"size"`
	Root   []byte    `json:"root"`
	MadeAt time.Time `json:"made_at"`
	Source string    `json:"source,omitempty"`
}

func anchorCommand(w environment) *cobra.Command {
	var in install
	var tsa, witness, witnessKey, headFile string
	var asJSON bool
	c := &cobra.Command{
		Use: "anchor", Short: "Sign the current head and anchor it here and outside", Args: args(cobra.NoArgs),
		Long: "Signs the head of the chain and stores it as an anchor, which the chain must satisfy from then on. An anchor outside of the\n" +
			"server also shows a change by someone who has the database and the signing key: run this hourly with cron.",
		RunE: func(c *cobra.Command, _ []string) error {
			if (witness == "") != (witnessKey == "") {
				return usagef("--witness and --witness-key belong together")
			}
			by, err := compose.Outsiders(tsa, witness, witnessKey, headFile)
			if err != nil {
				return usageError{err}
			}
			return in.with(c.Context(), w, func(ctx context.Context, t *compose.Trail) error {
				// Anchors of the other services are stored even if one service failed.
				made, err := t.Admin.Anchor(ctx, by)
				if len(made) == 0 {
					return err
				}
				return errors.Join(printAnchors(w, made, asJSON), err)
			})
		},
	}
	in.register(c)
	c.Flags().StringVar(&tsa, "tsa", "", "`URL` of a time-stamping authority (RFC 3161)")
	c.Flags().StringVar(&witness, "witness", "", "`URL` of a witness (C2SP tlog-witness)")
	c.Flags().StringVar(&witnessKey, "witness-key", "", "verifier `VKEY` of the witness")
	c.Flags().StringVar(&headFile, "head-file", "", "`file` to write the head to as well")
	jsonFlag(c, &asJSON)
	return c
}

func printAnchors(w environment, made []audit.Anchor, asJSON bool) error {
	if asJSON {
		views := make([]anchorView, 0, len(made))
		for _, a := range made {
			views = append(views, anchorView{a.ID, a.Kind, a.Size, a.Root[:], a.MadeAt, a.Source})
		}
		return printJSON(w.out, map[string]any{"anchors": views})
	}
	for _, a := range made {
		if _, err := fmt.Fprintf(w.out, "anchored %s as %s (%s) %s\n", entries(a.Size), plainText(a.Kind), a.ID,
			oneLine(a.Source, 80)); err != nil {
			return err
		}
	}
	return nil
}

func keyCommand(w environment) *cobra.Command {
	c := &cobra.Command{
		Use: "key", Short: "Show and change the signing and encryption keys", Args: args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(keyShowCommand(w), keyRotateCommand(w), keyRewrapCommand(w))
	return c
}

// keyView is a key as --json shows it.
type keyView struct {
	KID       string    `json:"kid"`
	Use       string    `json:"use"`
	Status    string    `json:"status"`
	FirstSize int64     `json:"first_size"`
	LastSize  *int64    `json:"last_size,omitempty"`
	NotBefore time.Time `json:"not_before"`
}

func keyShowCommand(w environment) *cobra.Command {
	var in install
	var asJSON bool
	c := &cobra.Command{
		Use: "show", Short: "List the keys, as seal.json publishes them", Args: args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			return in.with(c.Context(), w, func(ctx context.Context, t *compose.Trail) error {
				list, err := t.Admin.Keys(ctx)
				if err != nil {
					return err
				}
				return printKeys(w, list, asJSON)
			})
		},
	}
	in.register(c)
	jsonFlag(c, &asJSON)
	return c
}

func keyRotateCommand(w environment) *cobra.Command {
	var in install
	var asJSON bool
	c := &cobra.Command{
		Use: "rotate", Short: "Rotate the signing keys", Args: args(cobra.NoArgs),
		Long: "Makes new keys and writes them to the signing key's file. The old keys sign no head after the current one.\n" +
			"Every server of the install needs the new file.",
		RunE: func(c *cobra.Command, _ []string) error {
			return in.with(c.Context(), w, func(ctx context.Context, t *compose.Trail) error {
				list, err := t.Admin.Rotate(ctx, t.ReplaceKey)
				if err != nil {
					return err
				}
				return printKeys(w, list, asJSON)
			})
		},
	}
	in.register(c)
	jsonFlag(c, &asJSON)
	return c
}

func printKeys(w environment, list []audit.PublicKey, asJSON bool) error {
	if asJSON {
		views := make([]keyView, 0, len(list))
		for _, k := range list {
			v := keyView{KID: k.KID, Use: k.Use, Status: k.Status, FirstSize: k.FirstSize, NotBefore: k.NotBefore}
			if k.Status == "retired" {
				v.LastSize = &k.LastSize
			}
			views = append(views, v)
		}
		return printJSON(w.out, map[string]any{"keys": views})
	}
	tw := tabwriter.NewWriter(w.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(tw, "KEY\tUSE\tSTATUS\tFROM\tTO\tSINCE")
	for _, k := range list {
		last := "-"
		if k.Status == "retired" {
			last = fmt.Sprint(k.LastSize)
		}
		_, _ = fmt.Fprintf(tw, "%s\t%s\t%s\t%d\t%s\t%s\n", k.KID, k.Use, k.Status, k.FirstSize, last, instant(k.NotBefore))
	}
	return tw.Flush()
}

func eraseCommand(w environment) *cobra.Command {
	var in install
	var seqs []int64
	var ground string
	var asJSON bool
	c := &cobra.Command{
		Use: "erase", Short: "Erase the private values of entries", Args: args(cobra.NoArgs),
		Long: "Deletes names, addresses, texts and details of the entries, and records that it did. The chain stays whole.",
		RunE: func(c *cobra.Command, _ []string) error {
			if len(seqs) == 0 || ground == "" {
				return usagef("--seq and --ground are needed")
			}
			return in.with(c.Context(), w, func(ctx context.Context, t *compose.Trail) error {
				if err := t.Admin.Erase(ctx, seqs, ground); err != nil {
					return err
				}
				if asJSON {
					return printJSON(w.out, map[string]any{"erased": seqs, "ground": ground})
				}
				_, err := fmt.Fprintf(w.out, "erased the private values of %s\n", entries(int64(len(seqs))))
				return err
			})
		},
	}
	in.register(c)
	c.Flags().Int64SliceVar(&seqs, "seq", nil, "`numbers` of entries: 17,18")
	c.Flags().StringVar(&ground, "ground", "", "legal `code`, such as gdpr_17")
	jsonFlag(c, &asJSON)
	return c
}

func rollbackCommand(w environment) *cobra.Command {
	var in install
	var reason string
	var asJSON bool
	c := &cobra.Command{
		Use: "accept-rollback", Short: "Accept a database that was restored", Args: args(cobra.NoArgs),
		Long: "Begins a new epoch if the chain does not continue a head that was seen before. The chain then records what was lost, why,\n" +
			"and who accepted it.",
		RunE: func(c *cobra.Command, _ []string) error {
			if reason == "" {
				return usagef("--reason is needed")
			}
			return in.with(c.Context(), w, func(ctx context.Context, t *compose.Trail) error {
				e, err := t.Admin.AcceptRollback(ctx, reason)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(w.out, map[string]any{"epoch": e.N, "origin": e.Origin, "first_seq": e.FirstSeq})
				}
				_, err = fmt.Fprintf(w.out, "epoch %d begins at entry %d: %s\n", e.N, e.FirstSeq, plainText(e.Origin))
				return err
			})
		},
	}
	in.register(c)
	c.Flags().StringVar(&reason, "reason", "", "reason; it is stored permanently")
	jsonFlag(c, &asJSON)
	return c
}
