package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/runs"
)

// hostRank is a host over its newest runs.
type hostRank struct {
	Host        string    `json:"host"`
	Failures    int       `json:"failures"`
	Total       int       `json:"total"`
	LastOutcome string    `json:"last_outcome"`
	LastRunAt   time.Time `json:"last_run_at"`
	Flips       int       `json:"flips"`
	Flaky       bool      `json:"flaky"`
	Recent      []hostRun `json:"recent"`
}

// hostRun is the result of a run on a host.
type hostRun struct {
	RunID    string    `json:"run_id"`
	Name     string    `json:"name"`
	Playbook string    `json:"playbook"`
	Outcome  string    `json:"outcome"`
	EndedAt  time.Time `json:"ended_at"`
}

// failed reports whether the outcome is a failure.
func (r hostRun) failed() bool {
	return slices.Contains([]runs.Outcome{runs.HostFailed, runs.HostUnreachable, runs.HostIncomplete},
		runs.Outcome(r.Outcome))
}

func (r *hostRank) flips() string {
	if r.Flaky {
		return strconv.Itoa(r.Flips) + " flaky"
	}
	return strconv.Itoa(r.Flips)
}

// letters shows the recent outcomes by their first letters, the newest first, failures as capitals.
func (r *hostRank) letters() string {
	var b strings.Builder
	for _, x := range r.Recent {
		letter := "?"
		if slices.Contains(runs.Outcomes(), runs.Outcome(x.Outcome)) {
			letter = x.Outcome[:1]
		}
		if x.failed() {
			letter = strings.ToUpper(letter)
		}
		b.WriteString(letter)
	}
	return b.String()
}

func hostsCommand(w environment) *cobra.Command {
	var window, limit int
	var query string
	c := &cobra.Command{
		Use: "hosts", Short: "Rank hosts by failures over their recent runs", Args: args(cobra.NoArgs),
		Long: "Hosts with the most failures come first, then those with the most changes between success and failure.\n" +
			"RECENT has a letter for each run, the newest first: ok, changed, skipped, ignored, rescued, and in\n" +
			"capitals failed, unreachable and incomplete.",
		Example: "  writ hosts --window 30 -q web",
	}
	c.Flags().IntVar(&window, "window", estate.DefaultWindow, "`number` of newest runs that count, at most 100")
	c.Flags().StringVarP(&query, "query", "q", "", "a part of the name, in any case")
	c.Flags().IntVar(&limit, "limit", 20, "maximum number of hosts")
	return clientCommand(w, c, watching(c, func(ctx context.Context, c *client, _ []string, out printer) error {
		if err := checkWindow(window); err != nil {
			return err
		}
		q := url.Values{"window": {strconv.Itoa(window)}, "q": {query}}
		raw, err := c.whole(ctx, "list-hosts", "/v1/fleet", q, limit)
		switch {
		case err != nil:
			return err
		case out.json:
			out.list = "hosts"
			return out.document(raw)
		}
		var page struct {
			Hosts []hostRank `json:"hosts"`
			Total int        `json:"total"`
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return fmt.Errorf("the answer of %s has an unknown format: %w", c.base, err)
		}
		if len(page.Hosts) == 0 {
			_, _ = fmt.Fprintln(out.err, "writ: no hosts")
			return nil
		}
		now, rows := clock.New().Now(), [][]field{}
		for _, r := range page.Hosts {
			rows = append(rows, []field{
				{text: oneLine(r.Host, 60)}, {text: fmt.Sprintf("%d/%d", r.Failures, r.Total), number: true},
				{text: r.flips(), number: true}, {text: oneLine(r.LastOutcome, 20), status: r.LastOutcome},
				{text: age(now.Sub(r.LastRunAt)), number: true}, {text: r.letters()},
			})
		}
		s := newScreen(out.environment)
		s.table([]string{"HOST", "FAILED", "FLIPS", "LAST", "AGE", "RECENT"}, rows)
		if page.Total > len(page.Hosts) {
			_, _ = fmt.Fprintf(s.w, "%d of %d hosts; --limit shows more\n", len(page.Hosts), page.Total)
		}
		return nil
	}))
}

func checkWindow(window int) error {
	if window < 1 {
		return usagef("--window: expected a number above zero")
	}
	return nil
}

// hostPage is everything about a host.
type hostPage struct {
	hostRank
	Runs  []hostRun `json:"runs"`
	Facts *struct {
		Facts      map[string]json.RawMessage `json:"facts"`
		GatheredAt time.Time                  `json:"gathered_at"`
	} `json:"facts"`
	Coverage *struct {
		Checked   int       `json:"checked"`
		Drifted   int       `json:"drifted"`
		Unknown   int       `json:"unknown"`
		CheckedAt time.Time `json:"checked_at"`
	} `json:"coverage"`
}

