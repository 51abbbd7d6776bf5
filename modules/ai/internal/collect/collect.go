// Package collect reads what a prompt may tell of the install: metadata and masked output of what the caller may read,
// through the ports that decide about that.
package collect

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

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
	// maxHidden bounds the values of a run, in bytes of JSON, that are hidden in its texts. The texts of a run with more
	// are left out: hiding a value takes some thousand bytes for each of its own.
	maxHidden = 64 << 10
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

// facts returns the metadata of a run without its error. shown returns what may be shown of a text of the run.
func (c *Collector) facts(r *runs.Run, shown func(string) string) runFacts {
	out := runFacts{ID: r.ID, Name: shown(r.Name), Kind: r.Kind, Step: shown(r.StepName), Status: r.Status,
		Tool: r.Spec.Tool, Playbook: shown(r.Spec.Playbook), DryRun: r.Spec.DryRun, Queue: r.Spec.Queue,
		Source: r.Origin.Source, ExitCode: r.ExitCode, Created: r.CreatedAt,
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
	all, printed := []*runs.Run{r}, []*runs.Run{r}
	if r.Kind.Parent() {
		children, err := c.Runs.Children(ctx, id)
		if err != nil {
			return nil, nil, err
		}
		all, printed = append(all, children...), worst(children)
	}
	values, ok := values(all...)
	h := prompt.NewHider(values)
	p := prompt.New(system, question, h)
	if !ok {
		return p, r, p.JSON("The run, whose texts are left out, since it has too many variables", c.facts(r, nothing))
	}
	facts := c.facts(r, func(text string) string { return h.Head(text, maxLabel) })
	facts.Error = h.Head(r.Error, maxMessage)
	if err := p.JSON("The run", facts); err != nil {
		return nil, nil, err
	}
	why, err := c.Insight.Why(ctx, id)
	if err == nil {
		err = p.JSON("Why it is in its state", reasons(why.Reasons, h))
	}
	if err != nil {
		return nil, nil, err
	}
	groups, err := c.Insight.Failures(ctx, id)
	if err == nil && len(groups) > 0 {
		err = p.JSON("Its failures", failures(groups, h))
	}
	for _, x := range printed {
		if err == nil {
			err = c.output(ctx, p, x, ai.MaxLog/len(printed))
		}
	}
	return p, r, err
}

func reasons(list []runs.Reason, h *prompt.Hider) (out []string) {
	for _, r := range list[:min(len(list), maxGroups)] {
		out = append(out, h.Head(r.Text, maxMessage))
	}
	return out
}

func failures(groups []runs.FailureGroup, h *prompt.Hider) (out []failureFacts) {
	for _, g := range groups[:min(len(groups), maxGroups)] {
		out = append(out, failureFacts{Task: h.Head(g.Task, maxMessage), Outcome: g.Outcome, Count: g.Count,
			Hosts: g.Hosts, Message: h.Head(g.Message, maxMessage)})
	}
	return out
}

// output adds the end of what a run printed, which is masked in the store. A line whose beginning was not read is left
// out, since it may begin within a value.
func (c *Collector) output(ctx context.Context, p *prompt.Prompt, r *runs.Run, most int) error {
	view, err := c.Runs.Log(ctx, r.ID, runs.LogRange{Tail: 2 * int64(most)})
	if err != nil {
		return err
	}
	var b strings.Builder
	if err := view.Copy(ctx, &b); err != nil {
		return err
	}
	text := b.String()
	if view.From > 0 {
		_, text, _ = strings.Cut(text, "\n")
	}
	title := "The end of the output"
	if r.StepName != "" {
		title += " of the step"
	}
	p.Data(title, text, most)
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

// nothing shows no text.
func nothing(string) string { return "" }

// values returns the texts and numbers in runs' variables, outputs and environments, at any depth, or false if they are
// more than maxHidden.
func values(list ...*runs.Run) ([]string, bool) {
	out, seen, size := map[string]bool{}, map[string]bool{}, 0
	for _, r := range list {
		for _, text := range r.Spec.Env {
			if !out[text] {
				size += len(text)
			}
			out[text] = true
		}
		for _, vars := range variables(r) {
			for _, raw := range vars {
				if seen[string(raw)] {
					continue
				}
				size += len(raw)
				if size > maxHidden {
					return nil, false
				}
				seen[string(raw)] = true
				walk(raw, func(text string) { out[text] = true })
			}
		}
	}
	return slices.Collect(maps.Keys(out)), size <= maxHidden
}

func variables(r *runs.Run) []runs.Vars {
	out := []runs.Vars{r.Vars, r.Outputs}
	if r.Graph != nil {
		out = append(out, r.Graph.Vars)
		for i := range r.Graph.Steps {
			s := &r.Graph.Steps[i]
			out = append(out, s.ExtraVars, s.Answers, s.Outputs)
		}
	}
	return out
}

// walk calls fn with each text and number of a value.
func walk(raw json.RawMessage, fn func(string)) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil {
		return
	}
	var each func(v any)
	each = func(v any) {
		switch v := v.(type) {
		case string:
			fn(v)
		case json.Number:
			fn(v.String())
		case []any:
			for _, x := range v {
				each(x)
			}
		case map[string]any:
			for _, x := range v {
				each(x)
			}
		}
	}
	each(value)
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
