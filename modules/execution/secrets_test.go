package execution_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// canary is in every secret of full, as it is.
const canary = "c4nary\"<&>ß/+?"

// full is an injection with every kind of secret.
func full() secrets.Injection {
	of := func(what string) secret.Text { return secret.Text(what + " " + canary) }
	return secrets.Injection{
		Env: map[string]secret.Text{
			"TOKEN": of("token"), "TZ": "Africa/Nairobi", "LANG": "de_DE.UTF-8", "HOME": "/srv/home",
			"KUBECONFIG": secret.Text("x:" + secret.FileMark("kube") + ":y"),
			"CLOUD_DIR":  secret.Text(secret.FileMark("cloud/")),
		},
		ExtraVars: map[string]any{
			"over": "theirs", "deep": map[string]any{"list": []any{canary, secret.FileMark("cloud/key.json"), true,
				json.Number("9007199254740993")}},
			"typed": secret.Text(canary),
		},
		Files: []secrets.File{{Name: "kube", Content: of("kube")}, {Name: "cloud/key.json", Content: of("{}")},
			{Name: "cloud/b", Content: ""}},
		Keys: []secrets.Key{{PrivateKey: of("key"), Comment: "c"}},
		Login: secrets.Login{
			User: "operator", Password: of("connection"), BecomeMethod: "su", BecomeUser: "app", BecomePassword: of("become"),
			Vaults: []secrets.Vault{{ID: "prod", Password: of("prod")}, {ID: "default", Password: of("default")}},
		},
		Hide: []secret.Text{canary},
	}
}

func secretive(t *testing.T, tool extension.ToolRunner, in secrets.Injection) *bench {
	t.Helper()
	b := setup(t, tool)
	b.vault, b.agents = &vault{in: in}, &agents{}
	return b
}

