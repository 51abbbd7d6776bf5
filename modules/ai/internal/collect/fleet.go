package collect

import (
	"context"
	"strings"
	"time"

	"github.com/writ-automation/writ/modules/ai/internal/plain"
	"github.com/writ-automation/writ/modules/ai/internal/prompt"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret/mask"
)

// hostFacts is how a host did in its newest runs.
type hostFacts struct {
	Host     string       `json:"host"`
	Failures int          `json:"failures"`
	Runs     int          `json:"of_runs"`
	Last     runs.Outcome `json:"last_outcome"`
	LastAt   time.Time    `json:"last_run_at"`
	Flaky    bool         `json:"flaky,omitempty"`
}

// driftFacts is how far hosts are from what playbooks say.
type driftFacts struct {
	Resources int            `json:"drifting_resources"`
	Hosts     int            `json:"checked_hosts"`
	Ignored   int            `json:"ignored_resources"`
	First     []resource     `json:"first_resources"`
	Checked   []driftingHost `json:"first_hosts"`
}

type resource struct {
	Host     string    `json:"host"`
	Resource string    `json:"resource"`
	Playbook string    `json:"playbook"`
	Since    time.Time `json:"first_seen"`
}

type driftingHost struct {
	Host    string `json:"host"`
	Drifted int    `json:"drifted"`
	Checked int    `json:"checked_tasks"`
	Unknown int    `json:"unknown_tasks"`
}

// Estate adds the newest runs, the health of hosts and drift.
func (c *Collector) Estate(ctx context.Context, p *prompt.Prompt) error {
	if err := p.JSON("The time now", c.Clock.Now().UTC().Format(time.RFC3339)); err != nil {
		return err
	}
	of := c.texts(ctx)
	for _, add := range []func(context.Context, *prompt.Prompt, texts) error{c.counts, c.hosts, c.drift, c.recent} {
		if err := add(ctx, p, of); err != nil {
			return err
		}
	}
	return nil
}

// texts returns what shows the texts of a run, as facts takes it.
type texts func(run string) (shown func(string) string, err error)

// texts shows them without the values of the run. Lists have none, so it reads each run. Nothing is shown of one that
// is gone or has too many.
func (c *Collector) texts(ctx context.Context) texts {
	read := map[string]func(string) string{}
	return func(id string) (func(string) string, error) {
		if shown := read[id]; shown != nil {
			return shown, nil
		}
		r, err := c.Runs.Get(ctx, id)
		if err != nil && !runs.RunNotFound.Is(err) {
			return nil, err
		}
		read[id] = nothing
		if err == nil {
			if list, ok := values(r); ok {
				read[id] = func(text string) string { return without(list, text) }
			}
		}
		return read[id], nil
	}
}

// cutEnd is the end of the name of a resource, or of the item in it, that was too long.
var cutEnd = lazyregexp.New(`\.\.\. [0-9a-f]{32}\]?$`)

// without returns the beginning of a text without values. Of many values few are in a short text, and only they take
// time. A text that was cut is shown up to the value in which it ends.
func without(values []string, text string) string {
	text = plain.Output(text)
	whole := cutEnd.Get().ReplaceAllLiteralString(text, "")
	begun := whole != text
	text = whole
	var found []string
	for _, v := range values {
		for line := range strings.SplitSeq(v, "\n") {
			if line = strings.TrimSpace(line); line != "" && strings.Contains(whole, line) {
				found = append(found, v)
				break
			}
		}
		for n := min(len(v), len(whole)); begun && n >= mask.MinLen; n-- {
			if strings.HasSuffix(whole, v[:n]) {
				text = whole[:min(len(text), len(whole)-n)]
				break
			}
		}
	}
	return prompt.NewHider(found).Head(text, maxLabel)
}

func (c *Collector) counts(ctx context.Context, p *prompt.Prompt, _ texts) error {
	f, err := c.Facets.Facets(ctx, runs.Filter{})
	if err != nil {
		return err
	}
	return p.JSON("The number of runs by status and by tool", []any{f.Status, f.Tool})
}

func (c *Collector) hosts(ctx context.Context, p *prompt.Prompt, _ texts) error {
	list, err := c.Fleet.Hosts(ctx, estate.FleetQuery{Limit: maxHosts})
	if err != nil {
		return err
	}
	var out struct {
		Total int         `json:"hosts"`
		Worst []hostFacts `json:"worst_hosts"`
	}
	out.Total = list.Total
	for _, h := range list.Rows {
		out.Worst = append(out.Worst, hostFacts{h.Host, h.Failures, h.Total, h.LastOutcome, h.LastRunAt, h.Flaky})
	}
	return p.JSON("The health of hosts in their newest runs", out)
}

func (c *Collector) drift(ctx context.Context, p *prompt.Prompt, of texts) error {
	list, err := c.Drift.Drift(ctx, estate.DriftQuery{Window: page.Window{Limit: maxDrift}})
	if err != nil {
		return err
	}
	out := driftFacts{Resources: list.Total, Hosts: list.Hosts, Ignored: list.Ignored}
	for i := range list.Findings {
		f := &list.Findings[i]
		shown, err := of(f.RunID)
		if err != nil {
			return err
		}
		out.First = append(out.First, resource{f.Host, shown(f.Resource), shown(f.Playbook), f.FirstSeen})
	}
	for _, h := range list.Coverage {
		out.Checked = append(out.Checked, driftingHost{h.Host, h.Drifted, h.Checked, h.Unknown})
	}
	return p.JSON("Drift", out)
}

func (c *Collector) recent(ctx context.Context, p *prompt.Prompt, of texts) error {
	for _, list := range []struct {
		title  string
		filter runs.Filter
	}{
		{"The newest runs that did not succeed", runs.Filter{Statuses: []runs.Status{runs.Failed, runs.Interrupted},
			Limit: maxFailed, SkipTotal: true}},
		{"The newest runs", runs.Filter{Limit: maxRuns, SkipTotal: true}},
	} {
		found, err := c.Runs.List(ctx, list.filter)
		if err != nil {
			return err
		}
		var out []runFacts
		for _, r := range found.Runs {
			shown, err := of(r.ID)
			if err != nil {
				return err
			}
			out = append(out, c.facts(r, shown))
		}
		if err := p.JSON(list.title, out); err != nil {
			return err
		}
	}
	return nil
}
