package rundeck_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/importer"
)

// job returns the draft of a job with one step, and other members.
func job(t *testing.T, step, other map[string]any) importer.Draft {
	t.Helper()
	j := map[string]any{"name": "j", "sequence": map[string]any{"commands": []any{step}}}
	for k, v := range other {
		j[k] = v
	}
	body, err := json.Marshal([]any{j})
	if err != nil {
		t.Fatal(err)
	}
	d := read(t, body)
	valid(t, d, true)
	return d
}

type m = map[string]any

// TestReferences executes steps whose texts refer to options, and compares what they print.
func TestReferences(t *testing.T) {
	t.Parallel()
	options := m{"options": []any{m{"name": "x"}, m{"name": "a.b"}, m{"name": "ENV"}}}
	for name, c := range map[string]struct {
		step m
		want string
	}{
		"bare":          {m{"exec": "echo ${option.x}"}, "it's  $HOME"},
		"unquoted":      {m{"exec": "echo ${unquotedoption.x}"}, "it's $HOME"},
		"double quotes": {m{"exec": `echo "<${option.x}>"`}, "<it's  $HOME>"},
		"single quotes": {m{"exec": `echo '<${option.x}>'`}, "<it's  $HOME>"},
		"substitution":  {m{"exec": `echo "$(echo "${option.x}")"`}, "it's  $HOME"},
		"odd name":      {m{"exec": "echo ${option.a.b} $RD_OPTION_A_B"}, "dot dot"},
		"reserved name": {m{"exec": "echo ${option.ENV}"}, "test"},
		"goes on":       {m{"exec": "false; echo end"}, "end"},
		"job":           {m{"exec": "echo ${job.name}"}, "j"},
		"here document": {m{"script": "cat <<X\n@option.x@\nX\n"}, "it's  $HOME"},
		"arguments":     {m{"script": `printf '%s|' "$@"`, "args": `-a "b c" ${option.x} ;x`}, "-a|b c|it's  $HOME|;x|"},
		"python": {m{"script": "import sys\nprint('@option.x@', sys.argv[1])", "scriptinterpreter": "python3", "args": "q"},
			"it's  $HOME q"},
		"other program": {m{"script": "a b\nc", "scriptinterpreter": "wc -w <"}, "3"},
		"plugin": {m{"type": "localexec", "nodeStep": true, "configuration": m{"command": "echo ${option.x}"}},
			"it's  $HOME"},
		"file": {m{"scriptfile": "echo", "args": "a"}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec, _ := template(t, job(t, c.step, options), "j")
			if got := execute(t, spec); got != c.want {
				t.Errorf("%q, want %q: %s", got, c.want, spec.Command)
			}
		})
	}
}