// nothingLeft requires that no files of the runs remain, that their agents ended and that every owner was released
// once.
func (b *bench) nothingLeft() {
	b.t.Helper()
	if entries, err := os.ReadDir(b.config.RunsDir); err != nil || len(entries) != 0 {
		b.t.Errorf("left behind: %v %v", entries, err)
	}
	asked, released := b.vault.owners()
	for _, list := range [][]secrets.Owner{asked, released} { // in any order, where a run was claimed anew
		slices.SortFunc(list, func(a, b secrets.Owner) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	if diff := cmp.Diff(asked, released); diff != "" || b.agents.running() != 0 {
		b.t.Errorf("%d agents run; asked and released: %s", b.agents.running(), diff)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

// TestSecretsOfAScript checks every secret that a script gets, while it runs.
func TestSecretsOfAScript(t *testing.T) {
	t.Parallel()
	var dir string
	b := secretive(t, toolFunc(func(_ context.Context, s extension.ToolSpec, _ io.Writer) (extension.ToolResult, error) {
		dir = filepath.Dir(s.Env["WRIT_VARS"])
		in := func(name string) string { return filepath.Join(dir, name) }
		want := map[string]string{
			"PATH": "/bin", "LANG": "de_DE.UTF-8", "TZ": "Africa/Nairobi", "HOME": "/srv/home", "TMPDIR": in("work"), "OWN": "1",
			"TOKEN": "token " + canary, "KUBECONFIG": "x:" + in("secrets/kube") + ":y", "CLOUD_DIR": in("secrets/cloud"),
			"SSH_AUTH_SOCK": in("agent/sock"),
			"WRIT_RUN_ID":   "run_1", "WRIT_VARS": in("vars.json"), "WRIT_OUTPUTS": in("out/outputs.json"),
			"WRIT_VAR_OVER": "theirs", "WRIT_VAR_KEPT": "mine", "WRIT_VAR_TYPED": canary,
			"WRIT_SSH_PASSWORD_FILE":    in("login/connection"),
			"WRIT_BECOME_PASSWORD_FILE": in("login/become"), "WRIT_VAULT_PASSWORD_FILE": in("login/vault-1"),
		}
		if diff := cmp.Diff(want, s.Env); diff != "" {
			t.Error(diff)
		}
		vars := map[string]any{
			"over": "theirs", "kept": "mine", "typed": canary,
			"deep": map[string]any{"list": []any{canary, in("secrets/cloud/key.json"), true, json.Number("9007199254740993")}},
		}
		if diff := cmp.Diff(vars, s.ExtraVars); diff != "" {
			t.Error(diff)
		}
		if text := read(t, s.Env["WRIT_VARS"]); !strings.Contains(text, `"over":"theirs"`) ||
			!strings.Contains(text, "9007199254740993") {
			t.Errorf("the variables are %s", text)
		}
		for name, want := range map[string]string{
			"secrets/kube": "kube " + canary, "secrets/cloud/key.json": "{} " + canary, "secrets/cloud/b": "",
			"login/connection": "connection " + canary,
			"login/become":     "become " + canary, "login/vault-0": "prod " + canary, "login/vault-1": "default " + canary,
		} {
			if got := read(t, in(name)); got != want {
				t.Errorf("%s holds %q", name, got)
			}
		}
		return extension.ToolResult{}, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := e.Info()
			if err == nil && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s has %s", path, info.Mode())
			}
			return err
		})
	}), full())
	got := b.run(&runs.Run{ID: "run_1", Spec: runs.Spec{CredentialIDs: []string{"crd_1", "crd_2"},
		Env: map[string]string{"OWN": "1", "TZ": "UTC", "TOKEN": "x"}},
		Vars: runs.Vars{"over": json.RawMessage(`"mine"`), "kept": json.RawMessage(`"mine"`)}})
	if got.run.Status != runs.Succeeded {
		t.Fatalf("%+v", got.end)
	}
	if string(got.run.Vars["over"]) != `"mine"` || len(got.run.Vars) != 2 || len(got.end.Outputs) != 0 {
		t.Errorf("the record has %v", got.run.Vars)
	}
	if diff := cmp.Diff([]string{"crd_1", "crd_2"}, b.vault.wanted); diff != "" || b.agents.keys[0].Comment != "c" {
		t.Error(diff)
	}
	b.until("the release", func() bool { _, released := b.vault.owners(); return len(released) == 1 })
	if _, released := b.vault.owners(); released[0] != (secrets.Owner{ID: "run_1", Epoch: 1}) {
		t.Errorf("released is %v", released)
	}
	b.nothingLeft()
}

// TestSecretsOfAPlay has the login by itself, and variables that were templates and are data now.
func TestSecretsOfAPlay(t *testing.T) {
	t.Parallel()
	for _, kind := range []runs.Kind{runs.Single, runs.Shard, runs.Step, runs.Split} {
		var got execution.Play
		look := func(p execution.Play) {
			got = p
			for _, path := range []string{p.Login.PasswordFile, p.Login.BecomePasswordFile, p.Login.PublicKeyFile,
				p.Login.Vaults[0].Path, p.Login.Vaults[1].Path} {
				if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s: %v", path, err)
				}
			}
		}
		tool := &lister{player: player{play: func(_ context.Context, p execution.Play,
			_ func(runs.Event) error) (execution.PlayResult, error) {
			look(p)
			return execution.PlayResult{Complete: true, Touched: 1}, nil
		}}, look: func(s extension.ToolSpec, p execution.Play) {
			look(p)
			if s.Env["WRIT_SSH_PASSWORD_FILE"] != "" || s.Env["HOME"] != "/srv/home" || s.Env["TMPDIR"] != "" ||
				s.Env["SSH_AUTH_SOCK"] == "" {
				t.Errorf("the environment is %v", s.Env)
			}
		}}
		b := secretive(t, tool, full())
		b.plane.submit(&runs.Run{ID: "run_1", Kind: kind, Spec: runs.Spec{
			Playbook: "site.yml", CredentialIDs: []string{"crd_1"}, Templated: []string{"over", "kept"},
		}})
		_, stop := b.start()
		b.until("the release", func() bool { _, released := b.vault.owners(); return len(released) == 1 })
		stop()
		l := got.Login
		if l.User != "operator" || l.BecomeMethod != "su" || l.BecomeUser != "app" || len(l.Vaults) != 2 ||
			l.Vaults[0].ID != "prod" {
			t.Errorf("%s: the login is %+v", kind, l)
		}
		if diff := cmp.Diff([]string{"kept"}, got.Templated); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
		if kind == runs.Split && len(b.plane.see("run_1").shards) != 2 {
			t.Errorf("the split is %+v", b.plane.see("run_1").end)
		}
		b.nothingLeft()
	}
}

// lister is a player that tells what it is asked to list.
type lister struct {
	player
	look func(extension.ToolSpec, execution.Play)
}

func (l *lister) Hosts(_ context.Context, s extension.ToolSpec, p execution.Play) ([]string, []runs.Warning, error) {
	l.look(s, p)
	return []string{"a", "b"}, nil, nil
}

