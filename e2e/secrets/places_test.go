package secrets_test

import (
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/platform/sshtest"
)

// TestCredentialsComeFromEverywhere runs with the credentials of the template, the launch and the inventory together.
func TestCredentialsComeFromEverywhere(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, harness.Options{DB: dbURL})
		values := map[string]string{}
		token := func(name string) obj { values[name] = fresh(16); return obj{"token": values[name]} }
		ofTemplate := w.credential("token", token("TOKEN"), nil)
		values["SK"], values["ONE"], values["AZ"] = fresh(16), fresh(16), fresh(16)
		ofInventory := w.credential("aws", obj{"secret_access_key": values["SK"]}, nil)
		chosen := w.credential("env", obj{"vars": obj{"ONE": values["ONE"]}}, nil)
		other := w.credential("azure", obj{"client_secret": values["AZ"]}, nil)
		inv := w.inventory("hosts", "h\n", ofInventory)
		tpl := w.id("/v1/templates", obj{
			"name": "t", "tool": "bash", "inventory_id": inv, "credential_ids": []string{ofTemplate},
			"selectable_credential_ids": []string{chosen, other},
			"command":                   `for n in TOKEN AWS_SECRET_ACCESS_KEY ONE AZURE_SECRET; do echo "$n=$(rev <<< "${!n-}")"; done; echo "it is $TOKEN"`,
		})
		launch := func(credentials ...string) (harness.Run, string) {
			t.Helper()
			var r harness.Run
			a := w.Do(http.MethodPost, "/v1/templates/"+tpl+"/launch", obj{"credential_ids": credentials})
			if a.Status != http.StatusCreated {
				t.Fatalf("launch: %d %s", a.Status, a.Body)
			}
			a.JSON(t, &r)
			return w.ends(r.ID, "succeeded")
		}
		for name, c := range map[string]struct {
			choose []string
			one    string
			az     string
		}{
			"nothing": {nil, "", ""}, "one": {[]string{chosen}, values["ONE"], ""},
			"both": {[]string{other, chosen}, values["ONE"], values["AZ"]},
		} {
			r, log := launch(c.choose...)
			want := fmt.Sprintf("TOKEN=%s\nAWS_SECRET_ACCESS_KEY=%s\nONE=%s\nAZURE_SECRET=%s\nit is ***\n",
				reversed(values["TOKEN"]), reversed(values["SK"]), reversed(c.one), reversed(c.az))
			if log != want {
				t.Errorf("%s chosen: %s, want %s", name, log, want)
			}
			again, _ := w.ends(w.Act("/v1/runs/"+r.ID+"/rerun").ID, "succeeded")
			if got := w.Log(again.ID); got != want {
				t.Errorf("%s chosen, again: %s, want %s", name, got, want)
			}
		}
		strange := w.credential("vmware", obj{"password": fresh(9)}, nil)
		a := w.Do(http.MethodPost, "/v1/templates/"+tpl+"/launch", obj{"credential_ids": []string{strange}})
		if sentence := w.refused(http.StatusBadRequest, "invalid", a); !strings.Contains(sentence, "credential_ids") {
			t.Errorf("one that may not be chosen: %s", a.Body)
		}
		pipe := w.want(http.StatusCreated, http.MethodPost, "/v1/pipelines", obj{
			"credential_ids": []string{ofTemplate}, "steps": []obj{
				{"name": "a", "tool": "bash", "command": `echo "a: $(rev <<< "$TOKEN")"`},
				{"name": "b", "tool": "bash", "command": `echo "b: ${TOKEN-none} $(rev <<< "$ONE")"`,
					"credential_ids": []string{chosen}},
				{"name": "c", "tool": "bash", "command": `echo "c: ${TOKEN-none} ${ONE-none}"`, "credential_ids": []string{}},
			},
		})
		r, _ := w.ends(pipe["id"].(string), "succeeded")
		stdout := ""
		for _, x := range r.Steps {
			stdout += w.Log(x.RunID)
		}
		if want := fmt.Sprintf("a: %s\nb: none %s\nc: none none\n", reversed(values["TOKEN"]),
			reversed(values["ONE"])); stdout != want {
			t.Errorf("the steps say %q, want %q", stdout, want)
		}
	})
}

