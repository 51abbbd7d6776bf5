package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/config"
	"github.com/writ-automation/writ/ports/runs"
)

const runsExample = `  writ runs --status failed,interrupted --since 1d
  writ runs -q 'host:web1 label:team=web'
  writ runs latest -o wide`

type listFlags struct {
	status                   []string
	tool, query, order, task string
	after, before            string
	since                    time.Duration
	limit                    int
}

func runsCommand(w environment) *cobra.Command {
	var f listFlags
	w.conn = &connection{}
	c := &cobra.Command{
		Use: "runs [RUN]", Short: "List runs, newest first, or show one", Example: runsExample,
		Args: args(cobra.MaximumNArgs(1)),
		Long: "Lists runs, newest first, or shows all that is known of one.\n" + latestHelp,
	}
	c.Flags().StringSliceVar(&f.status, "status", nil, "only runs in these states")
	c.Flags().StringVar(&f.tool, "tool", "", "only runs of this tool")
	c.Flags().StringVarP(&f.query, "query", "q", "", "words, and terms such as label:k=v, host:web1 or actor:admin")
	c.Flags().StringVar(&f.task, "task", "", "only runs in which a task of this name ran")
	completeFlags(w, c, map[string]string{"task": "task"})
	c.Flags().StringVar(&f.after, "after", "",
		"only runs submitted at this `time` or later: an RFC 3339 instant, or an age such as 2h or 7d")
	c.Flags().StringVar(&f.before, "before", "", "only runs submitted before this `time`")
	config.DaysVar(c.Flags(), &f.since, "since", 0, "only runs submitted in this time, such as 2h or 7d")
	c.Flags().StringVar(&f.order, "order", "", "newest or oldest first (default newest)")
	_ = c.RegisterFlagCompletionFunc("order",
		cobra.FixedCompletions([]string{"newest", "oldest"}, cobra.ShellCompDirectiveNoFileComp))
	c.Flags().IntVar(&f.limit, "limit", 20, "maximum number of runs")
	c.MarkFlagsMutuallyExclusive("since", "after")
	return ofRuns(w, c, watching(c, func(ctx context.Context, c *client, a []string, out printer) error {
		if len(a) == 1 {
			return showRun(ctx, c, a[0], out)
		}
		return f.list(ctx, c, out)
	}))
}

func (f *listFlags) values(now time.Time) (url.Values, error) {
	after, err := moment("after", f.after)
	before, beforeErr := moment("before", f.before)
	if err := firstError(err, beforeErr); err != nil {
		return nil, err
	}
	if f.since > 0 {
		after = now.Add(-f.since).Format(time.RFC3339)
	}
	q := url.Values{}
	for name, v := range map[string]string{"tool": f.tool, "q": f.query, "order": f.order, "task": f.task,
		"after": after, "before": before} {
		if v != "" {
			q.Set(name, v)
		}
	}
	if len(f.status) > 0 {
		q["status"] = f.status
	}
	return q, nil
}

func (f *listFlags) list(ctx context.Context, c *client, out printer) error {
	now := clock.New().Now()
	q, err := f.values(now)
	if err != nil {
		return err
	}
	raw, err := c.whole(ctx, "list-runs", "/v1/runs", q, f.limit)
	if err != nil {
		return err
	}
	if out.json {
		out.list = "runs"
		return out.document(raw)
	}
	var page struct {
		Runs   []record `json:"runs"`
		Total  int      `json:"total"`
		Capped bool     `json:"total_capped"`
		More   bool     `json:"has_more"`
	}
	if err := json.Unmarshal(raw, &page); err != nil {
		return fmt.Errorf("the answer of %s has an unknown format: %w", c.base, err)
	}
	s := newScreen(out.environment)
	if len(page.Runs) == 0 {
		_, _ = fmt.Fprintln(out.err, "writ: no runs")
		return nil
	}
	if out.wide {
		wideTable(s, page.Runs, now)
	} else {
		runsTable(s, page.Runs, now)
	}
	if page.More {
		of := strconv.Itoa(page.Total)
		if page.Capped {
			of = "more than " + of
		}
		_, _ = fmt.Fprintf(s.w, "%d of %s runs; --limit shows more\n", len(page.Runs), of)
	}
	return nil
}

