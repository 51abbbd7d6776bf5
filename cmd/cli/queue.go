package cli

import (
	"context"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"
)

const queuesPath = "/v1/queues"

func queueCommand(w environment) *cobra.Command {
	return group("queue", "List queues, and limit how many of their runs execute", queueSetCommand(w))
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
	return objectsCommand(w, c, func(ctx context.Context, c *client, names []string, out printer) error {
		return eachID(out, names, "limited", func(name string) error {
			return c.call(ctx, http.MethodPut, queuesPath+"/"+url.PathEscape(name), map[string]any{"max_concurrent": limit}, nil)
		})
	}, "queue")
}
