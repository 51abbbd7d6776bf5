package submit

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/modules/runs/internal/guard"
	"github.com/writ-automation/writ/modules/runs/internal/lifecycle"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
)

// knows is a References of fixed ids.
type knows map[string]bool

func (k knows) Exists(_ context.Context, kind ids.Prefix, id string) (bool, error) {
	return k[id] && strings.HasPrefix(id, string(kind)), nil
}

func (knows) Defaults(_ context.Context, id string) (string, []string, error) {
	switch {
	case strings.HasSuffix(id, "queued"):
		return "gpu", nil, nil
	case strings.HasSuffix(id, "none"):
		return "", nil, fault.Missing("inventory", id)
	default:
		return "", nil, nil
	}
}

func (knows) Targets(context.Context, string, string) (catalog.Targets, error) {
	return catalog.Targets{}, nil
}

func (knows) Hosts(context.Context, string, string) ([]string, error) { return nil, nil }

func (knows) Selected(context.Context, string, string) (content, hosts string, err error) {
	return "content", "hosts", nil
}

func (knows) Variables(context.Context, string, ...string) (func(string) map[string]any, error) {
	return func(string) map[string]any { return nil }, nil
}

func (knows) RefreshesOnLaunch(context.Context, string) (bool, error) { return false, nil }

func (knows) Holds(context.Context, string) (all bool, steps []string, err error) {
	return false, nil, nil
}

func (knows) Step(_ context.Context, id string, answers runs.Vars) (catalog.Step, error) {
	if strings.HasSuffix(id, absent) {
		return catalog.Step{}, fault.BadField("template_id", "is a workflow, which cannot be a step")
	}
	return catalog.Step{Vouched: []string{id, "crd_" + read, "prj_" + read}, Spec: runs.StepSpec{TemplateID: id,
		Tool: "bash", Command: "true", ProjectID: "prj_" + read, CredentialIDs: []string{"crd_" + read},
		ExtraVars: answers, Preset: &runs.Preset{Forks: 7}}}, nil
}

func (knows) Pin(_ context.Context, id string, fresh bool) (commit, stale string, err error) {
	switch {
	case fresh && !strings.HasSuffix(id, "stale"):
		return "2c", "", nil
	case strings.HasSuffix(id, "stale"):
		return "0a", "nobody answers", nil
	case strings.HasSuffix(id, "lost"):
		return "", "", fault.Wrap(fault.Conflict, nil, "nothing can be fetched")
	default:
		return "1b", "", nil
	}
}

// open is a guard that allows everything.
type open struct{}

func (open) May(context.Context, access.Level, ...string) (bool, error) { return true, nil }
func (open) Scope(context.Context) (access.Scope, error)                { return access.Everything(), nil }

const inventory = "inv_00000000000000000000000000"

func subject() *Submitter {
	tools := execution.Tools{"ansible": nil, "bash": nil, "python": nil, "go": nil, "powershell": nil, "terraform": nil}
	return New(&lifecycle.Machine{}, nil, tools, knows{inventory: true}, nil, nil, nil, nil, guard.NewGate(open{}, nil))
}

func playbook(change func(*runs.Submission)) Request {
	q := Request{Submission: runs.Submission{Spec: runs.Spec{Playbook: "site.yml"}}}
	change(&q.Submission)
	normalise(&q.Spec)
	return q
}

func locations(err error) []string {
	var f *fault.Error
	if !errors.As(err, &f) {
		return nil
	}
	var out []string
	for _, x := range f.Fields {
		out = append(out, x.Location)
	}
	return out
}

