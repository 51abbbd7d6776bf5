package risk

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/modules/policy/internal/subject"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

// example is a run with its targets.
type example struct {
	run     runs.Run
	targets policy.Targets
}

func tool(name string) example { return example{run: runs.Run{Spec: runs.Spec{Tool: name}}} }

func hosts(n, of int) example {
	x := tool(runs.Ansible)
	x.targets = policy.Targets{Hosts: n, Of: of}
	return x
}

func label(key, value string) example {
	return example{run: runs.Run{Labels: map[string]string{key: value}}}
}

func variable(name, value string) example {
	return example{run: runs.Run{Vars: runs.Vars{name: json.RawMessage(value)}}}
}

func env(name, value string) example {
	return example{run: runs.Run{Spec: runs.Spec{Env: map[string]string{name: value}}}}
}

func command(text string) example {
	return example{run: runs.Run{Spec: runs.Spec{Tool: "bash", Command: text}}}
}

func profile(name string) example {
	return example{run: runs.Run{Spec: runs.Spec{IsolationProfile: name}}}
}

func dry(x example) example {
	x.run.Spec.DryRun = true
	return x
}

func executed(x example) example {
	x.run.Spec.DryRunExecutes = true
	return dry(x)
}

// launching is a pipeline with a step that launches a template with a label.
func launching(key, value string) example {
	return example{run: runs.Run{Labels: map[string]string{"env": "dev"}, Graph: &runs.Graph{Steps: []runs.StepState{
		{StepSpec: runs.StepSpec{Preset: &runs.Preset{Labels: map[string]string{key: value}}}}}}}}
}

// examples has for each other rule runs that match, and others that are close.
var examples = map[string]struct{ match, miss []example }{
	"script": {[]example{tool("bash"), tool("python"), tool("powershell"), tool("go")},
		[]example{tool(""), tool("ansible"), tool("terraform")}},
	"plugin": {[]example{tool("terraform")}, []example{tool(""), tool("ansible"), tool("bash"), tool("go")}},
	"hosts_unknown": {
		[]example{hosts(-1, -1), hosts(-1, 5), {run: tool("plugin").run, targets: policy.UnknownTargets()}},
		[]example{hosts(0, -1), hosts(0, 0), {run: tool("bash").run, targets: policy.UnknownTargets()}}},
	"hosts_over_10": {[]example{hosts(11, 50), hosts(100, 200), hosts(11, -1)}, []example{hosts(10, 50), hosts(101,
		200)}},
	"hosts_over_100":  {[]example{hosts(101, 500), hosts(1000, 2000)}, []example{hosts(100, 500), hosts(1001, 2000)}},
	"hosts_over_1000": {[]example{hosts(1001, 5000), hosts(90000, -1)}, []example{hosts(1000, 5000), hosts(-1, 5000)}},
	"whole_inventory": {[]example{hosts(11, 11), hosts(5000, 5000)},
		[]example{hosts(10, 10), hosts(10, 11), hosts(-1, 11), hosts(11, -1)}},
	"production": {
		[]example{label("env", "prod"), label("environment", "production"), label("stage", "live"), label("tier", "Prod"),
			label("env", " PRODUCTION "), launching("env", "prod"), launching("tier", "live")},
		[]example{launching("env", "test"), label("env", "staging"), label("env", "prod-like"), label("app", "prod"),
			label("env", ""), label("production", "env"), label("envs", "prod")}},
	"credentials": {[]example{{run: runs.Run{Spec: runs.Spec{CredentialIDs: []string{"crd_1"}}}}},
		[]example{{run: runs.Run{Spec: runs.Spec{CredentialIDs: []string{}}}}, env("CREDENTIALS", "x")}},
	"become": {
		[]example{variable("ansible_become", "true"), variable("ansible_become", `"yes"`),
			variable("ansible_become", `"{{ x }}"`), variable("ansible_become", "1"), env("ANSIBLE_BECOME", "True"),
			command("sudo systemctl status x"), command("x && su - postgres"), command("a | doas b"),
			command("/usr/bin/sudo x")},
		[]example{variable("ansible_become", "false"), variable("ansible_become", `"No"`), variable("ansible_become",
			"null"),
			variable("ansible_become_user", `"root"`), variable("become", "true"), env("ANSIBLE_BECOME", "0"),
			env("BECOME", "1"), command("cat /etc/sudoers"), command("visudo -c"), command("pseudo x"), command("echo su"),
			{run: runs.Run{Vars: runs.Vars{"ansible_become": json.RawMessage("false")},
				Spec: runs.Spec{Env: map[string]string{"ANSIBLE_BECOME": "true"}}}}}},
	"root_on_executor": {[]example{profile("host")}, []example{profile(""), profile("standard"), profile("hosts")}},
	"network_device": {
		[]example{variable("ansible_connection", `"network_cli"`), variable("ansible_connection", `"netconf"`),
			variable("ansible_connection", `"ansible.netcommon.httpapi"`), variable("ansible_network_os", `"ios"`),
			env("ANSIBLE_TRANSPORT", "network_cli")},
		[]example{variable("ansible_connection", `"ssh"`), variable("ansible_connection", `"local"`),
			variable("ansible_network_os", `""`), variable("connection", `"network_cli"`), env("ANSIBLE_TRANSPORT", "ssh"),
			variable("ansible_connection", `"network_cli_x"`)}},
	"dry_run": {[]example{dry(tool("bash")), dry(label("env", "prod"))}, []example{tool("bash"), dry(tool("ansible")),
		executed(tool("bash"))}},
}

