// Package collect reads what a prompt may tell of the install: metadata and masked output of what the caller may read,
// through the ports that decide about that.
package collect

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/writ-automation/writ/modules/ai/internal/plain"
	"github.com/writ-automation/writ/modules/ai/internal/prompt"
	"github.com/writ-automation/writ/ports/ai"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// How much of each list a prompt has.
const (
	maxGroups   = 10
	maxMessage  = 1 << 10
	maxLabel    = 200 // of names and paths in lists
	maxChildren = 3   // of a parent, whose output is read
	maxRuns     = 40
	maxFailed   = 10
	maxHosts    = 40
	maxDrift    = 60
	maxObjects  = 50
	// minHidden is the least length of a variable's value that is hidden in output: shorter ones are common words.
	minHidden = 8
)

// Collector reads for the caller of the context.
type Collector struct {
	Runs        runs.Reader
	Insight     runs.Insight
	Facets      runs.FacetReader
	Fleet       estate.Fleet
	Drift       estate.Drift
	Inventories catalog.Inventories
	Projects    catalog.Projects
	Clock       clock.Clock
}

// runFacts is the metadata of a run. It has no variable, environment, command, label, credential and account.
type runFacts struct {
	ID       string          `json:"id"`
	Name     string          `json:"name,omitempty"`
	Kind     runs.Kind       `json:"kind,omitempty"`
	Step     string          `json:"step,omitempty"`
	Status   runs.Status     `json:"status"`
	Tool     string          `json:"tool"`
	Playbook string          `json:"playbook,omitempty"`
	DryRun   bool            `json:"dry_run,omitempty"`
	Queue    string          `json:"queue,omitempty"`
	Source   runs.Source     `json:"source,omitempty"`
	Error    string          `json:"error,omitempty"`
	ExitCode *int            `json:"exit_code,omitempty"`
	Created  time.Time       `json:"created_at"`
	Seconds  float64         `json:"seconds,omitempty"`
	Hosts    runs.HostCounts `json:"hosts,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
}

func (c *Collector) facts(r *runs.Run) runFacts {
	out := runFacts{ID: r.ID, Name: r.Name, Kind: r.Kind, Step: r.StepName, Status: r.Status, Tool: r.Spec.Tool,
		Playbook: plain.Head(r.Spec.Playbook, maxLabel), DryRun: r.Spec.DryRun, Queue: r.Spec.Queue, Source: r.Origin.Source,
		Error: plain.Head(r.Error, maxMessage), ExitCode: r.ExitCode, Created: r.CreatedAt,
		Seconds: r.Duration(c.Clock.Now()).Seconds(), Hosts: r.Hosts}
	for _, w := range r.Warnings[:min(len(r.Warnings), maxGroups)] {
		out.Warnings = append(out.Warnings, w.Code)
	}
	return out
}

// failureFacts is a failure that several hosts share.
type failureFacts struct {
	Task    string       `json:"task"`
	Outcome runs.Outcome `json:"outcome"`
	Count   int          `json:"hosts"`
	Hosts   []string     `json:"first_hosts"`
	Message string       `json:"message"`
}

// Run adds a run, why it is in its state, its failures and the end of its output. It makes the prompt itself, which
// hides the values of the run's variables and of its environment.
func (c *Collector) Run(ctx context.Context, id, system, question string) (*prompt.Prompt, *runs.Run, error) {
	r, err := c.Runs.Get(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	printed := []*runs.Run{r}
	if r.Kind.Parent() {
		if printed, err = c.Runs.Children(ctx, id); err != nil {
			return nil, nil, err
		}
		printed = worst(printed)
	}
	values := hidden(nil, r)
	for _, x := range printed {
		values = hidden(values, x)
	}
	p := prompt.New(system, question, values)
	if err := p.JSON("The run", c.facts(r)); err != nil {
		return nil, nil, err
	}
	why, err := c.Insight.Why(ctx, id)
	if err == nil {
		err = p.JSON("Why it is in its state", texts(why.Reasons))
	}
	if err != nil {
		return nil, nil, err
	}
	groups, err := c.Insight.Failures(ctx, id)
	if err == nil && len(groups) > 0 {
		err = p.JSON("Its failures", failures(groups))
	}
	for _, x := range printed {
		if err == nil {
			err = c.output(ctx, p, x, ai.MaxLog/len(printed))
		}
	}
	return p, r, err
}

func texts(list []runs.Reason) (out []string) {
	for _, r := range list[:min(len(list), maxGroups)] {
		out = append(out, plain.Head(r.Text, maxMessage))
	}
	return out
}

func failures(groups []runs.FailureGroup) (out []failureFacts) {
	for _, g := range groups[:min(len(groups), maxGroups)] {
		out = append(out, failureFacts{Task: plain.Head(g.Task, maxMessage), Outcome: g.Outcome, Count: g.Count,
			Hosts: g.Hosts, Message: plain.Head(plain.Output(g.Message), maxMessage)})
	}
	return out
}

// output adds the end of what a run printed, which is masked in the store.
func (c *Collector) output(ctx context.Context, p *prompt.Prompt, r *runs.Run, most int) error {
	view, err := c.Runs.Log(ctx, r.ID, runs.LogRange{Tail: int64(most)})
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := view.Copy(ctx, &b); err != nil {
		return err
	}
	title := "The end of the output"
	if r.StepName != "" {
		title += " of the step"
	}
	p.Data(title, b.String(), most)
	return nil
}

// worst returns the children of a parent that failed, or the last ones if none did.
func worst(children []*runs.Run) []*runs.Run {
	var bad []*runs.Run
	for _, x := range children {
		if x.Status == runs.Failed || x.Status == runs.Interrupted {
			bad = append(bad, x)
		}
	}
	if len(bad) == 0 {
		return children[max(0, len(children)-maxChildren):]
	}
	return bad[:min(len(bad), maxChildren)]
}

// hidden adds the texts of a run's variables and environment, at any depth.
func hidden(out []string, r *runs.Run) []string {
	add := func(text string) {
		if len(text) >= minHidden {
			out = append(out, text)
		}
	}
	for _, text := range r.Spec.Env {
		add(text)
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			add(v)
		case json.Number:
			add(v.String())
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			for _, x := range v {
				walk(x)
			}
		}
	}
	vars := []runs.Vars{r.Vars, r.Outputs}
	if r.Graph != nil {
		vars = append(vars, r.Graph.Vars)
		for i := range r.Graph.Steps {
			s := &r.Graph.Steps[i]
			vars = append(vars, s.ExtraVars, s.Answers, s.Outputs)
		}
	}
	for _, list := range vars {
		for _, raw := range list {
			d := json.NewDecoder(bytes.NewReader(raw))
			d.UseNumber()
			var v any
			if d.Decode(&v) == nil {
				walk(v)
			}
		}
	}
	return out
}

// Objects adds the inventories and projects that the caller may read.
func (c *Collector) Objects(ctx context.Context, p *prompt.Prompt) error {
	type object struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	window := page.Window{Limit: maxObjects}
	inventories, _, err := c.Inventories.List(ctx, catalog.Filter{}, window)
	if err != nil {
		return err
	}
	projects, _, err := c.Projects.List(ctx, catalog.Filter{}, window)
	if err != nil {
		return err
	}
	var list struct {
		Inventories []object `json:"inventories"`
		Projects    []object `json:"projects"`
	}
	for _, i := range inventories {
		list.Inventories = append(list.Inventories, object{i.ID, i.Name})
	}
	for _, x := range projects {
		list.Projects = append(list.Projects, object{x.ID, x.Name})
	}
	return p.JSON("What may be used", list)
}
