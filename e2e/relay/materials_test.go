package relay

import (
	"bytes"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

const canary = "CANARYzQ8mJ4v7Xw2Lk9Rt5Nb3"

// filesContaining lists files below a directory that contain a text.
func filesContaining(t *testing.T, dir, text string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // deleted meanwhile
		}
		raw, err := os.ReadFile(path)
		if err == nil && bytes.Contains(raw, []byte(text)) {
			out = append(out, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// credential makes a custom credential that provides a secret as a variable and as a file.
func (w *fixture) credential(name, secret string) string {
	w.t.Helper()
	kind := w.made("/v1/credential-types", harness.Body{
		"name": "of " + name, "fields": []harness.Body{{"name": "token", "type": "text", "secret": true, "required": true}},
		"inject": harness.Body{"env": harness.Body{"THE_TOKEN": "{{token}}"},
			"files": harness.Body{"CONF": "token={{token}}"}},
	})
	return w.made("/v1/credentials", harness.Body{"name": name, "type_id": kind, "fields": harness.Body{"token": secret}})
}

// TestSecretsGoWithTheirClaim checks that a worker gets the secrets of a claimed run once, that no other response
// contains them, and that none remains on its machine after the run.
// Keeps T03.
func TestSecretsGoWithTheirClaim(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, dbURL, "--secret-env", "APP_*")
		id := w.credential("deploy", canary)
		body := harness.Body{"tool": "bash", "credential_ids": []string{id},
			"command": "echo \"got $THE_TOKEN\"; cat \"$WRIT_FILE_CONF\"; echo; sleep 1; test ${#THE_TOKEN} = 26",
			"queue":   "mine"}
		run := w.Submit(body).ID
		g := w.claim("raw", "mine")
		env, _ := g.Secrets["env"].(map[string]any)
		if g.Run.ID != run || env["THE_TOKEN"] != canary {
			t.Fatalf("the claim brings %v", env)
		}
		for what, c := range calls(g.Run.NextSeq) {
			if what == "heartbeat" {
				c.body = harness.Body{"run_id": run}
			}
			if what == "save" {
				c.body = harness.Body{"status": "running"}
			}
			a := w.report(c.method, run, what, c.body, g.Capability)
			if bytes.Contains(a.Body, []byte(canary)) {
				t.Errorf("%q tells the secret: %s", what, a.Body)
			}
		}
		w.mustReport(http.StatusNoContent, g, "save", harness.Body{"status": "failed"})

		scratch := t.TempDir()
		relay := harness.StartWorker(t, harness.WorkerOptions{Server: w.URL,
			Flags: []string{"--runs-dir", scratch, "--queue", "theirs", "--log-level", "debug"}})
		body["queue"] = "theirs"
		r := w.Await(w.Submit(body).ID)
		if r.Status != "succeeded" || w.Log(r.ID) != "got ***\ntoken=***\n" {
			t.Errorf("%s (%s): %q", r.Status, r.Error, w.Log(r.ID))
		}
		for _, dir := range []string{relay.Dir, scratch} {
			if left := filesContaining(t, dir, canary); len(left) > 0 {
				t.Errorf("the secret is in %v", left)
			}
		}
		if strings.Contains(relay.Output()+w.Output(), canary) {
			t.Error("the secret is in a log")
		}
		// A credential that cannot be opened fails the run with a reason, and the next run is claimed.
		lost := w.made("/v1/credentials", harness.Body{"name": "lost", "kind": "token",
			"source": harness.Body{"engine": "env", "config": harness.Body{"name": "APP_ABSENT"}}})
		bad, good := w.Submit(harness.Body{"tool": "bash", "command": "true", "credential_ids": []string{lost},
			"queue": "theirs"}), w.Submit(body)
		if r := w.Await(bad.ID); r.Status != "failed" || r.Error == "" {
			t.Errorf("the run without its secret: %s (%q)", r.Status, r.Error)
		}
		if r := w.Await(good.ID); r.Status != "succeeded" {
			t.Errorf("the next one: %s (%s)", r.Status, r.Error)
		}
	})
}

// TestProjectsComeThroughTheServer uses a worker without access to the repository and without its login: the tree
// comes from the server.
func TestProjectsComeThroughTheServer(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "")
	scratch := t.TempDir()
	harness.StartWorker(t, harness.WorkerOptions{Server: w.URL, Flags: []string{"--runs-dir", scratch}})
	project := w.project("tools", map[string]string{
		"roles/greet/tasks/main.yml": "- debug: {msg: from a role}\n",
		"site.yml":                   "- hosts: all\n  gather_facts: false\n  roles: [greet]\n",
		"bin/tool.sh":                "#!/bin/sh\necho tool\n", "host_vars/a.yml": "x: 1\n", "empty/.keep": "",
	})
	inventory := w.made("/v1/inventories", harness.Body{"name": "three", "content": localHosts})
	r := w.Await(w.Submit(harness.Body{"playbook": "site.yml", "project_id": project, "inventory_id": inventory}).ID)
	if r.Status != "succeeded" || *r.HostsTouched != 3 || !strings.Contains(w.Log(r.ID), "from a role") {
		t.Errorf("%s (%s) on %d hosts: %s", r.Status, r.Error, *r.HostsTouched, w.Log(r.ID))
	}
	script := w.Await(w.Submit(harness.Body{"tool": "bash", "command": "cat bin/tool.sh; ls; cat \"$WRIT_INVENTORY\"",
		"project_id": project, "inventory_id": inventory}).ID)
	if script.Status != "succeeded" || !strings.Contains(w.Log(script.ID), "echo tool") ||
		!strings.Contains(w.Log(script.ID), "[web]") {
		t.Errorf("%s (%s): %s", script.Status, script.Error, w.Log(script.ID))
	}
	// A run does not get a commit that is later than the run.
	harness.Eventually(t, time.Minute, "the runs' directories are gone", func() bool {
		left, err := filepath.Glob(filepath.Join(scratch, "*"))
		return err == nil && len(left) == 0
	})
	other := w.claim("other", "elsewhere")
	if other != nil {
		t.Fatal("a run waits that nobody submitted")
	}
	w.Submit(harness.Body{"tool": "bash", "command": "true", "queue": "elsewhere"})
	g := w.claim("other", "elsewhere")
	for _, what := range []string{"project", "inventory"} { // the run names none
		if a := w.report(http.MethodGet, g.Run.ID, what, nil, g.Capability); a.Status != http.StatusNotFound {
			t.Errorf("%s: %d %s", what, a.Status, a.Body)
		}
	}
}