// Widths of a run's name: the minimum, and the maximum of the default layout.
const (
	leastName = 12
	mostName  = 50
)

// runsTable prints one line per run. On a narrow terminal the name is shortened first, then the tool.
func runsTable(s screen, rows []record, now time.Time) {
	heading := []string{"STATUS", "NAME", "TOOL", "AGE", "TOOK", "HOSTS", "ID"}
	const name, tool = 1, 2
	table := make([][]field, 0, len(rows))
	used := make([]int, len(heading))
	for i := range rows {
		table = append(table, rows[i].row(now))
		for j, f := range table[i] {
			used[j] = max(used[j], cellsOf(f.text), len(heading[j]))
		}
	}
	avail := mostName
	if s.tty {
		avail = s.width() - 2*(len(used)-1)
		for j, n := range used {
			if j != name {
				avail -= n
			}
		}
		avail = min(avail, mostName)
	}
	narrow := avail < leastName
	if narrow {
		avail = max(avail+used[tool]+2, leastName)
		heading = append(heading[:tool:tool], heading[tool+1:]...)
	}
	for i, r := range table {
		r[name].text = cut(r[name].text, avail)
		if narrow {
			table[i] = append(r[:tool:tool], r[tool+1:]...)
		}
	}
	s.table(heading, table)
}

func (r *record) row(now time.Time) []field {
	took := "-"
	if r.DurationMS > 0 {
		took = seconds(r.DurationMS)
	}
	hosts := strconv.Itoa(r.HostsTouched)
	if bad := r.Hosts["failed"] + r.Hosts["unreachable"]; bad > 0 {
		hosts = fmt.Sprintf("%s (%d✗)", hosts, bad)
	}
	tool := cmp.Or(r.Tool, r.Kind)
	return []field{
		{text: oneLine(r.state(), 20), status: r.state()}, {text: oneLine(r.title(), mostName)}, {text: oneLine(tool, 20)},
		{text: age(now.Sub(r.CreatedAt)), number: true}, {text: took, number: true}, {text: hosts, number: true},
		{text: oneLine(r.ID, 80)},
	}
}

// age returns the time since t, rounded.
func age(d time.Duration) string {
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + "m"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + "h"
	default:
		return strconv.Itoa(int(d.Hours()/24)) + "d"
	}
}

func showRun(ctx context.Context, c *client, name string, out printer) error {
	id, err := c.runID(ctx, name)
	if err != nil {
		return err
	}
	var r record
	if err := c.call(ctx, http.MethodGet, runPath(id, ""), nil, &r); err != nil {
		return err
	}
	if out.json {
		return out.document(r)
	}
	s := newScreen(out.environment)
	r.describe(ctx, s, &namer{c: c, names: map[string]string{}}, out.wide)
	if r.Kind == "split" {
		c.partsEnd(ctx, s, id)
	}
	if !r.ended() || r.Status == "interrupted" || r.Status == "rejected" || r.Status == "canceled" {
		printWhy(ctx, s, c, id)
	}
	for _, x := range r.Warnings {
		_, _ = fmt.Fprintf(s.w, "%s %s\n", s.paint("changed", "warning:"), oneLine(x.Message, 400))
	}
	_, _ = fmt.Fprintln(s.w, r.ending(s))
	for i, command := range r.next() {
		_, _ = fmt.Fprintf(s.w, "%s  %s\n", s.paint("dim", []string{"next", "    "}[min(i, 1)]), command)
	}
	return nil
}

// printWhy prints why a run has not ended, or why its end is another one than its tool's.
func printWhy(ctx context.Context, s screen, c *client, id string) {
	var why struct {
		Reasons []runs.Reason `json:"reasons"`
	}
	if c.call(ctx, http.MethodGet, runPath(id, "/why"), nil, &why) != nil {
		return
	}
	printReasons(s, why.Reasons)
}

func printReasons(s screen, reasons []runs.Reason) {
	for _, x := range reasons {
		s.paragraph("  ", x.Text)
		s.paragraph("  ", x.Next)
	}
}
