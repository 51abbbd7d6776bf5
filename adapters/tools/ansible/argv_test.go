package ansible_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/adapters/tools/ansible"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// recorder stands for ansible-playbook and writes its arguments, each ended by a NUL.
const recorder = "#!/bin/sh\n" + `printf '%s\0' "$@" >"$ARGV"` + "\n"

func argument() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[ -~]{0,20}`),
		rapid.SampledFrom([]string{"--check", "-vvvv", "a b", "$(id)", "`id`", "; id", "@/etc/passwd", "x,@/etc/passwd",
			"é\u202e", "a\nb", "a\x00b", "=", "--extra-vars=x=1"}),
		rapid.String(),
	)
}

// TestNoControlBecomesAnArgumentOfItsOwn compares what a stand-in for ansible-playbook was given with a model.
// Keeps T16, T51.
func TestNoControlBecomesAnArgumentOfItsOwn(t *testing.T) {
	t.Parallel()
	bin := filepath.Join(t.TempDir(), "ansible-playbook")
	if err := os.WriteFile(bin, []byte(recorder), 0o755); err != nil {
		t.Fatal(err)
	}
	tool := newTool(t, ansible.Config{Playbook: bin})
	work, record := t.TempDir(), filepath.Join(t.TempDir(), "argv")
	playbook := filepath.Join(work, "-site.yml")
	if err := os.WriteFile(playbook, []byte("[]"), 0o644); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		_ = os.Remove(record)
		run := t.TempDir()
		spec := extension.ToolSpec{Dir: run, Env: map[string]string{"ARGV": record, "PATH": "/usr/bin:/bin"},
			DryRun: rapid.Bool().Draw(rt, "dry"), ExtraVars: map[string]any{"x": argument().Draw(rt, "value")}}
		p := execution.Play{WorkDir: work, Confined: true, Playbook: "-site.yml", Inventory: argument().Draw(rt, "inventory"),
			OwnInventory: true,
			Controls: runs.Controls{
				Limit: argument().Draw(rt, "limit"), Tags: rapid.SliceOfN(argument(), 0, 2).Draw(rt, "tags"),
				SkipTags: rapid.SliceOfN(argument(), 0, 2).Draw(rt, "skip"),
				Forks:    rapid.IntRange(-1, 50).Draw(rt, "forks"), Verbosity: rapid.IntRange(-1, 9).Draw(rt, "verbosity"),
			}, Diff: rapid.Bool().Draw(rt, "diff"), Login: login(run).Draw(rt, "login")}
		_, err := tool.Play(t.Context(), spec, p, new(discard), func(runs.Event) error { return nil })
		argv, rerr := os.ReadFile(record)
		if err != nil {
			if fault.KindOf(err) != fault.Invalid || rerr == nil {
				rt.Fatalf("%v, and arguments %q", err, argv)
			}
			return
		}
		got := strings.Split(strings.TrimSuffix(string(argv), "\x00"), "\x00")
		if diff := cmp.Diff(model(spec, p, playbook), got); diff != "" {
			rt.Fatal(diff)
		}
	})
}

// login is one that names anybody and anything, with its passwords in files of the run.
func login(dir string) *rapid.Generator[execution.Login] {
	return rapid.Custom(func(t *rapid.T) execution.Login {
		l := execution.Login{BecomeMethod: "su"}
		if rapid.Bool().Draw(t, "user") {
			l.User, l.PasswordFile, l.BecomePasswordFile = argument().Draw(t, "name"), filepath.Join(dir, "connection"),
				filepath.Join(dir, "become")
		}
		for range rapid.IntRange(0, 2).Draw(t, "vaults") {
			l.Vaults = append(l.Vaults, execution.VaultFile{ID: rapid.StringMatching(`[a-z@, -]{0,6}`).Draw(t, "id"),
				Path: filepath.Join(dir, "vault")})
		}
		return l
	})
}

// model says which arguments there must be.
func model(spec extension.ToolSpec, p execution.Play, playbook string) []string {
	var want []string
	add := func(ok bool, arg string) {
		if ok {
			want = append(want, arg)
		}
	}
	add(p.Inventory != "", "--inventory="+p.Inventory)
	add(p.Limit != "", "--limit="+p.Limit)
	add(len(p.Tags) > 0, "--tags="+strings.Join(p.Tags, ","))
	add(len(p.SkipTags) > 0, "--skip-tags="+strings.Join(p.SkipTags, ","))
	add(p.Forks > 0, "--forks="+strconv.Itoa(p.Forks))
	add(p.Verbosity > 0, "-"+strings.Repeat("v", max(0, min(p.Verbosity, 6))))
	add(spec.DryRun, "--check")
	add(spec.DryRun || p.Diff, "--diff")
	add(p.Login.User != "", "--user="+p.Login.User)
	add(p.Login.PasswordFile != "", "--connection-password-file="+p.Login.PasswordFile)
	add(p.Login.BecomePasswordFile != "", "--become-password-file="+p.Login.BecomePasswordFile)
	for _, v := range p.Login.Vaults {
		add(true, "--vault-id="+v.ID+"@"+v.Path)
		if id, path, _ := strings.Cut(v.ID+"@"+v.Path, "@"); id == "" || path != v.Path { // as Ansible takes it apart
			return nil
		}
	}
	return append(want, "--extra-vars=@"+filepath.Join(spec.Dir, "ansible", "vars.json"), playbook)
}

type discard struct{}

func (*discard) Write(p []byte) (int, error) { return len(p), nil }

// TestInventoryOutsideOfTheProject refuses an inventory by its name and by the target of its links, also a file whose
// name looks like a list of hosts. What the executor wrote itself is read.
func TestInventoryOutsideOfTheProject(t *testing.T) {
	t.Parallel()
	elsewhere := t.TempDir()
	outside := filepath.Join(elsewhere, "a,b")
	if err := os.WriteFile(outside, []byte(inventory), 0o644); err != nil {
		t.Fatal(err)
	}
	p := newProject(t, map[string]string{"site.yml": "- hosts: h1\n  gather_facts: false\n  tasks: []\n",
		"in/hosts": inventory})
	for name, target := range map[string]string{"link": outside, "x,y": outside, "dir": elsewhere, "ok": "in/hosts"} {
		if err := os.Symlink(target, filepath.Join(p.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	up, err := filepath.Rel(p.dir, outside)
	if err != nil {
		t.Fatal(err)
	}
	for name, own := range map[string]bool{
		outside: false, "link": false, "x,y": false, "dir/a,b": false, up: false, "..": false, "../nosuch": false,
		"~/hosts": false, "$PWD/../hosts": false, "in": true, "ok": true, outside + "#own": true,
	} {
		text, provided := strings.CutSuffix(name, "#own")
		p.play.Inventory, p.play.OwnInventory = text, provided
		res := p.run()
		if refused := strings.Contains(res.Error, "outside of the project"); refused == own || own && res.ExitCode != 0 {
			t.Errorf("%s: %+v", name, res)
		}
	}
}