// TestFilesOfCustomTypes checks what a type adds to a run: environment variables, variables of the play, and private
// files.
func TestFilesOfCustomTypes(t *testing.T) {
	t.Parallel()
	w := newFixture(t, harness.Options{})
	cty := w.id("/v1/credential-types", obj{
		"name": "pager", "fields": []obj{
			{"name": "region", "type": "choice", "choices": []string{"eu", "us"}, "default": "eu"},
			{"name": "verify", "type": "bool"},
			{"name": "key", "type": "text", "secret": true, "required": true},
			{"name": "pem", "type": "multiline", "secret": true},
		},
		"inject": obj{
			"env":        obj{"PAGER": "{{region}}:{{key}}", "PAGER_CONFIG": "{{files.pager.ini}}"},
			"extra_vars": obj{"pager": obj{"verify": "{{verify}}", "file": "{{ files.KEY_PEM }}"}},
			"files":      obj{"pager.ini": "[pager]\nkey={{ key }}\n{ braces } }} {%\n", "KEY_PEM": "{{pem}}"},
		},
	})
	key, pem := "{{pem}} "+fresh(12), "line "+fresh(12)+"\nline "+fresh(12)+"\n"
	id := w.id("/v1/credentials", obj{"name": "p", "type_id": cty,
		"fields": obj{"verify": true, "key": key, "pem": pem, "region": "us"}})
	stdout := w.scriptOutput(`rev <<< "$PAGER"; rev "$PAGER_CONFIG"; rev "$KEY_PEM"; for f in "$KEY_PEM" "$(dirname "$KEY_PEM")"; do stat -c "%a $([ -O "$f" ] && echo own)" "$f"; done
[ "$WRIT_FILE_PAGER_INI" = "$PAGER_CONFIG" ] && [ "$WRIT_FILE_KEY_PEM" = "$KEY_PEM" ]; echo "$KEY_PEM"
python3 -c 'import json, os; p = json.load(open(os.environ["WRIT_VARS"]))["pager"]; print(p["verify"] is True, p["file"] == os.environ["KEY_PEM"])'`, id)
	lines := strings.Split(pem, "\n")
	want := reversed("us:"+key) + "\n[pager]\n" + reversed("key="+key) + "\n" + reversed("{ braces } }} {%") + "\n" +
		reversed(lines[0]) + "\n" + reversed(lines[1]) + "\n600 own\n700 own\n"
	want = strings.Replace(want, "[pager]", reversed("[pager]"), 1)
	rest, ok := strings.CutPrefix(stdout, want)
	path, last, _ := strings.Cut(rest, "\n")
	if !ok || last != "True True\n" || !filepath.IsAbs(path) || exists(path) {
		t.Errorf("says %s, want %s, a path that is gone and True True", stdout, want)
	}
}

// gitServer is git http-backend over TLS, which requires a token.
func gitServer(t *testing.T, root, token string) (address, ca string) {
	t.Helper()
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(output(t, "git", "--exec-path")), "git-http-backend"), Dir: root,
		Stderr: io.Discard,
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1",
			"GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"},
	}
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password == token {
			backend.ServeHTTP(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate", "Basic")
		http.Error(w, "who are you? "+r.Header.Get("Authorization"), http.StatusUnauthorized)
	}))
	t.Cleanup(s.Close)
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return s.URL, saveOpen(t, filepath.Join(t.TempDir(), "ca.pem"), string(block))
}

// repo makes a git repository.
func repo(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		save(t, filepath.Join(dir, name), text)
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "first"}} {
		c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=w", "-c", "user.email=w@example.org"},
			args...)...)
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "HOME=" + dir}
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

// TestProjectsWithCredentials fetches over https with a token, and over ssh with a key; errors about wrong ones contain
// no value.
func TestProjectsWithCredentials(t *testing.T) {
	t.Parallel()
	needsRoot(t, "nobody else may give the server an authority to trust, with unshare and mount")
	root := t.TempDir()
	repo(t, filepath.Join(root, "app"), map[string]string{"version": "one\n"})
	token, wrong := "tok/en+"+fresh(16), fresh(16)
	address, ca := gitServer(t, root, token)
	key := keyPair(t, "open "+token)
	h := sshtest.New(t, sshtest.Config{Lines: []string{"AuthorizedKeysFile " + key + ".pub"}})
	w := newFixture(t, harness.Options{Wrap: []string{
		"unshare", "--mount", "sh", "-c", "mount --bind " + ca + ` /etc/ssl/certs/ca-certificates.crt && exec "$@"`, "sh",
	}})
	over := map[string]string{"https": address + "/app/.git",
		"ssh": fmt.Sprintf("ssh://%s@127.0.0.1:%d%s/app", me(t), h.Port(), root)}
	good := map[string][]string{
		"https": {w.credential("token", obj{"token": token}, nil),
			w.credential("ssh_password", obj{"password": token}, obj{"username": "someone"})},
		"ssh": {w.credential("ssh_key", obj{"private_key": read(t, key), "passphrase": "open " + token}, nil)},
	}
	bad := map[string][]string{
		"https": {w.credential("token", obj{"token": wrong}, nil),
			w.credential("env", obj{"vars": obj{"A": wrong}}, nil), ""},
		"ssh": {w.credential("ssh_key", obj{"private_key": read(t, keyPair(t, ""))}, nil), ""},
	}
	f := newCanaries(t)
	f.look("the token", token)
	stop := f.watch(w.dataDir())
	n := 0
	project := func(url, credential string) string {
		n++
		return w.id("/v1/projects", obj{"name": fmt.Sprint("p", n), "repo_url": url, "branch": "main",
			"credential_id": credential})
	}
	for scheme, url := range over {
		for _, c := range good[scheme] {
			p := project(url, c)
			w.want(http.StatusOK, http.MethodPost, "/v1/projects/"+p+"/sync", nil)
			r := w.Submit(obj{"tool": "bash", "command": "cat version; env | grep -c '" + wrong + "' || true", "project_id": p})
			if _, log := w.ends(r.ID, "succeeded"); log != "one\n0\n" {
				t.Errorf("%s: %q", scheme, log)
			}
		}
		for _, c := range bad[scheme] {
			p := project(url, c)
			a := w.Do(http.MethodPost, "/v1/projects/"+p+"/sync", nil)
			w.refused(http.StatusConflict, "sync_failed", a)
			text := string(a.Body) + string(w.Do(http.MethodGet, "/v1/projects/"+p, nil).Body)
			if strings.Contains(text, wrong) || strings.Contains(text, token) || strings.Contains(text, "PRIVATE KEY") {
				t.Errorf("%s with %s tells %s", scheme, c, text)
			}
		}
	}
	if lines, stranger := stop(); lines < 10 || stranger < 3 {
		t.Errorf("looked %d times at command lines and %d times as another user", lines, stranger)
	}
	f.files(w.Dir)
	if out := w.Output(); strings.Contains(out, wrong) || strings.Contains(out, token) {
		t.Error("the server's log holds a token")
	}
}

