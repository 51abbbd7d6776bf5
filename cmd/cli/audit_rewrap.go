package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/cmd/compose"
	"github.com/writ-automation/writ/ports/actor"
)

// rewrapView is the result of a rewrap for --json.
type rewrapView struct {
	KeyID   string         `json:"key_id"`
	Held    map[string]int `json:"held"`
	Wrapped map[string]int `json:"wrapped"`
	Lost    []string       `json:"lost"`
}

func keyRewrapCommand(w environment) *cobra.Command {
	var in install
	var keyFile, to string
	var addKey bool
	c := &cobra.Command{
		Use: "rewrap", Short: "Rotate the encryption key and rewrap every secret", Args: args(cobra.NoArgs),
		Long: "Makes a new key, puts it before the others in the encryption key's file, and rewraps the data key of " +
			"every sealed secret in the\n" +
			"database with it. Servers keep running and read the changed file automatically. The old keys stay in the " +
			"file, after the new one:\n" +
			"remove them when no backup needs them.\n\n" +
			"If each server has its own file: make the key with --add-key, which does not use it yet, copy the file to all " +
			"servers,\n" +
			"then use --to ID. If the key comes from the environment: put the new key on the first line, restart the\n" +
			"servers, then use --to ID.",
	}
	in.register(c)
	c.Flags().StringVar(&keyFile, "encryption-key-file", "", "`file` of the encryption keys (default as for serve)")
	c.Flags().BoolVar(&addKey, "add-key", false, "only add a new key at the end of the file and print its id")
	c.Flags().StringVar(&to, "to", "", "the key with this `id`, instead of a new one")
	return printCommand(w, c, func(ctx context.Context, _ []string, out printer) error {
		if addKey && to != "" {
			return usagef("--add-key and --to cannot be used together")
		}
		s, err := in.settings(w)
		if err != nil {
			return err
		}
		if keyFile != "" {
			s.EncryptionKeyFile = keyFile
		}
		ctx = actor.With(ctx, actor.Actor{Type: actor.System, Name: commandLine()})
		if addKey {
			return addEncryptionKey(ctx, s, out)
		}
		return rewrap(ctx, s, to, out)
	})
}

func addEncryptionKey(ctx context.Context, s compose.Settings, out printer) error {
	id, err := compose.AddEncryptionKey(ctx, s)
	if err != nil {
		return err
	}
	return out.print(map[string]any{"key_id": id},
		"added the key %s; copy the file to every server, then: writ audit key rewrap --to %s", id, id)
}

func rewrap(ctx context.Context, s compose.Settings, to string, out printer) error {
	done, err := compose.Rewrap(ctx, s, to)
	if err != nil {
		return err
	}
	if out.json {
		err = out.document(rewrapView{KeyID: done.KeyID, Held: done.Total, Wrapped: done.Wrapped,
			Lost: append([]string{}, done.Lost...)})
	} else {
		_, err = fmt.Fprintf(out.out, "secrets are sealed under the key %s\n", done.KeyID)
		for _, what := range slices.Sorted(maps.Keys(done.Total)) {
			if err == nil {
				_, err = fmt.Fprintf(out.out, "%s: %d rewrapped, %d in total\n", what, done.Wrapped[what], done.Total[what])
			}
		}
	}
	if err == nil && len(done.Lost) > 0 {
		return fmt.Errorf("%d secrets cannot be decrypted and are unchanged: %s", len(done.Lost),
			oneLine(strings.Join(done.Lost, " "), 1000))
	}
	return err
}
