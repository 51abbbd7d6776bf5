package cli

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/platform/config"
	"github.com/writ-automation/writ/ports/page"
)

// workerToken is the token of a worker, with its text where it is new.
type workerToken struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Queues    []string  `json:"queues"`
	CreatedAt time.Time `json:"created_at"`
	CreatedBy string    `json:"created_by"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	Token     string    `json:"token,omitempty"`
}

func workerTokenCommand(w environment) *cobra.Command {
	return group("token", "Create, list and revoke the tokens of workers over the relay", workerTokenNewCommand(w),
		workerTokenListCommand(w), workerTokenRevokeCommand(w))
}

func workerTokenNewCommand(w environment) *cobra.Command {
	var name string
	var queues []string
	var ttl time.Duration
	c := &cobra.Command{
		Use: "new", Short: "Create a token for one worker and print it once", Args: args(cobra.NoArgs),
		PreRunE: func(*cobra.Command, []string) error {
			if name == "" {
				return usagef("expected --name, which the worker gets too")
			}
			return nil
		},
	}
	c.Flags().StringVar(&name, "name", "", "`name` of the worker, which it claims under")
	c.Flags().StringArrayVar(&queues, "queue", nil, "`queue` whose runs it may claim (repeatable; default only default)")
	config.DaysVar(c.Flags(), &ttl, "expires", 0, "how long the token is valid; 0 is without end")
	return clientCommand(w, c, func(ctx context.Context, c *client, _ []string, out printer) error {
		body := map[string]any{"name": name}
		if len(queues) > 0 {
			body["queues"] = queues
		}
		if ttl > 0 {
			body["expires_in"] = int64(ttl / time.Second)
		}
		var made workerToken
		if err := c.call(ctx, http.MethodPost, "/v1/worker-tokens", body, &made); err != nil {
			return err
		}
		return out.print(made, "%s", plainText(made.Token))
	})
}

// workerTokens reads all of them.
func (c *client) workerTokens(ctx context.Context) ([]workerToken, error) {
	return everyRow(ctx, func(ctx context.Context, w page.Window) ([]workerToken, int, error) {
		var list struct {
			WorkerTokens []workerToken `json:"worker_tokens"`
			Total        int           `json:"total"`
		}
		err := c.call(ctx, http.MethodGet, "/v1/worker-tokens?offset="+strconv.Itoa(w.Offset), nil, &list)
		return list.WorkerTokens, list.Total, err
	})
}

func workerTokenListCommand(w environment) *cobra.Command {
	return clientCommand(w, &cobra.Command{
		Use: "list", Short: "List the tokens of workers, without their texts", Args: args(cobra.NoArgs),
	}, func(ctx context.Context, c *client, _ []string, out printer) error {
		list, err := c.workerTokens(ctx)
		if err != nil {
			return err
		}
		if out.json {
			return out.document(map[string]any{"worker_tokens": append([]workerToken{}, list...), "count": len(list)})
		}
		rows := make([][]field, 0, len(list))
		for _, t := range list {
			rows = append(rows, []field{
				{text: oneLine(t.ID, 80)}, {text: oneLine(t.Name, 40)}, {text: oneLine(strings.Join(t.Queues, ","), 40)},
				{text: instant(t.CreatedAt)}, {text: instant(t.ExpiresAt)},
			})
		}
		newScreen(w).table([]string{"ID", "NAME", "QUEUES", "CREATED", "EXPIRES"}, rows)
		return nil
	})
}

func workerTokenRevokeCommand(w environment) *cobra.Command {
	return clientCommand(w, &cobra.Command{
		Use: "revoke ID...", Short: "Revoke tokens of workers everywhere at once", Args: args(cobra.MinimumNArgs(1)),
	}, func(ctx context.Context, c *client, ids []string, out printer) error {
		return eachID(out, ids, "revoked", func(id string) error {
			return c.call(ctx, http.MethodDelete, "/v1/worker-tokens/"+url.PathEscape(id), nil, nil)
		})
	})
}
