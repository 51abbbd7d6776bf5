package cli

import (
	"context"
	"fmt"
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
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Queues    []string   `json:"queues"`
	CreatedAt time.Time  `json:"created_at"`
	CreatedBy string     `json:"created_by"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	Token     string     `json:"token,omitempty"`
}

func workerTokenCommand(w environment) *cobra.Command {
	c := &cobra.Command{
		Use: "token", Short: "Create, list and revoke the tokens of workers over the relay", Args: args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(workerTokenNewCommand(w), workerTokenListCommand(w), workerTokenRevokeCommand(w))
	return c
}

func workerTokenNewCommand(w environment) *cobra.Command {
	var conn connection
	var name string
	var queues []string
	var ttl config.Duration
	var asJSON bool
	c := &cobra.Command{
		Use: "new", Short: "Create a token for one worker and print it once", Args: args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if name == "" {
				return usagef("expected --name, which the worker gets too")
			}
			cl, err := conn.client(w)
			if err != nil {
				return err
			}
			body := map[string]any{"name": name}
			if len(queues) > 0 {
				body["queues"] = queues
			}
			if ttl.Duration > 0 {
				body["expires_in"] = int64(ttl.Duration / time.Second)
			}
			var made workerToken
			if err := cl.call(c.Context(), http.MethodPost, "/v1/worker-tokens", body, &made); err != nil {
				return err
			}
			if asJSON {
				return printJSON(w.out, made)
			}
			_, err = fmt.Fprintln(w.out, plainText(made.Token))
			return err
		},
	}
	conn.register(c)
	c.Flags().StringVar(&name, "name", "", "`name` of the worker, which it claims under")
	c.Flags().StringArrayVar(&queues, "queue", nil, "`queue` whose runs it may claim (repeatable; default only default)")
	config.DaysVar(c.Flags(), &ttl, "expires", 0, "how long the token is valid; 0 is without end")
	jsonFlag(c, &asJSON)
	return c
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
	var conn connection
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List the tokens of workers, without their texts", Args: args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			cl, err := conn.client(w)
			if err != nil {
				return err
			}
			list, err := cl.workerTokens(c.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(w.out, map[string]any{"worker_tokens": append([]workerToken{}, list...), "count": len(list)})
			}
			rows := make([][]field, 0, len(list))
			for _, t := range list {
				var ends time.Time
				if t.ExpiresAt != nil {
					ends = *t.ExpiresAt
				}
				rows = append(rows, []field{
					{text: oneLine(t.ID, 80)}, {text: oneLine(t.Name, 40)}, {text: oneLine(strings.Join(t.Queues, ","), 40)},
					{text: instant(t.CreatedAt)}, {text: instant(ends)},
				})
			}
			newScreen(w).table([]string{"ID", "NAME", "QUEUES", "CREATED", "EXPIRES"}, rows)
			return nil
		},
	}
	conn.register(c)
	jsonFlag(c, &asJSON)
	return c
}

func workerTokenRevokeCommand(w environment) *cobra.Command {
	var conn connection
	var asJSON bool
	c := &cobra.Command{
		Use: "revoke ID...", Short: "Revoke tokens of workers everywhere at once", Args: args(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, ids []string) error {
			cl, err := conn.client(w)
			if err != nil {
				return err
			}
			return eachID(w, ids, "revoked", asJSON, func(id string) error {
				return cl.call(c.Context(), http.MethodDelete, "/v1/worker-tokens/"+url.PathEscape(id), nil, nil)
			})
		},
	}
	conn.register(c)
	jsonFlag(c, &asJSON)
	return c
}
