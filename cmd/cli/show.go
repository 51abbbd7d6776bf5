package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// maxLookups bounds the names that are looked up for one run.
const maxLookups = 12

// namer looks up the names of objects by their ids, each once.
type namer struct {
	c     *client
	names map[string]string
}

// of returns the name and the id of an object, or the id alone where the caller may not read the object.
func (n *namer) of(ctx context.Context, id string) string {
	if n.c == nil || id == "" {
		return id
	}
	if name, known := n.names[id]; known {
		return name
	}
	prefix, _, _ := strings.Cut(id, "_")
	path := map[string]string{"tpl": "templates", "prj": "projects", "inv": "inventories", "crd": "credentials",
		"sch": "schedules", "trg": "triggers"}[prefix]
	if path == "" || len(n.names) >= maxLookups {
		return id
	}
	var o struct {
		Name string `json:"name"`
	}
	shown := id
	if n.c.call(ctx, http.MethodGet, "/v1/"+path+"/"+url.PathEscape(id), nil, &o) == nil && o.Name != "" {
		shown = o.Name + " (" + id + ")"
	}
	n.names[id] = shown
	return shown
}

// fact is a member of a record with its name.
type fact struct{ name, text string }

// describe prints what a record knows, one member per line. wide has the settings that few runs have, too.
func (r *record) describe(ctx context.Context, s screen, n *namer, wide bool) {
	_, _ = fmt.Fprintln(s.w, s.paint("bold", oneLine(r.title(), s.width())))
	for _, part := range [][]fact{r.subject(ctx, n), r.origin(ctx, n), r.times(), r.settings(ctx, n, wide), r.rules()} {
		for _, m := range part {
			if m.text != "" {
				_, _ = fmt.Fprintf(s.w, "  %s  %s\n", s.paint("dim", pad(m.name, 9)), oneLine(m.text, max(s.width()-13, 60)))
			}
		}
	}
	for _, x := range r.Steps {
		state := r.shown(x.Status)
		_, _ = fmt.Fprintln(s.w, strings.TrimRight(fmt.Sprintf("  %s  %s %s  %s", s.paint("dim", pad("step", 9)),
			s.paint(state, mark(state)+" "+pad(oneLine(state, 20), 9)), oneLine(x.Name, 40), oneLine(x.RunID, 80)), " "))
	}
}

// subject is what the run executes, and on what.
func (r *record) subject(ctx context.Context, n *namer) []fact {
	tool := strings.TrimSpace(r.Tool + " " + r.ToolVersion)
	if r.Kind != "single" {
		tool = strings.TrimSpace(r.Kind + " " + tool)
	}
	project := n.of(ctx, r.ProjectID)
	if r.Commit != "" {
		project = strings.TrimSpace(project + " at " + r.Commit)
	}
	inventory := cmp.Or(n.of(ctx, r.InventoryID), r.Inventory)
	if r.Query != "" {
		inventory = strings.TrimPrefix(inventory+", hosts with "+r.Query, ", ")
	}
	mode := ""
	switch {
	case r.DryRun && r.Diff:
		mode = "dry run, with differences"
	case r.DryRun:
		mode = "dry run"
	case r.Diff:
		mode = "with differences"
	}
	tags := strings.Join(r.Tags, ", ")
	if len(r.SkipTags) > 0 {
		tags = strings.TrimPrefix(tags+", without "+strings.Join(r.SkipTags, ", "), ", ")
	}
	limit := r.Limit
	if len(r.LimitHosts) > 0 {
		limit = strings.TrimPrefix(limit+", "+count(len(r.LimitHosts), "host")+": "+strings.Join(r.LimitHosts, ", "), ", ")
	}
	return []fact{{"tool", tool}, {"template", n.of(ctx, r.TemplateID)}, {"project", project}, {"playbook", r.Playbook},
		{"inventory", inventory}, {"limit", limit}, {"tags", tags}, {"mode", mode}, {"change", r.Change},
		{"labels", pairsOf(r.Labels)}}
}

// origin is who or what asked for the run, and where it went.
func (r *record) origin(ctx context.Context, n *namer) []fact {
	source := r.Source
	switch {
	case source == "" || source == "api":
		source = ""
	case r.RetryOf != "" || r.RerunOf != "":
		source += " of " + cmp.Or(r.RetryOf, r.RerunOf)
	case r.SourceID != "" && r.SourceID != r.TemplateID:
		source += " " + n.of(ctx, r.SourceID)
	}
	part := ""
	if r.ParentID != "" {
		part = strings.TrimSpace("of " + r.ParentID + " " + r.StepName)
	}
	if r.Attempt > 1 {
		part += fmt.Sprintf(", attempt %d", r.Attempt)
	}
	return []fact{{"source", source}, {"part", part}, {"by", r.Actor.Name}, {"queue", r.Queue}, {"worker", r.Worker}}
}

// times are when the run was made, how long it waited and how long it took.
func (r *record) times() []fact {
	waited := ""
	if !r.QueuedAt.IsZero() && !r.StartedAt.IsZero() {
		waited = seconds(r.StartedAt.Sub(r.QueuedAt).Milliseconds())
	}
	took, started := "", ""
	if r.DurationMS > 0 {
		took = seconds(r.DurationMS)
	}
	if !r.StartedAt.IsZero() {
		started = instant(r.StartedAt)
	}
	return []fact{{"created", instant(r.CreatedAt)}, {"waited", waited}, {"started", started}, {"took", took}}
}

