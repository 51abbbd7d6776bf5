package proposal_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/modules/ai/internal/proposal"
	"github.com/writ-automation/writ/ports/ai"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// TestRead: a proposal is held and labelled, whatever the model says about that.
func TestRead(t *testing.T) {
	t.Parallel()
	const text = `{"name":"Patch","tool":"ansible","playbook":"site.yml","inventory_id":"inv_1","project_id":"prj_1",
		"extra_vars":{"n":12345678901234567890,"list":[{"a":"b"}],"list":["c"]},"limit":"web*","tags":["a"],"skip_tags":["b"],
		"forks":3,"verbosity":2,"diff_mode":true,"dry_run":true,"timeout":60,"queue":"default",
		"labels":{"a":"b","proposed-by":"root"},"change":"c1"}`
	want := runs.Submission{
		Spec: runs.Spec{Tool: "ansible", Playbook: "site.yml", InventoryID: "inv_1", ProjectID: "prj_1",
			Controls: runs.Controls{Limit: "web*", Tags: []string{"a"}, SkipTags: []string{"b"}, Forks: 3, Verbosity: 2,
				DiffMode: true},
			DryRun: true, TimeoutSeconds: 60, Queue: "default", RequireApproval: true},
		Name: "Patch", Labels: map[string]string{"a": "b", ai.ProposalLabel: ai.ProposalValue}, Change: "c1",
		ExtraVars: runs.Vars{"n": []byte("12345678901234567890"), "list": []byte(`["c"]`)},
		Origin:    runs.Origin{Source: runs.FromProposal},
	}
	for _, answer := range []string{text, "```json\n" + text + "\n```", "\n\n```\n" + text + "\n```\n"} {
		got, err := proposal.Read(answer)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%v %s", err, d)
		}
	}
	got, err := proposal.Read(`{"tool":"bash","command":"uptime\r\n"}`)
	if err != nil || !got.RequireApproval || got.Labels[ai.ProposalLabel] != ai.ProposalValue {
		t.Errorf("%+v %v", got, err)
	}
}

// TestReadRefuses: what is not exactly such an object is refused, and its values are not repeated.
func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for answer, field := range map[string]string{
		"":                        "",
		"I approve the run.":      "",
		`[{"tool":"bash"}]`:       "",
		`"c4nary"`:                "",
		`{"tool":"bash"} {}`:      "",
		`{"tool":"bash"}, c4nary`: "",
		"Sure!\n{\"tool\":\"a\"}": "",
		`{"tool":"bash"`:          "",
		`{"tool":7}`:              "tool",
		`{"command":["c4nary"]}`:  "command",
		`{"labels":{"a":["x"]}}`:  "labels",
		`{"require_approval":false,"tool":"bash","command":"c4nary"}`: "require_approval",
		`{"env":{"A":"c4nary"}}`:                 "env",
		`{"credential_ids":["crd_c4nary"]}`:      "credential_ids",
		`{"notifications":[{"kind":"webhook"}]}`: "notifications",
		`{"priority":10}`:                        "priority",
		`{"template_id":"tpl_1"}`:                "template_id",
		`{"isolation_profile":"host"}`:           "isolation_profile",
		`{"command":"echo \u202ec4nary"}`:        "command",
		`{"name":"a\u0000b"}`:                    "name",
		`{"tags":["a\u2066"]}`:                   "tags",
		`{"extra_vars":{"a":[{"b\u0007":"c"}]}}`: "extra_vars",
		`{"extra_vars":{"a":"\u001b[31m"}}`:      "extra_vars",
		`{"labels":{"a":"\u0000"}}`:              "labels",
		`{"extra_vars":{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}}`: "extra_vars",
	} {
		_, err := proposal.Read(answer)
		var f *fault.Error
		if !errors.As(err, &f) || !ai.BadProposal.Is(err) || strings.Contains(err.Error(), "c4nary") {
			t.Errorf("%.60s: %v", answer, err)
			continue
		}
		if field != "" && (len(f.Fields) != 1 || !strings.HasPrefix(f.Fields[0].Location, field)) {
			t.Errorf("%.60s: %+v", answer, f.Fields)
		}
	}
}

// TestReadRefusesReservedNames: a variable that steers the tool is refused at any depth, by the one list.
// Keeps T41.
func TestReadRefusesReservedNames(t *testing.T) {
	t.Parallel()
	for vars, at := range map[string]string{
		`{"ansible_connection":"local"}`:               "extra_vars.ansible_connection",
		`{"release":"1","PATH":"/tmp/c4nary"}`:         "extra_vars.PATH",
		`{"web":[{"env":{"LD_PRELOAD":"c4nary.so"}}]}`: "extra_vars.web[0].env.LD_PRELOAD",
		`{"hostvars":{}}`:                              "extra_vars.hostvars",
		`{"{{ c }}":"c4nary"}`:                         `extra_vars."{{ c }}"`,
	} {
		_, err := proposal.Read(`{"tool":"bash","command":"true","extra_vars":` + vars + `}`)
		var f *fault.Error
		if !runs.VarsReserved.Is(err) || !errors.As(err, &f) || len(f.Fields) != 1 || f.Fields[0].Location != at ||
			!strings.HasPrefix(f.Message, at+": ") || strings.Contains(f.Message, "c4nary") {
			t.Errorf("%s: %v", vars, err)
		}
	}
	_, err := proposal.Read(`{"tool":"bash","command":"true","extra_vars":{"path":"/","x":{"groups":[]}}}`)
	if err != nil {
		t.Errorf("ordinary names: %v", err)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	err := proposal.Refused(fault.BadField("playbook", "is required for ansible"))
	var f *fault.Error
	if !ai.BadProposal.Is(err) || !errors.As(err, &f) || f.Fields[0].Location != "playbook" {
		t.Errorf("%v", err)
	}
	if other := runs.UseRequired.New("no"); !errors.Is(proposal.Refused(other), other) || proposal.Refused(nil) != nil {
		t.Error("another error changed")
	}
}

func TestUnfenced(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"```bash\nset -e\n```": "set -e", "```\na\n\nb\n```\n": "a\n\nb", "set -e\n": "set -e", "```": "```", "": "",
		"```a\nb\n```\nand\n```c\nd\n```": "```a\nb\n```\nand\n```c\nd\n```", "```x``` y\nz\n```": "```x``` y\nz\n```",
	} {
		if got := proposal.Unfenced(text); got != want {
			t.Errorf("%q is %q", text, got)
		}
	}
}
