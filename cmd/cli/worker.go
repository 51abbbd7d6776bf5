package cli

import (
	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/cmd/compose"
)

func workerCommand(w environment) *cobra.Command {
	f := &workerFlags{}
	c := &cobra.Command{
		Use: "worker", Short: "Execute runs in a worker process", Args: args(cobra.NoArgs),
		Long: "Execute runs of some queues, over the database of an install (--db) or over the relay of a\n" +
			"server (--server), which needs no database and no keys.\n\n" + fromEverywhere,
		Example: "  writ worker-token create edge --queue edge\n" +
			"  WRIT_WORKER_TOKEN=TOKEN writ worker --server https://writ.example.com --name edge --queue edge\n" +
			"  writ worker --db postgres://writ@db.example.com/writ --queue batch",
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.load(c.Flags(), w); err != nil {
				return err
			}
			s, err := f.settings(w)
			if err != nil {
				return err
			}
			return live(c.Context(), w, &s.Executor, func() (daemon, error) { return compose.NewWorker(s) })
		},
	}
	f.register(c.Flags())
	return c
}
