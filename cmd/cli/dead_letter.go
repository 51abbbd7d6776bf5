package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"
)

func deadLetterCommand(w environment) *cobra.Command {
	return group("dead-letter", "List, retry and delete dead letters", deadLetterRetryCommand(w))
}

func deadLetterRetryCommand(w environment) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "retry ID...", Short: "Retry dead letters", Args: args(cobra.ArbitraryArgs),
		Long: "Deliver each event again to its subscriber and to no other. A dead letter leaves the list once\n" +
			"the subscriber has handled the event.",
		PreRunE: func(_ *cobra.Command, ids []string) error {
			if all == (len(ids) > 0) {
				return usagef("expected ids or --all")
			}
			return nil
		},
	}
	c.Flags().BoolVar(&all, "all", false, "every dead letter")
	return objectsCommand(w, c, func(ctx context.Context, c *client, ids []string, out printer) error {
		if all {
			list, err := c.rows(ctx, "/v1/dead-letters", "dead_letters", nil)
			if err != nil {
				return err
			}
			for _, l := range list {
				ids = append(ids, stringField(l, "id"))
			}
		}
		return eachID(out, ids, "retried", func(id string) error {
			return c.call(ctx, http.MethodPost, "/v1/dead-letters/"+url.PathEscape(id)+"/retry", nil, nil)
		})
	}, "dead-letter")
}

// eachID acts on each id, also after a refusal, and prints the results.
func eachID(out printer, ids []string, did string, act func(id string) error) error {
	done := make([]string, 0, len(ids))
	var refused error
	for _, id := range ids {
		if err := act(id); err != nil {
			refused = errors.Join(refused, fmt.Errorf("%s: %w", plainText(id), err))
			continue
		}
		done = append(done, id)
		if !out.json {
			_, _ = fmt.Fprintf(out.out, "%s %s\n", did, plainText(id))
		}
	}
	if out.json {
		return errors.Join(refused, out.document(map[string]any{did: done}))
	}
	return refused
}