func execute(t *testing.T, spec *importer.TemplateSpec) string {
	t.Helper()
	if spec.Tool != "bash" {
		t.Fatalf("the tool is %s", spec.Tool)
	}
	file := filepath.Join(t.TempDir(), "script.sh")
	if err := os.WriteFile(file, []byte(spec.Command), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", file)
	c.Env = append(os.Environ(), "WRIT_VAR_X=it's  $HOME", "WRIT_VAR_A_B=dot", "WRIT_VAR_OPTION_ENV=test",
		"TMPDIR="+t.TempDir())
	out, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestTools: scripts have the tool of their language where it can take them.
func TestTools(t *testing.T) {
	t.Parallel()
	options := m{"options": []any{m{"name": "x"}}}
	for name, c := range map[string]struct {
		step          m
		tool, command string
	}{
		"python": {m{"script": "print('@option.x@')", "scriptinterpreter": "python3"}, "python",
			`print(__import__("os").environ.get("WRIT_VAR_X", ""))`},
		"python by its first line": {m{"script": "#!/usr/bin/env python3\nprint(1)"}, "python",
			"#!/usr/bin/env python3\nprint(1)"},
		"powershell": {m{"script": `Write-Output "@option.x@"`, "fileExtension": "ps1"}, "powershell",
			"Write-Output $env:WRIT_VAR_X"},
		"playbook": {m{"type": "com.batix.rundeck.plugins.AnsiblePlaybookWorkflowStep", "configuration": m{
			"ansible-playbook": "site.yml", "ansible-extra-vars": "a: 1\nansible_user: x\ndb_password: canary\nx: ${option.x}"}},
			"ansible", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec, _ := template(t, job(t, c.step, options), "j")
			if spec.Tool != c.tool || spec.Command != c.command {
				t.Errorf("%s: %q", spec.Tool, spec.Command)
			}
			if c.tool == "ansible" && (spec.Playbook != "site.yml" || len(spec.ExtraVars) != 1 || spec.ExtraVars["a"] == nil) {
				t.Errorf("%s %v", spec.Playbook, spec.ExtraVars)
			}
		})
	}
}

// TestNotTranslated: what a text refers to and nothing provides is told.
func TestNotTranslated(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"echo ${data.x}", "echo ${node.name}", "echo $RD_NODE_NAME", "echo ${option.absent}",
		"cat <<'X'\n${option.x}\nX"} {
		_, o := template(t, job(t, m{"exec": text}, m{"options": []any{m{"name": "x"}}}), "j")
		if o.Class != importer.NeedsYou || !warned(o, "sequence.commands[0]") {
			t.Errorf("%s: %s %v", text, o.Class, o.Warnings)
		}
	}
}

// TestHosts: a command for nodes is never executed on the executor in their place.
func TestHosts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ filter, exclude, pattern string }{
		{"tags: web", "", "web"},
		{"tags: web+prod !name: old.*", "", "web:&prod:!old*"},
		{"name: a,b tags: prod", "", "a:b:&prod"},
		{"tags: prod name: a,b", "", "a:b:&prod"},
		{".*", "name: x", "all:!x"},
		{"!tags: x", "", "all:!x"},
		{"node[12]", "", "~^(node[12])$"},
		{`name: "web 1"`, "", ""},
		{"osFamily: unix", "", ""},
		{"tags: a,b name: c,d", "", ""},
		{"tags: a+b,c", "", ""},
		{"name: @x", "", ""},
		{"name: -x", "", "~^(-x)$"},
	} {
		spec, o := template(t, job(t, m{"exec": "rm -rf cache"}, m{"nodefilters": m{"filter": c.filter,
			"filterExclude": c.exclude}}), "j")
		if spec.Limit != c.pattern || (c.pattern == "") != (o.Class == importer.NeedsYou) {
			t.Errorf("%s: the limit is %q, class %s", c.filter, spec.Limit, o.Class)
		}
		file := filepath.Join(t.TempDir(), "script.sh")
		if err := os.WriteFile(file, []byte(spec.Command), 0o600); err != nil {
			t.Fatal(err)
		}
		bash := exec.CommandContext(t.Context(), "bash", "-eo", "pipefail", file)
		bash.Env = []string{"PATH=" + filepath.Dir(file)}
		if out, err := bash.CombinedOutput(); err == nil || !strings.Contains(string(out), "inventory") && c.pattern != "" ||
			c.pattern == "" && !strings.Contains(string(out), "no pattern") {
			t.Errorf("%s: %v %s", c.filter, err, out)
		}
	}
	old, _ := template(t, job(t, m{"exec": "x"}, m{"nodefilters": m{"include": m{"tags": "a", "name": "n.*"},
		"exclude": m{"name": "n1"}, "dispatch": m{"threadcount": "7", "keepgoing": true}}}), "j")
	if old.Limit != "n*:&a:!n1" && old.Limit != "a:&n*:!n1" || !strings.Contains(old.Command, " -f 7 ") {
		t.Errorf("%q %s", old.Limit, old.Command)
	}
}