func TestValidateNamesTheField(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 256)
	for _, c := range []struct {
		at     string
		change func(*runs.Submission)
	}{
		{"playbook", func(s *runs.Submission) { s.Playbook = "" }},
		{"playbook", func(s *runs.Submission) { s.Playbook = "--syntax-check" }},
		{"playbook", func(s *runs.Submission) { s.Playbook = "a\x00b" }},
		{"command", func(s *runs.Submission) { s.Tool, s.Command = "bash", " \n" }},
		{"command", func(s *runs.Submission) { s.Tool, s.Command = "bash", "echo \x00" }},
		{"command", func(s *runs.Submission) { s.Tool = "go" }},
		{"shards", func(s *runs.Submission) { s.Tool, s.Command, s.Shards = "bash", "true", 2 }},
		{"shards", func(s *runs.Submission) { s.Shards = -1 }},
		{"limit", func(s *runs.Submission) { s.Limit = "-e x" }},
		{"limit", func(s *runs.Submission) { s.Limit = "@/etc/passwd" }},
		{"limit", func(s *runs.Submission) { s.Limit = "web:!@list" }},
		{"limit", func(s *runs.Submission) { s.Limit = "web;@list" }},
		{"limit", func(s *runs.Submission) { s.Limit = "web,\u00a0@list" }},
		{"limit", func(s *runs.Submission) { s.Limit = "a\nb" }},
		{"limit", func(s *runs.Submission) { s.Limit = "a\x00" }},
		{"tags[1]", func(s *runs.Submission) { s.Tags = []string{"ok", "-x"} }},
		{"tags[0]", func(s *runs.Submission) { s.Tags = []string{""} }},
		{"skip_tags[0]", func(s *runs.Submission) { s.SkipTags = []string{"a\rb"} }},
		{"limit_hosts[0]", func(s *runs.Submission) { s.LimitHosts = []string{"-h"} }},
		{"name", func(s *runs.Submission) { s.Name = strings.Repeat("é", 201) }},
		{"name", func(s *runs.Submission) { s.Name = "\xff" }},
		{"labels", func(s *runs.Submission) { s.Labels = map[string]string{"Upper": "x"} }},
		{"labels.k", func(s *runs.Submission) { s.Labels = map[string]string{"k": long} }},
		{"change", func(s *runs.Submission) { s.Change = long }},
		{"env", func(s *runs.Submission) { s.Env = map[string]string{"A-B": ""} }},
		{"env.A", func(s *runs.Submission) { s.Env = map[string]string{"A": "\x00"} }},
		{"env.WRIT_RUN_ID", func(s *runs.Submission) { s.Env = map[string]string{"WRIT_RUN_ID": "x"} }},
		{"priority", func(s *runs.Submission) { s.Priority = 11 }},
		{"priority", func(s *runs.Submission) { s.Priority = -11 }},
		{"timeout", func(s *runs.Submission) { s.TimeoutSeconds = -1 }},
		{"forks", func(s *runs.Submission) { s.Forks = -1 }},
		{"verbosity", func(s *runs.Submission) { s.Verbosity = -1 }},
		{"queue", func(s *runs.Submission) { s.Queue = "a b" }},
		{"inventory", func(s *runs.Submission) { s.Inventory, s.InventoryID = "hosts", inventory }},
		{"extra_vars.a", func(s *runs.Submission) { s.ExtraVars = runs.Vars{"a": []byte(`["x\u0000"]`)} }},
		{"extra_vars.a", func(s *runs.Submission) { s.ExtraVars = runs.Vars{"a": []byte(`{`)} }},
		{"extra_vars.a", func(s *runs.Submission) {
			s.ExtraVars = runs.Vars{"a": []byte(strings.Repeat("[", 65) + strings.Repeat("]", 65))}
		}},
		{"extra_vars", func(s *runs.Submission) { s.ExtraVars = runs.Vars{"": []byte(`1`)} }},
		{"extra_vars.a", func(s *runs.Submission) { s.ExtraVars = runs.Vars{"a": []byte(`[{"b":{"x\u0000":1}}]`)} }},
		{"extra_vars.a", func(s *runs.Submission) { s.ExtraVars = runs.Vars{"a": []byte(strings.Repeat("1", 4001))} }},
		{"extra_vars.a", func(s *runs.Submission) { s.ExtraVars = runs.Vars{"a": []byte(`{"__ansible_unsafe":"x"}`)} }},
		{"extra_vars.a", func(s *runs.Submission) {
			s.ExtraVars = runs.Vars{"a": []byte(`[1,{"b":{"__ansible_vault":"$ANSIBLE_VAULT;1.1;AES256"}}]`)}
		}},
		{"extra_vars.__ansible_type", func(s *runs.Submission) { s.ExtraVars = runs.Vars{"__ansible_type": []byte(`1`)} }},
		{"notifications[0].kind", telling(runs.Notification{Kind: "pigeon"})},
		{"notifications[0].url", telling(runs.Notification{Kind: "webhook"})},
		{"notifications[0].url", telling(runs.Notification{Kind: "slack", To: "x"})},
		{"notifications[0].key", telling(runs.Notification{Kind: "pagerduty", URL: "https://x"})},
		{"notifications[0].key", telling(runs.Notification{Kind: "grafana", URL: "https://x"})},
		{"notifications[0].to", telling(runs.Notification{Kind: "twilio"})},
		{"notifications[0].to", telling(runs.Notification{Kind: "email"})},
		{"notifications[0].to", telling(runs.Notification{Kind: "email", To: "nobody at all"})},
		{"notifications[0].url", telling(runs.Notification{Kind: "webhook", URL: "ftp://host/x"})},
		{"notifications[0].url", telling(runs.Notification{Kind: "webhook", URL: "https:///path"})},
		{"Idempotency-Key", func(s *runs.Submission) { s.Idempotency = &runs.Idempotency{Key: strings.Repeat("k", 256)} }},
	} {
		q := playbook(c.change)
		err := subject().validate(t.Context(), &q)
		if !fault.Is(err, fault.Invalid) || !cmp.Equal(locations(err), []string{c.at}) {
			t.Errorf("%s: got %v at %v", c.at, err, locations(err))
		}
	}
}

