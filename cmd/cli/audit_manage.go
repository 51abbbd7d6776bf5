package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
	var tsa, witness, witnessKey, headFile string
	var by audit.AnchorRequest
	c := &cobra.Command{
		Use: "anchor", Short: "Sign the current head and store it as an anchor", Args: args(cobra.NoArgs),
		Long: "Signs the head of the chain and stores it as an anchor, which the chain has to satisfy from then on. A " +
			"time-stamp token or a\n" +
			"witness cosignature also detects an attacker who has both the database and the signing key: run this hourly " +
			"from cron.",
		PreRunE: func(*cobra.Command, []string) (err error) {
			if (witness == "") != (witnessKey == "") {
				return usagef("--witness and --witness-key are needed together")
			}
			if by, err = compose.Outsiders(tsa, witness, witnessKey, headFile); err != nil {
				return usageError{err}
			}
			return nil
		},
	}
	c.Flags().StringVar(&tsa, "tsa", "", "`URL` of a time-stamping authority (RFC 3161)")
	c.Flags().StringVar(&witness, "witness", "", "`URL` of a witness (C2SP tlog-witness)")
	c.Flags().StringVar(&witnessKey, "witness-key", "", "verifier `VKEY` of the witness")
	c.Flags().StringVar(&headFile, "head-file", "", "`file` that gets the head as well")
	return trailCommand(w, c, func(ctx context.Context, t *compose.Trail, _ []string, out printer) error {
		// Anchors of the other services are stored even if one service failed.
		made, err := t.Admin.Anchor(ctx, by)
		if len(made) == 0 {
			return err
		}
		return errors.Join(printAnchors(out, made), err)
	})
}

func printAnchors(out printer, made []audit.Anchor) error {
	if out.json {
		views := make([]anchorView, 0, len(made))
		for _, a := range made {
			views = append(views, anchorView{a.ID, a.Kind, a.Size, a.Root[:], a.MadeAt, a.Source})
		}
		return out.document(map[string]any{"anchors": views})
	}
	for _, a := range made {
		if _, err := fmt.Fprintf(out.out, "anchored %s as %s (%s) %s\n", entries(a.Size), plainText(a.Kind), a.ID,
			oneLine(a.Source, 80)); err != nil {
			return err
		}
	}
	return nil
}

func keyCommand(w environment) *cobra.Command {
	return group("key", "Show and change the signing and encryption keys", keyShowCommand(w), keyRotateCommand(w),
		keyRewrapCommand(w))
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
	return trailCommand(w, &cobra.Command{
		Use: "show", Short: "List the keys, as seal.json publishes them", Args: args(cobra.NoArgs),
	}, func(ctx context.Context, t *compose.Trail, _ []string, out printer) error {
		list, err := t.Admin.Keys(ctx)
		if err != nil {
			return err
		}
		return printKeys(out, list)
	})
}

func keyRotateCommand(w environment) *cobra.Command {
	var confirm confirmFlag
	c := &cobra.Command{
		Use: "rotate", Short: "Rotate the signing keys", Args: args(cobra.NoArgs),
		Long: "Makes new keys and writes them to the signing key's file. The old keys sign no head after the current one.\n" +
			"Every server of the install needs the new file.",
		PreRunE: func(*cobra.Command, []string) error {
			return confirm.ask(printer{environment: w}, "rotate the signing keys, so that the current ones sign no more")
		},
	}
	confirm.register(c)
	return trailCommand(w, c, func(ctx context.Context, t *compose.Trail, _ []string, out printer) error {
		list, err := t.Admin.Rotate(ctx, t.ReplaceKey)
		if err != nil {
			return err
		}
		return printKeys(out, list)
	})
}

func printKeys(out printer, list []audit.PublicKey) error {
	if out.json {
		views := make([]keyView, 0, len(list))
		for _, k := range list {
			v := keyView{KID: k.KID, Use: k.Use, Status: k.Status, FirstSize: k.FirstSize, NotBefore: k.NotBefore}
			if k.Status == "retired" {
				v.LastSize = &k.LastSize
			}
			views = append(views, v)
		}
		return out.document(map[string]any{"keys": views})
	}
	tw := tabwriter.NewWriter(out.out, 0, 0, 2, ' ', 0)
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
	var seqs []int64
	var ground string
	var confirm confirmFlag
	c := &cobra.Command{
		Use: "erase", Short: "Erase the private values of entries", Args: args(cobra.NoArgs),
		Long: "Deletes names, addresses, texts and details of the entries, and records the erasure. The chain stays intact.",
		PreRunE: func(*cobra.Command, []string) error {
			if len(seqs) == 0 || ground == "" {
				return usagef("--seq and --ground are needed")
			}
			return confirm.ask(printer{environment: w}, "erase for good the private values of "+
				entries(int64(len(seqs)))+": "+strings.Trim(fmt.Sprint(seqs), "[]"))
		},
	}
	c.Flags().Int64SliceVar(&seqs, "seq", nil, "`numbers` of entries: 17,18")
	c.Flags().StringVar(&ground, "ground", "", "legal `code`, such as gdpr_17")
	confirm.register(c)
	return trailCommand(w, c, func(ctx context.Context, t *compose.Trail, _ []string, out printer) error {
		if err := t.Admin.Erase(ctx, seqs, ground); err != nil {
			return err
		}
		return out.print(map[string]any{"erased": seqs, "ground": ground}, "erased the private values of %s",
			entries(int64(len(seqs))))
	})
}

func rollbackCommand(w environment) *cobra.Command {
	var reason string
	var confirm confirmFlag
	c := &cobra.Command{
		Use: "accept-rollback", Short: "Accept a database that was restored", Args: args(cobra.NoArgs),
		Long: "Begins a new epoch if the chain does not satisfy a head that was recorded earlier. An entry of the chain " +
			"records what was\n" +
			"lost, the reason, and who accepted it.",
		PreRunE: func(*cobra.Command, []string) error {
			if reason == "" {
				return usagef("--reason is needed")
			}
			return confirm.ask(printer{environment: w}, "accept that entries are lost, and begin a new epoch")
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "the reason as text; it is stored permanently")
	confirm.register(c)
	return trailCommand(w, c, func(ctx context.Context, t *compose.Trail, _ []string, out printer) error {
		e, err := t.Admin.AcceptRollback(ctx, reason)
		if err != nil {
			return err
		}
		return out.print(map[string]any{"epoch": e.N, "origin": e.Origin, "first_seq": e.FirstSeq},
			"epoch %d begins at entry %d: %s", e.N, e.FirstSeq, plainText(e.Origin))
	})
}