// TestSecretsAreMasked writes every form of every secret in pieces of every size.
// Keeps T21.
func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	in := full()
	quoted, err := json.Marshal(canary)
	if err != nil {
		t.Fatal(err)
	}
	password := in.Login.Password.Reveal()
	forms := []string{
		canary, string(quoted[1 : len(quoted)-1]), url.QueryEscape(canary), url.PathEscape(canary),
		base64.StdEncoding.EncodeToString([]byte("xy" + password + "z")),
		base64.URLEncoding.EncodeToString([]byte(password)), password, in.Login.BecomePassword.Reveal(),
		in.Login.Vaults[1].Password.Reveal(), in.Keys[0].PrivateKey.Reveal(),
	}
	for size := 1; size < 24; size += 5 {
		b := secretive(t, toolFunc(func(_ context.Context, s extension.ToolSpec, out io.Writer) (extension.ToolResult,
			error) {
			for _, form := range forms {
				for piece := range slices.Chunk([]byte("<"+form+">\n"), size) {
					if _, err := out.Write(piece); err != nil {
						return extension.ToolResult{}, err
					}
				}
			}
			if err := os.WriteFile(s.Env["WRIT_OUTPUTS"], fmt.Appendf(nil, `{"said": %s}`, quoted), 0o600); err != nil {
				return extension.ToolResult{}, err
			}
			return extension.ToolResult{}, errors.New("because of " + canary)
		}), in)
		got := b.run(&runs.Run{ID: "run_1", Spec: runs.Spec{CredentialIDs: []string{"crd_1"}}})
		output, err := b.live.output("run_1")
		if err != nil {
			t.Fatal(err)
		}
		all := string(got.log) + output + got.end.Error + string(got.end.Outputs["said"])
		for i, line := range strings.Split(strings.TrimSpace(string(got.log)), "\n") {
			if !strings.Contains(line, "***") || strings.Contains(all, forms[i]) {
				t.Errorf("in pieces of %d, %q shows %q", size, line, forms[i])
			}
		}
		if strings.Contains(all, "nary") || got.end.Error != "the tool could not be run: because of ***" ||
			string(got.end.Outputs["said"]) != `"***"` {
			t.Errorf("in pieces of %d: %s", size, all)
		}
	}
}

// TestNoSecretIsOnACommandLine runs a real shell that reads its secrets, and checks every command line of the machine
// meanwhile.
// Keeps T21.
func TestNoSecretIsOnACommandLine(t *testing.T) {
	t.Parallel()
	var lines []string
	b := secretive(t, toolFunc(func(_ context.Context, s extension.ToolSpec, out io.Writer) (extension.ToolResult, error) {
		from, to, err := os.Pipe()
		if err != nil {
			return extension.ToolResult{}, err
		}
		env := []string{}
		for k, v := range s.Env {
			env = append(env, k+"="+v)
		}
		const script = `read -r p <"$WRIT_SSH_PASSWORD_FILE"; echo "$p"; echo "$TOKEN"; read -r done`
		stdin, feed, err := os.Pipe()
		if err != nil {
			return extension.ToolResult{}, err
		}
		p, err := os.StartProcess("/bin/bash", []string{"bash", "-c", script},
			&os.ProcAttr{Dir: s.Dir, Env: env, Files: []*os.File{stdin, to, nil}})
		if err = errors.Join(err, to.Close(), stdin.Close()); err != nil {
			return extension.ToolResult{}, err
		}
		input := make([]byte, 2*len(canary)+len("connection \ntoken \n"))
		_, err = io.ReadFull(from, input)
		found, globErr := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, path := range found {
			text, _ := os.ReadFile(path) // it may be gone
			lines = append(lines, string(text))
		}
		_, outErr := out.Write(input)
		err = errors.Join(err, globErr, outErr, feed.Close(), from.Close())
		_, waitErr := p.Wait()
		return extension.ToolResult{}, errors.Join(err, waitErr)
	}), full())
	got := b.run(sealed("run_1"))
	if got.run.Status != runs.Succeeded || string(got.log) != "***\ntoken ***\n" {
		t.Fatalf("%+v %s", got.end, got.log)
	}
	if !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "WRIT_SSH_PASSWORD_FILE") }) {
		t.Error("the shell was not among those looked at")
	}
	if i := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, canary) }); i >= 0 {
		t.Errorf("%q", lines[i])
	}
}