func telling(n runs.Notification) func(*runs.Submission) {
	return func(s *runs.Submission) { s.Notifications = []runs.Notification{n} }
}

func TestValidateReportsEveryFinding(t *testing.T) {
	t.Parallel()
	q := playbook(func(s *runs.Submission) { s.Priority, s.Forks, s.Limit = 99, -1, "-x" })
	want := []string{"limit", "forks", "priority"}
	if diff := cmp.Diff(want, locations(subject().validate(t.Context(), &q))); diff != "" {
		t.Error(diff)
	}
}

func TestValidateAccepts(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*runs.Submission){
		"plain":          func(*runs.Submission) {},
		"all controls":   func(s *runs.Submission) { s.Limit, s.Tags, s.Forks = "web:&eu:!web03", []string{"a"}, 50 },
		"known id":       func(s *runs.Submission) { s.InventoryID = inventory },
		"template text":  func(s *runs.Submission) { s.ExtraVars = runs.Vars{"a": []byte(`"{{ lookup('pipe','id') }}"`)} },
		"escaped escape": func(s *runs.Submission) { s.ExtraVars = runs.Vars{"a": []byte(`"\\u0000"`)} },
		"extension":      func(s *runs.Submission) { s.Tool, s.Playbook = "terraform", "" },
		"one shard":      func(s *runs.Submission) { s.Tool, s.Command, s.Shards = "bash", "true", 1 },
		"label":          func(s *runs.Submission) { s.Labels = map[string]string{"a/b.c_d-e": "Ünï"} },
	} {
		q := playbook(change)
		if err := subject().validate(t.Context(), &q); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestInventoryOfAProject confines the path of a project's run, and lets lists of hosts be.
func TestInventoryOfAProject(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		"": true, "hosts.ini": true, "a/b/hosts": true, "a/../hosts": true, "h1,": true, "h1,h2": true, "$h,": true,
		"../hosts": false, "/etc/hosts": false, "a/../../hosts": false, "/etc/a,b": false, "../a,b": false, "..": false,
		"~/hosts": false, "~root/hosts": false, "$HOME/hosts": false, "${HOME}": false, "a/$X": false,
		"-h": false, "h1,-oProxyCommand=x": false, "h1, -h2,": false,
	} {
		for _, project := range []string{"prj_1", ""} {
			c := newChecks()
			spec := &runs.Spec{Inventory: text, ProjectID: project, Queue: runs.DefaultQueue}
			c.paths(spec)
			free := project == "" && !strings.HasPrefix(text, "-") && !strings.Contains(text, ",-") &&
				!strings.Contains(text, ", -")
			if got := c.fault() == nil; got != (ok || free) {
				t.Errorf("%q in the project %q: %v", text, project, c.fault())
			}
		}
	}
}

