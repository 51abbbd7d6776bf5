package run

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
)

// input is one thing that went into a run.
type input struct{ Name, Text string }

// inputs lists what went into a run. Values of variables that look secret are masked.
func inputs(h *head) []input {
	r := h.Run
	s := &r.Spec
	var out []input
	add := func(name, text string) {
		if text != "" {
			out = append(out, input{name, text})
		}
	}
	add("Tool", strings.TrimSpace(s.Tool+" "+r.ToolVersion))
	add("Command line", commandLine(s))
	add("Playbook", s.Playbook)
	add("Command", s.Command)
	add("Project", s.ProjectID)
	add("Commit", r.Commit)
	add("Inventory", cmp.Or(h.Inventory, s.InventoryID, s.Inventory))
	add("Hosts by facts", s.InventoryQuery)
	add("Limit", s.Limit)
	if n := len(s.LimitHosts); n > 0 {
		add("Bound to", shell.Plural(n, "host")+": "+names(s.LimitHosts))
	}
	add("Tags", strings.Join(s.Tags, ", "))
	add("Skipped tags", strings.Join(s.SkipTags, ", "))
	add("Forks", positive(s.Forks))
	add("Verbosity", positive(s.Verbosity))
	add("Shards", positive(s.Shards))
	add("Priority", positive(s.Priority))
	add("Differences of files", yes(s.DiffMode))
	add("Dry run", yes(s.DryRun))
	if s.TimeoutSeconds > 0 {
		add("Time limit", shell.Duration(time.Duration(s.TimeoutSeconds)*time.Second))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Vars)) {
		add("Variable "+name, shortened(string(r.Vars.Redact()[name])))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		text := s.Env[name]
		if runs.LooksSecret(name) {
			text = secret.Mask
		}
		add("Environment "+name, shortened(text))
	}
	add("Credentials", strings.Join(s.CredentialIDs, ", "))
	add("Locks", strings.Join(s.Locks, ", "))
	add("Alone on its hosts", yes(s.ExclusiveHosts))
	add("Fails on", strings.Join(s.FailOn, ", "))
	for _, name := range slices.Sorted(maps.Keys(r.Labels)) {
		add("Label "+name, r.Labels[name])
	}
	add("Isolation", strings.Trim(r.Isolation.Level+", "+r.Isolation.Profile, ", "))
	add("Digest of the log", r.LogSHA256)
	if a := r.Approvals; a != nil {
		switch {
		case a.Approved != nil:
			add("Digest of what was approved", a.Approved.Digest())
		case a.Parts != nil:
			add("Digest of what is held", a.Parts.Digest())
		}
	}
	return out
}

// The bounds of what is shown of a value, and of names in a list.
const (
	maxShown = 2000
	maxNames = 20
)

func shortened(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return strings.ToValidUTF8(text[:maxShown], "") + "…"
}

// names joins the first names of a list.
func names(list []string) string {
	text := strings.Join(list[:min(len(list), maxNames)], ", ")
	if n := len(list) - maxNames; n > 0 {
		text += " and " + shell.Count(n) + " more"
	}
	return text
}

func positive(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}

// commandLine is how the run would be typed by hand. The executor adds the inventory, the login and the variables.
func commandLine(s *runs.Spec) string {
	if s.Tool != runs.Ansible || s.Playbook == "" {
		return ""
	}
	words := []string{"ansible-playbook", quoted(s.Playbook)}
	add := func(flag, value string) {
		if value != "" {
			words = append(words, flag, quoted(value))
		}
	}
	add("--limit", s.Limit)
	add("--tags", strings.Join(s.Tags, ","))
	add("--skip-tags", strings.Join(s.SkipTags, ","))
	add("--forks", positive(s.Forks))
	if s.DiffMode {
		words = append(words, "--diff")
	}
	if s.DryRun {
		words = append(words, "--check")
	}
	if s.Verbosity > 0 {
		words = append(words, "-"+strings.Repeat("v", min(s.Verbosity, 5)))
	}
	return strings.Join(words, " ")
}

func quoted(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-,:@%+=") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// member is a member of the request that would make the same run, as a field of a form.
type member struct{ Name, Value string }

// request returns the members of a request with the settings of a run. Masked values stay masked.
func request(r *runs.Run) []member {
	s := r.Spec
	s.LimitHosts, s.Templated, s.TemplateID, s.Notifications = nil, nil, "", nil
	raw, err := json.Marshal(s)
	var all map[string]json.RawMessage
	if err != nil || json.Unmarshal(raw, &all) != nil {
		return nil
	}
	for _, name := range []string{"dry_run_executes", "isolation_profile", "inventory_query"} {
		delete(all, name)
	}
	if vars, err := json.Marshal(r.Vars.Redact()); err == nil && len(r.Vars) > 0 {
		all["extra_vars"] = vars
	}
	var out []member
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, member{name + ":json", string(all[name])})
	}
	if r.Name != "" {
		out = append(out, member{"name:text", r.Name})
	}
	return out
}

func planTitle(p plan) string {
	switch {
	case !p.Known:
		return "Which hosts it would run on is known when it starts"
	case p.Unknown:
		return "It would run on " + shell.Plural(p.Count, "host") + " or more"
	}
	return "It would run on " + shell.Plural(p.Count, "host")
}

func hostList(p plan) string {
	shown := p.Hosts[:min(len(p.Hosts), plannedHosts)]
	text := strings.Join(shown, ", ")
	if n := p.Count - len(shown); n > 0 {
		text += " and " + shell.Count(n) + " more"
	}
	return text
}

func noLast(r *runs.Run) string {
	if r.Spec.TemplateID == "" {
		return "It was not launched from a template, so there is no last time."
	}
	return "This is the first run of its template that you may read."
}

func lastText(r *runs.Run) string {
	text := ": " + strings.ToLower(shell.StateOf(r.Status, r.Spec.DryRun).Word)
	if d := r.Duration(r.EndedAt); d > 0 {
		text += " after " + shell.Duration(d)
	}
	if all := results(r); all != "" {
		text += ", " + all
	}
	return text + "."
}
