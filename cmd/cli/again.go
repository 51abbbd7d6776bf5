package cli

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"
)

// latestRun stands for the newest run that the caller may read.
const latestRun = "latest"

const latestHelp = `RUN is an id, or "latest" for the newest run that you may read. The newest one that failed is
"$(writ runs --status failed --limit 1 --jq '.runs[0].id')".`

// runID returns the id of a run that a user named.
func (c *client) runID(ctx context.Context, name string) (string, error) {
	if name != latestRun {
		return name, nil
	}
	var page struct {
		Runs []record `json:"runs"`
	}
	if err := c.call(ctx, http.MethodGet, "/v1/runs?"+url.Values{"limit": {"1"}}.Encode(), nil, &page); err != nil {
		return "", err
	}
	if len(page.Runs) == 0 {
		return "", errors.New("there is no latest run: none exists that you may read")
	}
	return page.Runs[0].ID, nil
}

func rerunCommand(w environment) *cobra.Command {
	return againCommand(w, "rerun", "/rerun", "Submit a run again with the same settings",
		"The new run passes the rights and rules of a new request of yours.")
}

func retryCommand(w environment) *cobra.Command {
	return againCommand(w, "retry", "/retry", "Retry the failed shards of a split that has ended",
		"The hosts of shards that succeeded are not touched. For a run that is no split use writ relaunch or writ rerun.")
}

func relaunchCommand(w environment) *cobra.Command {
	return againCommand(w, "relaunch", "/relaunch-failed", "Run again on the hosts left failed or unreachable",
		"The new run has the same settings and only those hosts.")
}

// againCommand is a command that makes a new run of an earlier one.
func againCommand(w environment, verb, path, short, long string) *cobra.Command {
	var f following
	c := &cobra.Command{
		Use: verb + " RUN", Short: short, Args: args(cobra.ExactArgs(1)), Long: short + ". " + long + "\n" + latestHelp,
		Example: "  writ " + verb + " latest -f",
	}
	f.register(c)
	return ofRuns(w, c, func(ctx context.Context, cl *client, a []string, out printer) error {
		f.unlessSet(c, out)
		id, err := cl.runID(ctx, a[0])
		if err != nil {
			return err
		}
		var r record
		if err := cl.call(ctx, http.MethodPost, runPath(id, path), nil, &r); err != nil {
			return err
		}
		return f.show(ctx, cl, r, out)
	})
}