// rules are what held the run, and who decided about it and why.
func (r *record) rules() []fact {
	held, decided, canceled := "", "", ""
	if r.HeldBy != nil {
		held = cmp.Or(r.HeldBy.Name, r.HeldBy.ID)
	}
	if d := r.Decision; d != nil {
		decided = strings.TrimSuffix(fmt.Sprintf("%s by %s at %s: %s", d.Verdict, d.By.Name, instant(d.At), d.Reason), ": ")
	}
	if x := r.Canceled; x != nil {
		canceled = fmt.Sprintf("by %s at %s", x.By.Name, instant(x.At))
	}
	outputs := make(map[string]string, len(r.Outputs))
	for k, v := range r.Outputs {
		outputs[k], _ = compactJSON(v) // it was JSON
	}
	return []fact{{"hosts", r.hostCounts()}, {"held by", held}, {"reaches", r.reaches()}, {"risk", r.risk()},
		{"approved", r.approvers()}, {"decided", decided}, {"canceled", canceled}, {"digest", r.Digest},
		{"preview", r.previewed()}, {"outputs", pairsOf(outputs)}}
}

// settings are the members of the request that the client has no names for: they are shown as they are in the answer.
func (r *record) settings(ctx context.Context, n *namer, wide bool) []fact {
	if !wide {
		return nil
	}
	var members map[string]json.RawMessage
	_ = json.Unmarshal(r.raw, &members) // a record without an answer has none
	var out []fact
	for _, name := range []string{"command", "extra_vars", "env", "forks", "verbosity", "shards", "priority", "timeout",
		"fail_on", "locks", "exclusive_hosts", "require_approval", "notifications", "isolation", "accepted_host_keys",
		"exit_code", "event_count", "log_bytes", "log_omitted", "lease_expires_at", "audit_receipt"} {
		raw := string(members[name])
		switch raw {
		case "", "0", "false", "null", `""`, "[]", "{}":
			continue
		}
		var text string
		if json.Unmarshal(members[name], &text) != nil {
			text = raw
		}
		out = append(out, fact{strings.ReplaceAll(name, "_", " "), text})
	}
	var ids []string
	_ = json.Unmarshal(members["credential_ids"], &ids) // absent for none
	for i, id := range ids {
		ids[i] = n.of(ctx, id)
	}
	return append(out, fact{"credentials", strings.Join(ids, ", ")})
}

// hostCounts counts the hosts by their worst outcomes. A host whose failures were all ignored by the play is fine.
func (r *record) hostCounts() string {
	counts := maps.Clone(r.Hosts)
	if n := counts["ignored"]; n > 0 {
		counts["ok"] += n
		delete(counts, "ignored")
	}
	var out []string
	for _, o := range outcomes {
		if n := counts[o]; n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, o))
		}
	}
	return strings.Join(out, ", ")
}

func pairsOf(m map[string]string) string {
	out := make([]string, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, k+"="+m[k])
	}
	return strings.Join(out, ", ")
}

// next lists the commands that make sense for the run now.
func (r *record) next() []string {
	failed := r.Hosts["failed"]+r.Hosts["unreachable"] > 0
	var verbs []string
	switch {
	case r.held():
		verbs = []string{"approve", "reject", "cancel"}
	case !r.ended():
		verbs = []string{"watch", "cancel"}
	case r.Status == "succeeded":
		verbs = []string{"logs", "compare", "rerun"}
	default:
		verbs = []string{"logs", "rerun"}
		if r.Status == "failed" && failed {
			verbs = []string{"failures", "relaunch", "compare", "logs"}
		}
		if r.Kind == "split" && r.Status == "failed" {
			verbs = []string{"failures", "retry", "logs"}
		}
	}
	for i := range verbs {
		verbs[i] = "writ " + verbs[i] + " " + oneLine(r.ID, 80)
	}
	return verbs
}

// wideTable prints one line per run with every column.
func wideTable(s screen, rows []record, now time.Time) {
	table := make([][]field, 0, len(rows))
	for i := range rows {
		r := &rows[i]
		waited := "-"
		if !r.QueuedAt.IsZero() && !r.StartedAt.IsZero() {
			waited = seconds(r.StartedAt.Sub(r.QueuedAt).Milliseconds())
		}
		short := r.row(now)
		table = append(table, []field{short[0], {text: oneLine(r.title(), 200)}, short[2], {text: oneLine(r.Queue, 60)},
			{text: oneLine(r.Worker, 60)}, {text: oneLine(r.Actor.Name, 60)}, {text: oneLine(r.Source, 20)},
			{text: instant(r.CreatedAt)}, {text: waited, number: true}, short[4], short[5],
			{text: oneLine(r.Change, 80)}, {text: oneLine(pairsOf(r.Labels), 120)}, short[6]})
	}
	s.table([]string{"STATUS", "NAME", "TOOL", "QUEUE", "WORKER", "BY", "SOURCE", "CREATED", "WAITED", "TOOK", "HOSTS",
		"CHANGE", "LABELS", "ID"}, table)
}
