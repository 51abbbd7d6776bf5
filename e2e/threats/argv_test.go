package threats

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
)

// recorder has programs in front of the PATH that record their arguments.
type recorder struct {
	t        *testing.T
	dir, log string
	mark     string // the file that a program makes which should not be executed
}

// newRecorder records git and ssh, which are then executed, and programs of Ansible, which are not.
func newRecorder(t *testing.T) *recorder {
	t.Helper()
	dir := harness.Shared(t)
	r := &recorder{t: t, dir: filepath.Join(dir, "bin"), log: harness.SharedFile(t), mark: filepath.Join(dir, "executed")}
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, then := range map[string]string{"git": "exec", "ssh": "exec", "ansible-inventory": "",
		"ansible-galaxy": ""} {
		if then != "" {
			real, err := exec.LookPath(name)
			if err != nil {
				t.Fatal(err)
			}
			then = "exec " + real + ` "$@"`
		} else {
			then = "echo '{}'"
		}
		text := "#!/bin/sh\n{ printf '%s\\0' " + name + ` "$@"; printf '\1\0'; } >>` + r.log + "\n" + then + "\n"
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// calls returns what was called since the last time.
func (r *recorder) calls() (out [][]string) {
	r.t.Helper()
	raw, err := os.ReadFile(r.log)
	if err != nil {
		r.t.Fatal(err)
	}
	if len(raw) == 0 {
		return nil
	}
	if err := os.Truncate(r.log, 0); err != nil {
		r.t.Fatal(err)
	}
	for call := range strings.SplitSeq(strings.TrimSuffix(string(raw), "\x01\x00"), "\x01\x00") {
		out = append(out, strings.Split(strings.TrimSuffix(call, "\x00"), "\x00"))
	}
	return out
}

// check requires that no argument is a form, that none was split from one, and that nothing was executed.
func (r *recorder) check(what, form string) (calls int) {
	r.t.Helper()
	list := r.calls()
	for _, call := range list {
		for i, arg := range call[1:] {
			before := call[i]
			if len(form) > 2 && strings.HasPrefix(form, "-") && strings.HasPrefix(arg, form) && before != "--" {
				r.t.Errorf("%s: %q is an option of its own: %q", what, arg, call)
			}
			if strings.HasPrefix(arg, "--smuggled") || strings.HasPrefix(arg, "ext::") {
				r.t.Errorf("%s: %q was split off or is a program: %q", what, arg, call)
			}
		}
	}
	if _, err := os.Stat(r.mark); err == nil {
		r.t.Errorf("%s was executed", what)
		_ = os.Remove(r.mark)
	}
	return len(list)
}

// forms are texts that a program could take for an option, a command or a file.
func (r *recorder) forms() []string {
	touch := "touch " + r.mark
	return []string{
		"-smuggled", "--smuggled", "--upload-pack=" + touch, "-oProxyCommand=" + touch, "--config=core.sshCommand=" + touch,
		"-c core.gitProxy=" + touch, "--exec=" + touch, "--extra-vars=@/etc/passwd", "-e@/etc/passwd", "--connection=local",
		"ext::sh -c " + strings.ReplaceAll(touch, " ", "% "), "$(" + touch + ")", "`" + touch + "`", ";" + touch, "|" +
			touch, "&" + touch,
		"x\n--smuggled", "x\r--smuggled", "x\x00--smuggled", "x --smuggled", "\x1b[2Jx", "@/etc/passwd", "../../etc/passwd",
		"-", "--",
		"{{ lookup('pipe', '" + touch + "') }}", "'; " + touch + " #", "\"; " + touch + " #", "\u202e-smuggled",
		"%0a--smuggled",
	}
}

// TestEveryTextIsAnArgument puts such forms into every text that reaches git, ssh or a program of inventory sources,
// and has the program started where the text is taken. The arguments of tools are tested in adapters/tools.
// Keeps T51.
func TestEveryTextIsAnArgument(t *testing.T) {
	t.Parallel()
	rec := newRecorder(t)
	root := filepath.Join(harness.Shared(t), "site")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "site.yml"), []byte("- hosts: all\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=w", "-c",
		"user.email=w@example.org", "commit", "-q", "-m", "x"}} {
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", root},
			args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	s := harness.Start(t, harness.Options{Env: []string{"PATH=" + rec.dir + ":" + os.Getenv("PATH")},
		Flags: []string{"--local-projects", filepath.Dir(root)}})
	made, taken, called := 0, 0, 0
	// object makes an object; where it is taken, use starts the program.
	object := func(path string, body harness.Body, use func(id string)) {
		t.Helper()
		made++
		body["name"] = fmt.Sprint("n", made)
		a := s.Do(http.MethodPost, path, body)
		if a.Status == http.StatusCreated {
			taken++
			var out map[string]any
			a.JSON(t, &out)
			use(idOf(out))
		} else if a.Status < 400 || a.Status >= 500 {
			t.Errorf("%s %v: %d %s", path, body, a.Status, a.Body)
		}
	}
	sync := func(id string) { s.Do(http.MethodPost, "/v1/projects/"+id+"/sync", nil) }
	project := func(member, before, behind string) func(form string) {
		return func(form string) {
			object("/v1/projects", harness.Body{"repo_url": "file://" + root, member: before + form + behind}, sync)
		}
	}
	inventory := idOf(create(t, s.Client, "/v1/inventories", harness.Body{"name": "i", "content": "a\n", "format": "ini"}))
	known := idOf(create(t, s.Client, "/v1/projects", harness.Body{"name": "known", "repo_url": "file://" + root,
		"branch": "main"}))
	sync(known)
	source := func(body harness.Body) {
		body["inventory_id"] = inventory
		object("/v1/inventory-sources", body, func(id string) {
			s.Do(http.MethodPost, "/v1/inventory-sources/"+id+"/refresh", nil)
		})
	}
	read := func(query string) func(form string) {
		return func(form string) {
			if a := s.Do(http.MethodGet, "/v1/projects/"+known+query+url.QueryEscape(form), nil); a.Status >= 500 {
				t.Errorf("%s%q: %d %s", query, form, a.Status, a.Body)
			}
		}
	}
	fields := map[string]func(form string){
		"repo_url": project("repo_url", "", ""), "its path": project("repo_url", "ssh://git@127.0.0.1:1/", ""),
		"its user": project("repo_url", "ssh://", "@127.0.0.1:1/x"), "its short user": project("repo_url", "",
			"@127.0.0.1:x"),
		"its short host": project("repo_url", "", ":x/y"), "its short path": project("repo_url", "git@127.0.0.1:", ""),
		"its host": project("repo_url", "ssh://", "/x"), "its port": project("repo_url", "ssh://127.0.0.1:", "/x"),
		"its https path": project("repo_url", "https://127.0.0.1:1/", ""), "its git path": project("repo_url",
			"git://127.0.0.1:1/", ""),
		"its folder": project("repo_url", "file://"+root+"/", ""), "branch": project("branch", "", ""),
		"the middle of a branch": project("branch", "a/", "/b"), "ref of a list": read("/files?ref="),
		"path of a list": read("/files?path="),
		"ref of a file":  read("/file?path=site.yml&ref="), "path of a file": read("/file?path="),
		"user name of a project": func(form string) {
			object("/v1/credentials", harness.Body{"kind": "ssh_password", "settings": harness.Body{"username": form},
				"secret": harness.Body{"password": "a password"}}, func(id string) {
				object("/v1/projects", harness.Body{"repo_url": "https://127.0.0.1:1/x", "credential_id": id}, sync)
				object("/v1/projects", harness.Body{"repo_url": "ssh://127.0.0.1:1/x", "credential_id": id}, sync)
			})
		},
		"plugin": func(form string) { source(harness.Body{"kind": "plugin", "config": harness.Body{"plugin": form}}) },
		"option of a plugin": func(form string) {
			source(harness.Body{"kind": "plugin", "config": harness.Body{"plugin": "constructed", form: form}})
		},
		"path of a source": func(form string) { source(harness.Body{"kind": "project", "project_id": known, "path": form}) },
		"path of a script": func(form string) { source(harness.Body{"kind": "script", "project_id": known, "path": form}) },
		"limit": func(form string) {
			if a := s.Do(http.MethodPost, "/v1/inventories/"+inventory+"/resolve",
				harness.Body{"limit": form}); a.Status >= 500 {
				t.Errorf("resolve %q: %d %s", form, a.Status, a.Body)
			}
		},
	}
	for n, field := range slices.Sorted(maps.Keys(fields)) {
		put := fields[field]
		for i, form := range rec.forms() {
			if (n+i)%depthtest.Of(6, 1) > 0 {
				continue // each field meets many forms, and each form many fields
			}
			put(form)
			called += rec.check(fmt.Sprintf("%s %q", field, form), form)
		}
	}
	if t.Logf("%d objects, %d were taken, %d calls", made, taken, called); made < 50 || taken < 10 || called < 10 {
		t.Error("too little was tried")
	}
}