func TestNormaliseClamps(t *testing.T) {
	t.Parallel()
	q := playbook(func(s *runs.Submission) { s.Verbosity, s.Shards, s.LimitHosts = 9, 10_000, []string{} })
	want := runs.Spec{Tool: "ansible", Playbook: "site.yml", Queue: "default", Shards: 512,
		Controls: runs.Controls{Verbosity: 4}}
	if diff := cmp.Diff(want, q.Spec); diff != "" {
		t.Error(diff)
	}
}

func TestUnknownToolAndUnknownIDs(t *testing.T) {
	t.Parallel()
	q := playbook(func(s *runs.Submission) { s.Tool = "cobol" })
	if err := subject().validate(t.Context(), &q); !runs.UnknownTool.Is(err) || locations(err)[0] != "tool" {
		t.Errorf("tool: %v", err)
	}
	for at, change := range map[string]func(*runs.Submission){
		"inventory_id":      func(s *runs.Submission) { s.InventoryID = "inv_1" },
		"project_id":        func(s *runs.Submission) { s.ProjectID = "prj_00000000000000000000000000" },
		"credential_ids[0]": func(s *runs.Submission) { s.CredentialIDs = []string{"nope"} },
	} {
		q := playbook(change)
		err := subject().validate(t.Context(), &q)
		if !fault.Is(err, fault.NotFound) || !cmp.Equal(locations(err), []string{at}) {
			t.Errorf("%s: got %v", at, err)
		}
	}
}

func TestPipelineSteps(t *testing.T) {
	t.Parallel()
	ok := runs.StepSpec{Name: "a", Tool: "bash", Command: "true"}
	for _, c := range []struct {
		at     string
		kind   fault.Kind
		change func(*runs.StepSpec)
	}{
		{"steps[1].name", fault.Invalid, func(s *runs.StepSpec) { s.Name = " " }},
		{"steps[1].name", fault.Invalid, func(s *runs.StepSpec) { s.Name = "a" }},
		{"steps[1].depends_on[0]", fault.Invalid, func(s *runs.StepSpec) { s.DependsOn = []string{"x"} }},
		{"steps[1].command", fault.Invalid, func(s *runs.StepSpec) { s.Command = "" }},
		{"steps[1].playbook", fault.Invalid, func(s *runs.StepSpec) { s.Tool = "" }},
		{"steps[1].tool", fault.Invalid, func(s *runs.StepSpec) { s.Tool = "x" }},
		{"steps[1].limit", fault.Invalid, func(s *runs.StepSpec) { s.Limit = "@f" }},
		{"steps[1].retries", fault.Invalid, func(s *runs.StepSpec) { s.Retries = -1 }},
		{"steps[1].timeout", fault.Invalid, func(s *runs.StepSpec) { s.TimeoutSeconds = -1 }},
		{"steps[1].extra_vars.a", fault.Invalid, func(s *runs.StepSpec) { s.ExtraVars = runs.Vars{"a": []byte(`"\u0000"`)} }},
		{"steps[1].inventory_id", fault.NotFound, func(s *runs.StepSpec) { s.InventoryID = "inv_x" }},
	} {
		second := runs.StepSpec{Name: "b", Tool: "bash", Command: "true"}
		c.change(&second)
		r := &runs.Run{}
		normalise(&r.Spec)
		_, err := subject().validatePipeline(t.Context(), r,
			&runs.PipelineSubmission{Steps: []runs.StepSpec{ok, second}}, nil, nil)
		if fault.KindOf(err) != c.kind || !cmp.Equal(locations(err), []string{c.at}) {
			t.Errorf("%s: got %v at %v", c.at, err, locations(err))
		}
	}
}

func TestLineage(t *testing.T) {
	t.Parallel()
	a := &runs.Spec{Tool: "bash", Command: "true"}
	b := &runs.Spec{Tool: "bash", Command: "false"}
	if lineage(runs.Origin{}, a, nil) == lineage(runs.Origin{}, b, nil) {
		t.Error("two commands share a lineage")
	}
	if lineage(runs.Origin{}, a, nil) != lineage(runs.Origin{Source: runs.FromRerun, SourceID: "x"}, a, nil) {
		t.Error("the same definition has two lineages")
	}
	if got := lineage(runs.Origin{Source: runs.FromTemplate, SourceID: "tpl_1"}, a, nil); got != "tpl_1" {
		t.Errorf("template: %s", got)
	}
}
