package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// maxDeltas is how many tasks a comparison shows unless it is wide.
const maxDeltas = 10

// comparison is a run beside its baseline.
type comparison struct {
	Run      record     `json:"run"`
	Baseline record     `json:"baseline"`
	Fields   []string   `json:"changed_fields"`
	Hosts    []hostPair `json:"hosts"`
	Tasks    []taskPair `json:"tasks"`
}

type hostPair struct {
	Host    string `json:"host"`
	Verdict string `json:"verdict"`
	Before  string `json:"before"`
	After   string `json:"after"`
}

type taskPair struct {
	Task   string `json:"task"`
	Before *int64 `json:"before_ms"`
	After  *int64 `json:"after_ms"`
	Delta  *int64 `json:"delta_ms"`
}

func compareCommand(w environment) *cobra.Command {
	c := &cobra.Command{
		Use: "compare RUN [WITH]", Short: "Compare a run with an earlier one", Args: args(cobra.RangeArgs(1, 2)),
		Long: "Compares a run with another one: which hosts broke or recovered, which tasks took longer, which settings\n" +
			"differ. WITH is an id, or prev, the default: the run before of the same source.\n" + latestHelp,
		Example: "  writ compare latest\n  writ compare latest prev -o wide",
	}
	return ofRuns(w, c, func(ctx context.Context, c *client, a []string, out printer) error {
		id, err := c.runID(ctx, a[0])
		if err != nil {
			return err
		}
		with := "prev"
		if len(a) > 1 {
			if with, err = c.runID(ctx, a[1]); err != nil {
				return err
			}
		}
		var raw json.RawMessage
		path := runPath(id, "/compare?"+url.Values{"with": {with}}.Encode())
		if err := c.call(ctx, http.MethodGet, path, nil, &raw); err != nil {
			return err
		}
		if out.json {
			return out.document(raw)
		}
		var x comparison
		if err := json.Unmarshal(raw, &x); err != nil {
			return fmt.Errorf("the answer of %s has an unknown format: %w", c.base, err)
		}
		x.print(newScreen(out.environment), out.wide)
		return nil
	})
}

func (x *comparison) print(s screen, all bool) {
	rows := [][]field{}
	for _, r := range []struct {
		name string
		*record
	}{{"baseline", &x.Baseline}, {"run", &x.Run}} {
		rows = append(rows, []field{{text: r.name, status: "dim"}, {text: oneLine(r.state(), 20), status: r.state()},
			{text: seconds(r.DurationMS), number: true}, {text: instant(r.CreatedAt)}, {text: oneLine(r.ID, 80)}})
	}
	s.table([]string{"", "STATUS", "TOOK", "CREATED", "ID"}, rows)
	if len(x.Fields) > 0 {
		s.paragraph("", "changed: "+strings.Join(x.Fields, ", "))
	}
	x.printHosts(s, all)
	x.printTasks(s, all)
}

// printHosts prints the hosts with another result, the worst verdicts first. Those with the same are only counted.
func (x *comparison) printHosts(s screen, all bool) {
	order := []string{"broke", "still_failing", "gone", "recovered", "added", "same"}
	slices.SortStableFunc(x.Hosts, func(a, b hostPair) int {
		return cmp.Compare(slices.Index(order, a.Verdict), slices.Index(order, b.Verdict))
	})
	colours := map[string]string{"broke": "failed", "still_failing": "failed", "recovered": "succeeded",
		"added": "changed", "gone": "changed"}
	var rows [][]field
	same, hidden := 0, 0
	for _, h := range x.Hosts {
		switch {
		case h.Verdict == "same" && !all:
			same++
		case len(rows) >= maxRows && !all:
			hidden++
		default:
			rows = append(rows, []field{{text: oneLine(strings.ReplaceAll(h.Verdict, "_", " "), 20),
				status: cmp.Or(colours[h.Verdict], "dim")}, {text: oneLine(h.Host, 80)},
				{text: oneLine(fine(h.Before), 20)}, {text: oneLine(fine(h.After), 20)}})
		}
	}
	if len(rows) > 0 {
		_, _ = fmt.Fprintln(s.w)
		s.table([]string{"VERDICT", "HOST", "BEFORE", "AFTER"}, rows)
	}
	if hidden > 0 {
		_, _ = fmt.Fprintf(s.w, "and %s; -o wide shows all\n", count(hidden, "more host"))
	}
	if same > 0 {
		_, _ = fmt.Fprintf(s.w, "\n%s with the same result\n", count(same, "host"))
	}
}

// fine is the outcome of a host as it is shown. One whose failures were all ignored by the play is fine.
func fine(outcome string) string {
	if outcome == "ignored" {
		return "ok"
	}
	return cmp.Or(outcome, "-")
}

// printTasks prints the tasks whose durations differ most.
func (x *comparison) printTasks(s screen, all bool) {
	size := func(ms *int64) int64 {
		if ms == nil {
			return 0
		}
		return max(*ms, -*ms)
	}
	took := func(ms *int64, sign string) string {
		if ms == nil {
			return "-"
		}
		if *ms < 0 {
			sign = "-"
		}
		return sign + seconds(size(ms))
	}
	tasks := slices.Clone(x.Tasks)
	slices.SortStableFunc(tasks, func(a, b taskPair) int {
		return cmp.Compare(size(b.Delta), size(a.Delta))
	})
	shown := tasks
	if !all {
		shown = tasks[:min(len(tasks), maxDeltas)]
	}
	if len(shown) == 0 {
		return
	}
	rows := make([][]field, 0, len(shown))
	for _, t := range shown {
		rows = append(rows, []field{{text: oneLine(t.Task, mostName)}, {text: took(t.Before, ""), number: true},
			{text: took(t.After, ""), number: true}, {text: took(t.Delta, "+"), number: true}})
	}
	_, _ = fmt.Fprintln(s.w)
	s.table([]string{"TASK", "BEFORE", "AFTER", "DELTA"}, rows)
	if more := len(tasks) - len(shown); more > 0 {
		_, _ = fmt.Fprintf(s.w, "and %s; -o wide shows all\n", count(more, "more task"))
	}
}
