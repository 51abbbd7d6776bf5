package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/ports/page"
)

const queuesPath = "/v1/queues"

// queue is a queue with its runs and executors.
type queue struct {
	Name          string `json:"name"`
	MaxConcurrent int    `json:"max_concurrent"`
	Pending       int    `json:"pending"`
	Running       int    `json:"running"`
	Workers       int    `json:"workers"`
}

func queueCommand(w environment) *cobra.Command {
	return group("queue", "List queues, and limit how many of their runs execute", queueListCommand(w),
		queueSetCommand(w))
}

func queueListCommand(w environment) *cobra.Command {
	return clientCommand(w, &cobra.Command{
		Use: "list", Short: "List queues with their runs and executors", Args: args(cobra.NoArgs),
	}, func(ctx context.Context, c *client, _ []string, out printer) error {
		list, err := everyRow(ctx, func(ctx context.Context, w page.Window) ([]queue, int, error) {
			var list struct {
				Queues []queue `json:"queues"`
				Total  int     `json:"total"`
			}
			err := c.call(ctx, http.MethodGet, queuesPath+"?offset="+strconv.Itoa(w.Offset), nil, &list)
			return list.Queues, list.Total, err
		})
		switch {
		case err != nil:
			return err
		case out.json:
			return out.document(map[string]any{"queues": append([]queue{}, list...), "count": len(list)})
		case len(list) == 0:
			_, _ = fmt.Fprintln(w.err, "writ: no queues")
			return nil
		}
		rows := make([][]field, 0, len(list))
		for _, q := range list {
			limit := "none"
			if q.MaxConcurrent > 0 {
				limit = strconv.Itoa(q.MaxConcurrent)
			}
			rows = append(rows, []field{
				{text: oneLine(q.Name, 100)}, {text: strconv.Itoa(q.Pending), number: true},
				{text: strconv.Itoa(q.Running), number: true}, {text: limit, number: true},
				{text: strconv.Itoa(q.Workers), number: true},
			})
		}
		newScreen(w).table([]string{"NAME", "PENDING", "RUNNING", "LIMIT", "WORKERS"}, rows)
		return nil
	})
}

func queueSetCommand(w environment) *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use: "set QUEUE...", Short: "Limit how many runs of queues execute at a time", Args: args(cobra.MinimumNArgs(1)),
		Long: "Limit how many runs of each queue execute at a time. Runs beyond the limit wait. Those that execute\n" +
			"go on when the limit becomes lower.",
		PreRunE: func(c *cobra.Command, _ []string) error {
			if !c.Flags().Changed("max-concurrent") {
				return usagef("expected --max-concurrent; 0 is any number")
			}
			return nil
		},
	}
	c.Flags().IntVar(&limit, "max-concurrent", 0, "how many runs execute at a time; 0 is any number")
	return clientCommand(w, c, func(ctx context.Context, c *client, names []string, out printer) error {
		return eachID(out, names, "limited", func(name string) error {
			return c.call(ctx, http.MethodPut, queuesPath+"/"+url.PathEscape(name), map[string]any{"max_concurrent": limit}, nil)
		})
	})
}