// TestSourcesWithCredentials checks that the programs of inventory sources receive their credential.
func TestSourcesWithCredentials(t *testing.T) {
	t.Parallel()
	w := newFixture(t, harness.Options{Flags: []string{"--allow-private-egress", "127.0.0.1/32"}})
	secret := "sec-" + fresh(16)
	page := httptest.NewServer(http.HandlerFunc(func(a http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Authorization") != "Bearer "+secret {
			http.Error(a, "not "+q.Header.Get("Authorization"), http.StatusForbidden)
			return
		}
		_, _ = a.Write([]byte("of-http\n"))
	}))
	t.Cleanup(page.Close)
	script := "#!/bin/sh\nif [ \"$(printf %s \"$API_TOKEN\" | md5sum | cut -c1-6)\" = %s ]; then echo '{\"web\": " +
		"{\"hosts\": [\"of-script\"]}}'; else echo \"no $API_TOKEN\" >&2; exit 1; fi\n"
	sum := strings.TrimSpace(output(t, "sh", "-c", "printf %s "+secret+" | md5sum | cut -c1-6"))
	script = strings.Replace(script, "= %s", "= "+sum, 1)
	plugin := obj{
		"plugin": "ansible.builtin.generator", "layers": obj{"n": []string{"x"}},
		"hosts": obj{"name": "of-plugin-{{ n }}", "parents": []obj{
			{"name": "web", "vars": obj{"seen": "of a secret of {{ lookup('env', 'API_TOKEN') | length }} characters"}},
		}},
	}
	good, bad := w.credential("token", obj{"token": secret}, obj{"env_name": "API_TOKEN"}),
		w.credential("token", obj{"token": "bad-" + fresh(16)}, obj{"env_name": "API_TOKEN"})
	for kind, c := range map[string]struct {
		config obj
		want   string
		strict bool
	}{
		"script": {obj{"content": script}, "of-script", true}, "http": {obj{"url": page.URL}, "of-http", true},
		"plugin": {plugin, "of a secret of 20 characters", false},
	} {
		inv := w.inventory(kind, "none\n")
		source := func(name, credential string) (string, harness.Answer) {
			id := w.id("/v1/inventory-sources", obj{"name": name, "kind": kind, "config": c.config, "inventory_id": inv,
				"credential_id": credential})
			return id, w.Do(http.MethodPost, "/v1/inventory-sources/"+id+"/refresh", nil)
		}
		if _, a := source(kind, good); a.Status != http.StatusOK {
			t.Errorf("%s: %d %s", kind, a.Status, a.Body)
		}
		if hosts := string(w.Do(http.MethodGet, "/v1/inventories/"+inv, nil).Body); !strings.Contains(hosts, c.want) {
			t.Errorf("%s filled in %s", kind, hosts)
		}
		if !c.strict {
			continue
		}
		id, a := source(kind+" refused", bad)
		w.refused(http.StatusConflict, "refresh_failed", a)
		if text := string(a.Body) + string(w.Do(http.MethodGet, "/v1/inventory-sources/"+id, nil).
			Body); strings.Contains(text, "bad-") {
			t.Errorf("%s tells %s", kind, text)
		}
	}
	if strings.Contains(w.Output(), secret) || strings.Contains(w.Output(), "bad-") {
		t.Error("the server's log holds a token")
	}
}