// mostHostRuns is how many runs the page has at most.
const mostHostRuns = 100

// sentence tells since when the host fails or succeeds.
func (p *hostPage) sentence() string {
	if len(p.Runs) == 0 {
		return "No run is known."
	}
	bad := p.Runs[0].failed()
	verb, other := "Succeeds", "failed"
	if bad {
		verb, other = "Fails", "good"
	}
	since := slices.IndexFunc(p.Runs, func(r hostRun) bool { return r.failed() != bad })
	if since < 0 {
		return fmt.Sprintf("%s in each of its newest runs: %d.", verb, len(p.Runs))
	}
	before, least := slices.IndexFunc(p.Runs[since:], func(r hostRun) bool { return r.failed() == bad }), ""
	if before < 0 {
		before = len(p.Runs) - since
		if len(p.Runs) >= mostHostRuns {
			least = "at least "
		}
	}
	noun := "runs"
	if before == 1 {
		noun = "run"
	}
	return fmt.Sprintf("%s since %s after %s%d %s %s.", verb, instant(p.Runs[since-1].EndedAt), least, before, other, noun)
}

// shownFacts are the facts of a host that its page shows, without the prefix of Ansible.
func shownFacts() []string {
	return []string{"distribution", "distribution_version", "kernel", "architecture", "processor_vcpus", "memtotal_mb",
		"default_ipv4.address"}
}

// shownRuns is how many runs the page of a host shows.
const shownRuns = 10

func hostCommand(w environment) *cobra.Command {
	window := 0
	c := &cobra.Command{
		Use: "host NAME", Short: "Show how a host did in its recent runs", Args: args(cobra.ExactArgs(1)),
		Example: "  writ host web-1.example.net",
	}
	c.Flags().IntVar(&window, "window", estate.DefaultWindow, "`number` of newest runs that count, at most 100")
	return objectsCommand(w, c, watching(c, func(ctx context.Context, c *client, a []string, out printer) error {
		if err := checkWindow(window); err != nil {
			return err
		}
		raw, err := c.fetch(ctx, "/v1/hosts/"+url.PathEscape(a[0]), url.Values{"window": {strconv.Itoa(window)}})
		switch {
		case err != nil:
			return err
		case out.json:
			return out.document(raw)
		}
		var p hostPage
		if err := json.Unmarshal(raw, &p); err != nil {
			return fmt.Errorf("the answer of %s has an unknown format: %w", c.base, err)
		}
		p.print(newScreen(out.environment), clock.New().Now())
		return nil
	}), "host")
}

func (p *hostPage) print(s screen, now time.Time) {
	_, _ = fmt.Fprintf(s.w, "%s\n%s\n\n", s.paint("bold", oneLine(p.Host, 255)), p.sentence())
	lines := [][2]string{{"recent", p.letters()}, {"failed", fmt.Sprintf("%d of %d", p.Failures, p.Total)},
		{"flips", p.flips()}}
	if x := p.Coverage; x != nil {
		text := fmt.Sprintf("%d of %d checked tasks, %d unknown", x.Drifted, x.Checked, x.Unknown)
		lines = append(lines, [2]string{"drift", text + ", " + age(now.Sub(x.CheckedAt)) + " ago"})
	}
	if p.Facts != nil {
		for _, name := range shownFacts() {
			value := p.Facts.Facts[name]
			if value == nil {
				value = p.Facts.Facts["ansible_"+name]
			}
			if value != nil {
				lines = append(lines, [2]string{name, strings.Trim(string(value), `"`)})
			}
		}
		lines = append(lines, [2]string{"gathered", age(now.Sub(p.Facts.GatheredAt)) + " ago"})
	}
	for _, line := range lines {
		_, _ = fmt.Fprintf(s.w, "%-20s %s\n", line[0], oneLine(line[1], 80))
	}
	rows := [][]field{}
	for _, r := range p.Runs[:min(len(p.Runs), shownRuns)] {
		rows = append(rows, []field{
			{text: oneLine(r.Outcome, 20), status: r.Outcome}, {text: oneLine(cmp.Or(r.Name, r.Playbook), 50)},
			{text: age(now.Sub(r.EndedAt)), number: true}, {text: oneLine(r.RunID, 40)},
		})
	}
	_, _ = fmt.Fprintln(s.w)
	s.table([]string{"OUTCOME", "NAME", "AGE", "ID"}, rows)
}
