package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/ports/runs"
)

func watchCommand(w environment) *cobra.Command {
	raw, limit := false, 0
	c := &cobra.Command{
		Use: "watch [RUN]", Short: "Watch a run to its end, or the runs that wait and execute",
		Args: args(cobra.MaximumNArgs(1)),
		Long: "Without RUN, shows the runs that wait, are held or execute, and draws them again until Ctrl-C; without a\n" +
			"terminal it prints them once. With RUN, follows it and exits with its result, as writ run does.\n" + latestHelp,
		Example: "  writ watch\n  writ watch latest",
	}
	c.Flags().BoolVar(&raw, "log", false, "show the tool's output instead of progress")
	c.Flags().IntVar(&limit, "limit", 40, "maximum number of runs of the list")
	return ofRuns(w, c, func(ctx context.Context, c *client, a []string, out printer) error {
		if len(a) == 0 {
			if limit < 1 {
				return usagef("--limit: expected a number above zero")
			}
			return watchRuns(ctx, c, limit, out)
		}
		id, err := c.runID(ctx, a[0])
		if err != nil {
			return err
		}
		return followRun(ctx, c, id, raw, out)
	})
}

// unfinished reads the runs that have not ended.
func (c *client) unfinished(ctx context.Context, limit int) (raw json.RawMessage, err error) {
	q := url.Values{"limit": {strconv.Itoa(limit)}, "status": {string(runs.Running), string(runs.Pending),
		string(runs.PendingApproval)}}
	return raw, c.call(ctx, http.MethodGet, "/v1/runs?"+q.Encode(), nil, &raw)
}

func watchRuns(ctx context.Context, c *client, limit int, out printer) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	s, wall := newScreen(out.environment), clock.New()
	for first := true; ; first = false {
		raw, err := c.unfinished(ctx, limit)
		var api *apiError
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && (first || errors.As(err, &api) && api.Status < http.StatusInternalServerError):
			return err
		case out.json:
			return out.document(raw)
		}
		text := ""
		if err == nil {
			text, err = board(s, raw, out.wide, wall.Now())
		}
		if err != nil { // the server may come back
			text = "writ: " + oneLine(err.Error(), s.width()) + "; trying again\n"
		}
		if s.tty {
			text = "\x1b[H\x1b[2J" + text
		}
		if _, err := s.w.Write([]byte(text)); err != nil || !s.tty {
			return err
		}
		if !background.Wait(ctx, watchEvery) {
			return nil
		}
	}
}

// board returns the list of unfinished runs as text.
func board(s screen, raw json.RawMessage, wide bool, now time.Time) (string, error) {
	var page struct {
		Runs  []record `json:"runs"`
		Total int      `json:"total"`
	}
	if err := json.Unmarshal(raw, &page); err != nil {
		return "", fmt.Errorf("the answer has an unknown format: %w", err)
	}
	counts := map[string]int{}
	for i := range page.Runs {
		counts[page.Runs[i].Status]++
	}
	var b strings.Builder
	width := s.width()
	s.w, s.columns = &b, width
	if len(page.Runs) == 0 {
		return "no run waits or executes\n", nil
	}
	_, _ = fmt.Fprintf(&b, "%d running, %d waiting, %d held\n\n", counts[string(runs.Running)],
		counts[string(runs.Pending)], counts[string(runs.PendingApproval)])
	if wide {
		wideTable(s, page.Runs, now)
	} else {
		runsTable(s, page.Runs, now)
	}
	if more := page.Total - len(page.Runs); more > 0 {
		_, _ = fmt.Fprintf(&b, "and %s; --limit shows more\n", count(more, "more run"))
	}
	return b.String(), nil
}
