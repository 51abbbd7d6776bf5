package run

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// The bounds of a comparison.
const (
	shownHosts    = 30
	allHosts      = 1000
	shownTasks    = 10
	baselineRuns  = 12
	previousOne   = "prev"
	maxFieldShown = 300
)

// comparison is a run beside its baseline.
type comparison struct {
	Head   *head
	With   string // prev, or the id of the baseline
	None   string // why there is nothing to compare with
	Result *runs.Comparison
	// Good is the last run of the template that succeeded, Choices are the last ones.
	Good    *runs.Run
	Choices []*runs.Run
	Groups  []verdictGroup
	Fields  []field
	Tasks   []runs.TaskChange
	All     runs.Verdict // the verdict whose hosts are all listed
}

// verdictGroup is the hosts of a verdict.
type verdictGroup struct {
	Verdict runs.Verdict
	Hosts   []runs.HostChange
	Count   int
}

// field is a setting that differs.
type field struct{ Name, Before, After string }

// compare compares a run with a baseline that the reader chooses.
func (h *handlers) compare(r *shell.Request) (*shell.Page, error) {
	top, err := h.head(r, "compare")
	if err != nil {
		return nil, err
	}
	ctx := r.Context()
	q := r.URL.Query()
	out := comparison{Head: top, With: cmp.Or(strings.TrimSpace(q.Get("with")), previousOne),
		All: runs.Verdict(q.Get("all"))}
	if id := top.Run.Spec.TemplateID; id != "" {
		f := runs.Filter{Templates: []string{id}, Before: top.Run.CreatedAt, Limit: baselineRuns, SkipTotal: true}
		list, err := h.Reader.List(ctx, f)
		if err != nil {
			return nil, err //nolint:wrapcheck // a fault
		}
		out.Choices = list.Runs
		f.Statuses, f.Limit = []runs.Status{runs.Succeeded}, 1
		if list, err = h.Reader.List(ctx, f); err != nil {
			return nil, err //nolint:wrapcheck // a fault
		}
		if len(list.Runs) > 0 {
			out.Good = list.Runs[0]
		}
	}
	out.Result, err = h.Reader.Compare(ctx, top.Run.ID, out.With)
	switch {
	case fault.Is(err, fault.NotFound), fault.Is(err, fault.Invalid), fault.Is(err, fault.Conflict):
		out.None = err.Error()
	case err != nil:
		return nil, err //nolint:wrapcheck // a fault
	default:
		out.sort()
	}
	return page(top, compareView(out)), nil
}

// sort groups the hosts by verdict, and picks the tasks whose time differs most.
func (c *comparison) sort() {
	by := map[runs.Verdict]*verdictGroup{}
	for _, v := range []runs.Verdict{runs.Broke, runs.StillFailing, runs.Recovered, runs.Added, runs.Gone, runs.Same} {
		c.Groups = append(c.Groups, verdictGroup{Verdict: v})
	}
	for i := range c.Groups {
		by[c.Groups[i].Verdict] = &c.Groups[i]
	}
	for _, x := range c.Result.Hosts {
		g := by[x.Verdict]
		g.Count++
		if len(g.Hosts) < shownHosts || g.Verdict == c.All && len(g.Hosts) < allHosts {
			g.Hosts = append(g.Hosts, x)
		}
	}
	c.Groups = slices.DeleteFunc(c.Groups, func(g verdictGroup) bool { return g.Count == 0 })
	c.Tasks = slices.Clone(c.Result.Tasks)
	slices.SortStableFunc(c.Tasks, func(a, b runs.TaskChange) int { return cmp.Compare(delta(b).Abs(), delta(a).Abs()) })
	c.Tasks = c.Tasks[:min(len(c.Tasks), shownTasks)]
	before, after := settings(c.Result.Baseline), settings(c.Result.Run)
	for _, name := range c.Result.ChangedFields {
		c.Fields = append(c.Fields, field{name, before[name], after[name]})
	}
}

func delta(t runs.TaskChange) time.Duration { return t.After - t.Before }

// settings returns the settings of a redacted run as texts.
func settings(r *runs.Run) map[string]string {
	out := map[string]string{}
	put := func(name string, raw json.RawMessage) {
		text := string(raw)
		var s string
		if json.Unmarshal(raw, &s) == nil {
			text = s
		}
		if len(text) > maxFieldShown {
			text = strings.ToValidUTF8(text[:maxFieldShown], "") + "…"
		}
		out[name] = text
	}
	var all map[string]json.RawMessage
	if raw, err := json.Marshal(r.Spec); err == nil && json.Unmarshal(raw, &all) == nil {
		for name, v := range all {
			put(name, v)
		}
	}
	if vars, err := json.Marshal(r.Vars.Redact()); err == nil && len(r.Vars) > 0 {
		put("extra_vars", vars)
	}
	for name, s := range map[string]string{"name": r.Name, "change": r.Change, "commit": r.Commit} {
		out[name] = s
	}
	var labels []string
	for _, k := range slices.Sorted(maps.Keys(r.Labels)) {
		labels = append(labels, k+"="+r.Labels[k])
	}
	out["labels"] = strings.Join(labels, ", ")
	return out
}

func compareSentence(c comparison) string {
	counts := map[runs.Verdict]int{}
	for _, g := range c.Groups {
		counts[g.Verdict] = g.Count
	}
	var parts []string
	for _, v := range []runs.Verdict{runs.Broke, runs.StillFailing, runs.Recovered} {
		if counts[v] > 0 {
			parts = append(parts, verdictText(v, counts[v]))
		}
	}
	text := "No host changed between failing and not"
	if len(parts) > 0 {
		text = strings.Join(parts, ", ")
	}
	switch d := c.Result.After - c.Result.Before; {
	case d > time.Second:
		text += ". It took " + shell.Duration(d) + " longer"
	case d < -time.Second:
		text += ". It took " + shell.Duration(d) + " less"
	}
	if n := c.Result.Outside; n > 0 {
		text += ". " + shell.Plural(n, "host") + " are outside of the limit of one of the two runs"
	}
	return text + "."
}

func signed(d time.Duration) string {
	if d < 0 {
		return "−" + shell.Duration(-d)
	}
	return "+" + shell.Duration(d)
}

func verdictState(v runs.Verdict) shell.State {
	switch v {
	case runs.Broke:
		return shell.State{Glyph: "fail", Word: "Broke"}
	case runs.StillFailing:
		return shell.State{Glyph: "fail", Word: "Still failing"}
	case runs.Recovered:
		return shell.State{Glyph: "done", Word: "Recovered"}
	case runs.Added:
		return shell.State{Glyph: "plus", Word: "Added"}
	case runs.Gone:
		return shell.State{Glyph: "skip", Word: "Gone"}
	}
	return shell.State{Glyph: "done", Word: "As before"}
}
