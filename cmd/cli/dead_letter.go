package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/ports/page"
)

// deadLetter is an event that a subscriber did not handle.
type deadLetter struct {
	ID         string    `json:"id"`
	Event      string    `json:"event"`
	Subscriber string    `json:"subscriber"`
	Attempts   int       `json:"attempts"`
	Error      string    `json:"error"`
	FirstAt    time.Time `json:"first_at"`
	LastAt     time.Time `json:"last_at"`
}

func deadLetterCommand(w environment) *cobra.Command {
	return group("dead-letter", "List, retry and delete dead letters", deadLetterListCommand(w),
		deadLetterRetryCommand(w), deadLetterDeleteCommand(w))
}

// deadLetters reads all of them, the one that failed last first.
func (c *client) deadLetters(ctx context.Context) ([]deadLetter, error) {
	return everyRow(ctx, func(ctx context.Context, w page.Window) ([]deadLetter, int, error) {
		var list struct {
			DeadLetters []deadLetter `json:"dead_letters"`
			Total       int          `json:"total"`
		}
		err := c.call(ctx, http.MethodGet, "/v1/dead-letters?offset="+strconv.Itoa(w.Offset), nil, &list)
		return list.DeadLetters, list.Total, err
	})
}

func deadLetterListCommand(w environment) *cobra.Command {
	return clientCommand(w, &cobra.Command{
		Use: "list", Short: "List dead letters", Args: args(cobra.NoArgs),
	}, func(ctx context.Context, c *client, _ []string, out printer) error {
		list, err := c.deadLetters(ctx)
		switch {
		case err != nil:
			return err
		case out.json:
			return out.document(map[string]any{"dead_letters": append([]deadLetter{}, list...), "count": len(list)})
		case len(list) == 0:
			_, _ = fmt.Fprintln(w.err, "writ: no dead letters")
			return nil
		}
		now := clock.New().Now()
		rows := make([][]field, 0, len(list))
		for _, l := range list {
			rows = append(rows, []field{
				{text: oneLine(l.ID, 80)}, {text: oneLine(l.Event, 40)}, {text: oneLine(l.Subscriber, 40)},
				{text: strconv.Itoa(l.Attempts), number: true}, {text: age(now.Sub(l.LastAt)), number: true},
				{text: oneLine(l.Error, 60)},
			})
		}
		newScreen(w).table([]string{"ID", "EVENT", "SUBSCRIBER", "ATTEMPTS", "AGE", "ERROR"}, rows)
		return nil
	})
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
	return clientCommand(w, c, func(ctx context.Context, c *client, ids []string, out printer) error {
		if all {
			list, err := c.deadLetters(ctx)
			if err != nil {
				return err
			}
			for _, l := range list {
				ids = append(ids, l.ID)
			}
		}
		return eachID(out, ids, "retried", func(id string) error {
			return c.call(ctx, http.MethodPost, "/v1/dead-letters/"+url.PathEscape(id)+"/retry", nil, nil)
		})
	})
}

func deadLetterDeleteCommand(w environment) *cobra.Command {
	return clientCommand(w, &cobra.Command{
		Use: "delete ID...", Short: "Delete dead letters; their subscribers never get the events",
		Args: args(cobra.MinimumNArgs(1)),
	}, func(ctx context.Context, c *client, ids []string, out printer) error {
		return eachID(out, ids, "deleted", func(id string) error {
			return c.call(ctx, http.MethodDelete, "/v1/dead-letters/"+url.PathEscape(id), nil, nil)
		})
	})
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