// TestSettings shows what each rule about other things than commands matches, and what it leaves out.
func TestSettings(t *testing.T) {
	t.Parallel()
	for name, c := range examples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, x := range c.match {
				if !has(t, &x.run, []policy.Targets{x.targets}, name) {
					t.Errorf("misses %+v over %+v", x.run.Spec, x.targets)
				}
			}
			for _, x := range c.miss {
				if has(t, &x.run, []policy.Targets{x.targets}, name) {
					t.Errorf("matches %+v %v %v over %+v", x.run.Spec, x.run.Labels, x.run.Vars, x.targets)
				}
			}
		})
	}
}

// TestEveryRuleIsTested requires both kinds of examples of each rule, and names, reasons and texts of its own.
func TestEveryRuleIsTested(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range Rules() {
		c, x := commands[r.Name], examples[r.Name]
		if len(c.match)+len(x.match) == 0 || len(c.miss)+len(x.miss) == 0 {
			t.Errorf("%s has no example, or nothing close to one", r.Name)
		}
		for _, text := range []string{r.Name, r.Reason} {
			if seen[text] {
				t.Errorf("%q is used twice", text)
			}
			seen[text] = true
		}
		if !strings.HasSuffix(r.Reason, ".") || !strings.HasSuffix(r.Text, ".") {
			t.Errorf("%s has no sentences", r.Name)
		}
		if r.Level != "" && !slices.Contains(runs.RiskLevels(), r.Level) {
			t.Errorf("%s has the level %q", r.Name, r.Level)
		}
	}
	if n := len(Rules()); n > 64 || n != len(commands)+len(examples) {
		t.Errorf("%d rules, %d with examples; the bits of 64 are counted", n, len(commands)+len(examples))
	}
	if last := Rules()[len(Rules())-1]; last.Level != "" || slices.ContainsFunc(Rules()[:len(Rules())-1],
		func(r Rule) bool { return r.Level == "" }) {
		t.Error("the rule that lowers is not the last one")
	}
}

// TestGrade combines rules: the highest level counts, reasons stand in the order of the rules.
func TestGrade(t *testing.T) {
	t.Parallel()
	all := runs.Run{
		Labels: map[string]string{"env": "prod"},
		Spec:   runs.Spec{Tool: "bash", Command: "sudo rm -rf /srv; drop table x;", CredentialIDs: []string{"crd_1"}},
	}
	want := runs.Risk{Level: runs.CriticalRisk, Reasons: []string{
		"It executes a script.", "Its command drops data of a database.", "Its command deletes a tree of files.",
		"A label says that it is for production.", "It uses credentials.", "It becomes another user.",
	}}
	if d := cmp.Diff(want, Grade(&subject.Of(&all, nil)[0])); d != "" {
		t.Error(d)
	}
	all.Spec.DryRun = true
	want.Level = runs.HighRisk
	want.Reasons = append(want.Reasons, "It is a dry run, which lowers the risk by one level.")
	if d := cmp.Diff(want, Grade(&subject.Of(&all, nil)[0])); d != "" {
		t.Error(d)
	}
	plain := subject.Of(&runs.Run{Spec: runs.Spec{Playbook: "x.yml", DryRun: true}}, []policy.Targets{{Hosts: 1, Of: 20}})
	if d := cmp.Diff(runs.Risk{Level: runs.LowRisk}, Grade(&plain[0])); d != "" {
		t.Error(d)
	}
}

// TestGradeAll grades a pipeline as its highest step, with the reasons of all.
func TestGradeAll(t *testing.T) {
	t.Parallel()
	r := &runs.Run{Kind: runs.Pipeline, Graph: &runs.Graph{Steps: []runs.StepState{
		{StepSpec: runs.StepSpec{Name: "a", Playbook: "x.yml"}},
		{StepSpec: runs.StepSpec{Name: "b", Tool: "bash", Command: "rm -rf x"}},
		{StepSpec: runs.StepSpec{Name: "c", Tool: "python", Command: "print()"}},
	}}}
	risk, levels := GradeAll(subject.Of(r, []policy.Targets{{Hosts: 20, Of: 40}}))
	want := runs.Risk{Level: runs.HighRisk, Reasons: []string{
		"It executes a script.", "Its command deletes a tree of files.", "It targets more than 10 hosts.",
	}}
	if d := cmp.Diff(want, risk); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]runs.RiskLevel{runs.MediumRisk, runs.HighRisk, runs.MediumRisk}, levels); d != "" {
		t.Error(d)
	}
	if risk, levels := GradeAll(nil); risk.Level != runs.LowRisk || risk.Reasons != nil || len(levels) != 0 {
		t.Errorf("nothing has the risk %+v", risk)
	}
}

func BenchmarkGrade(b *testing.B) {
	for name, r := range map[string]runs.Run{
		"playbook": {Labels: map[string]string{"env": "prod", "app": "web"}, Spec: runs.Spec{Tool: "ansible",
			Playbook: "site.yml", CredentialIDs: []string{"crd_1"}}},
		"script": {Spec: runs.Spec{Tool: "bash", Command: "set -eu\ncd /srv/app\ngit pull --ff-only\n" +
			"sudo systemctl restart app\ncurl -fsS http://localhost:8080/health | grep ok\n"}},
		"worst": {Spec: runs.Spec{Tool: "bash",
			Command: strings.Repeat("dd drop terraform rm aws halt curl net chmod ufw su "+
				"iex\\\n", maxRead/60)}},
	} {
		b.Run(name, func(b *testing.B) {
			s := subject.Of(&r, []policy.Targets{{Hosts: 20, Of: 200}})
			b.ReportAllocs()
			for b.Loop() {
				Grade(&s[0])
			}
		})
	}
}
