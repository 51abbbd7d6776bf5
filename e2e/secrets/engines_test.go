package secrets_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestEnginesGiveSecrets fetches secrets from every engine that this machine can simulate, and checks that they are
// masked.
func TestEnginesGiveSecrets(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	value, dir := fresh(20), t.TempDir()
	save(t, filepath.Join(dir, "deep", "secret"), value+"\n")
	w := newFixture(t, harness.Options{Flags: []string{"--secret-env", "APP_*,OTHER", "--secret-files", dir},
		Env: []string{"APP_SECRET=" + value}})
	for name, c := range map[string]struct {
		engine string
		config obj
		want   string
	}{
		"env":                   {"env", obj{"name": "APP_SECRET"}, value},
		"file":                  {"file", obj{"path": "deep/secret"}, value},
		"a whole path":          {"file", obj{"path": filepath.Join(dir, "deep", "secret")}, value},
		"vault":                 {"vault", v.config("secret/app", "password", false, nil), v.value},
		"vault by its own path": {"vault", v.config("secret/data/app", "password", false, obj{"kv_version": 2}), v.value},
		"vault by AppRole":      {"vault", v.config("secret/app", "password", true, nil), v.value},
		"vault, version 1":      {"vault", v.config("old/app", "password", false, obj{"kv_version": 1}), v.value},
		"version 1 by AppRole":  {"vault", v.config("old/app", "password", true, obj{"kv_version": "1"}), v.value},
	} {
		id := w.sourced("token", c.engine, c.config)
		if stdout := w.scriptOutput(`rev <<< "$TOKEN"; echo "it is $TOKEN"`, id); stdout != reversed(c.want)+"\nit is ***\n" {
			t.Errorf("%s: %q", name, stdout)
		}
		text := string(w.Do(http.MethodGet, "/v1/credentials/"+id, nil).Body)
		if strings.Contains(text, v.root) || strings.Contains(text, v.secretID) ||
			!strings.Contains(text, `"has_secret":true`) {
			t.Errorf("%s reads back as %s", name, text)
		}
	}
	cloud := w.sourced("aws", "vault", v.config("secret/app", "", false, nil))
	if stdout := w.scriptOutput(`echo "$AWS_ACCESS_KEY_ID"; rev <<< "$AWS_SECRET_ACCESS_KEY"`,
		cloud); stdout != "AKIAVAULT\n"+reversed(v.value)+"\n" {
		t.Errorf("an object: %q", stdout)
	}
	if leases, logins := v.live(); leases+logins > 0 {
		t.Errorf("%d leases and %d logins are left", leases, logins)
	}
	for name, body := range map[string]obj{
		"a variable of nobody's": {"engine": "env", "config": obj{"name": "HOME"}},
		"a file above":           {"engine": "file", "config": obj{"path": "../x"}},
		"an engine that is none": {"engine": "safe", "config": obj{}},
		"a member that is none":  {"engine": "env", "config": obj{"name": "APP_X", "x": 1}},
		"metadata of a cloud": {"engine": "vault",
			"config": obj{"address": "http://169.254.169.254", "path": "a/b", "token": "t"}},
	} {
		if a := w.Do(http.MethodPost, "/v1/credentials",
			obj{"name": name, "kind": "token", "source": body}); a.Status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
}

// TestARefusedSecretFailsTheRun checks that no process starts and that the error names the credential.
func TestARefusedSecretFailsTheRun(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	dir, outside := t.TempDir(), t.TempDir()
	save(t, filepath.Join(outside, "shadow"), "root:"+v.value)
	if err := os.Symlink(filepath.Join(outside, "shadow"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	h := harness.NewHistory(t)
	w := newFixture(t, harness.Options{Flags: []string{"--secret-env", "APP_*", "--secret-files", dir}})
	gone := newVault(t)
	gone.Close()
	good := w.sourced("vmware", "vault_dynamic", v.config("database/creds/app", "password", false, nil))
	for name, id := range map[string]string{
		"no variable": w.sourced("token", "env", obj{"name": "APP_ABSENT"}),
		"no file":     w.sourced("token", "file", obj{"path": "absent"}),
		"a way out":   w.sourced("token", "file", obj{"path": "link"}),
		"forbidden":   w.sourced("token", "vault", v.config("secret/forbidden", "password", false, nil)),
		"another token": w.sourced("token", "vault",
			v.config("secret/app", "password", false, obj{"token": "wrong-" + v.value})),
		"another role": w.sourced("token", "vault",
			v.config("secret/app", "password", true, obj{"secret_id": "wrong-" + v.value})),
		"no such path":   w.sourced("token", "vault", v.config("secret/absent", "password", false, nil)),
		"no such field":  w.sourced("token", "vault", v.config("secret/app", "absent", false, nil)),
		"nobody answers": w.sourced("token", "vault", gone.config("secret/app", "password", false, nil)),
		"no variables":   w.sourced("env", "vault", v.config("secret/app", "password", false, nil)),
	} {
		body := h.Script("echo it ran")
		body["credential_ids"] = []string{good, id}
		r, _, err := h.Submit(w.Client, body)
		if err != nil || r.ID == "" {
			t.Fatalf("%s: %v", name, err)
		}
		r, log := w.ends(r.ID, "failed")
		if !strings.Contains(r.Error, id) || h.Starts(r.ID) != 0 || log != "" || r.ExitCode != nil {
			t.Errorf("%s: %q, %d starts, %q", name, r.Error, h.Starts(r.ID), log)
		}
		text := string(w.Do(http.MethodGet, "/v1/runs/"+r.ID, nil).Body)
		for _, secret := range []string{v.value, v.root, v.secretID} {
			if strings.Contains(text, secret) || strings.Contains(w.Output(), secret) {
				t.Errorf("%s tells a secret: %s", name, text)
			}
		}
	}
	harness.Eventually(t, awhile, "what was made for those runs is revoked", func() bool {
		leases, logins := v.live()
		return leases+logins == 0
	})
	for _, r := range h.Acked() {
		if harness.Marked(t, []string{r}) != nil {
			t.Errorf("%s has a process", r)
		}
	}
}

// TestMintedSecretsEndWithTheirRuns mints a secret for each run and checks that it is revoked when the run ends, when
// it is cancelled, and after a crash of the server by the next one.
func TestMintedSecretsEndWithTheirRuns(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		v := newVault(t)
		w := newFixture(t, harness.Options{DB: dbURL})
		stop := filepath.Join(harness.Shared(t), "stop")
		script := fmt.Sprintf(
			"rev <<< $VMWARE_PASSWORD; echo \"it is $VMWARE_PASSWORD\"; until [ -e %s ]; do sleep 0.05; done", stop)
		ids := []string{
			w.sourced("vmware", "vault_dynamic", v.config("database/creds/app", "password", false, nil)),
			w.sourced("vmware", "vault_dynamic", v.config("database/creds/app", "password", true, nil)),
		}
		runs := func() (out []harness.Run) {
			before := len(v.passwords())
			for _, id := range ids {
				out = append(out, w.bash(script, id))
			}
			for _, r := range out {
				harness.Eventually(t, awhile, "the run has begun", func() bool {
					return strings.Contains(w.Log(r.ID), "it is ***")
				})
			}
			made := v.passwords()[before:]
			if leases, _ := v.live(); leases != 2 || len(made) != 2 {
				t.Fatalf("%d leases of %d secrets", leases, len(made))
			}
			text := w.Log(out[0].ID) + w.Log(out[1].ID)
			for _, password := range made {
				if !strings.Contains(text, reversed(password)) || strings.Contains(text, password) {
					t.Errorf("%s did not come to a run: %s", password, text)
				}
			}
			return out
		}
		none := func(when string, limit time.Duration,
			lost int) { // logins whose tokens were lost with the server expire
			t.Helper()
			harness.Eventually(t, limit, "nothing minted is left "+when, func() bool {
				leases, logins := v.live()
				return leases == 0 && logins <= lost
			})
			harness.Eventually(t, awhile, "no lease is kept "+when, func() bool {
				return string(w.Column("SELECT COUNT(*) FROM secret_leases")[0]) == "0"
			})
		}

		list := runs()
		w.want(http.StatusOK, http.MethodPost, "/v1/runs/"+list[0].ID+"/cancel", nil)
		w.ends(list[0].ID, "canceled")
		harness.Eventually(t, 20*time.Second, "one is revoked", func() bool { leases, _ := v.live(); return leases == 1 })
		w.want(http.StatusOK, http.MethodPost, "/v1/runs/"+list[1].ID+"/cancel", nil)
		none("after cancelling", 20*time.Second, 0)

		list = runs()
		w.Kill()
		if leases, _ := v.live(); leases != 2 {
			t.Errorf("%d leases of 2 after a crash", leases)
		}
		w = w.again()
		for _, r := range list {
			w.ends(r.ID, "interrupted")
		}
		none("after a crash", 75*time.Second, 1)

		list = runs()
		save(t, stop, "")
		for _, r := range list {
			w.ends(r.ID, "succeeded")
		}
		none("at the end", 20*time.Second, 1)
	})
}

// TestLeasesAreRenewed renews a short lease while its run lasts. A run whose lease cannot be renewed goes on and ends
// with a warning, and the lease is revoked all the same.
func TestLeasesAreRenewed(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	v.short(3, false)
	w := newFixture(t, harness.Options{})
	id := w.sourced("vmware", "vault_dynamic", v.config("database/creds/app", "password", false, nil))
	run := func(until func() bool) map[string]any {
		stop := filepath.Join(harness.Shared(t), "stop")
		r := w.bash(fmt.Sprintf("until [ -e %s ]; do sleep 0.05; done", stop), id)
		harness.Eventually(t, awhile, "the lease was renewed or not", until)
		save(t, stop, "")
		w.ends(r.ID, "succeeded")
		harness.Eventually(t, awhile, "the lease is revoked", func() bool { leases, _ := v.live(); return leases == 0 })
		return w.want(http.StatusOK, http.MethodGet, "/v1/runs/"+r.ID, nil)
	}
	if r := run(func() bool { return v.renewals() >= 2 }); len(r["warnings"].([]any)) != 0 {
		t.Errorf("warnings of a renewed lease: %v", r["warnings"])
	}
	v.short(3, true)
	r := run(func() bool { return strings.Contains(w.Output(), "a minted secret was not renewed") })
	list, _ := r["warnings"].([]any)
	if len(list) != 1 {
		t.Fatalf("warnings: %v", r["warnings"])
	}
	warning, _ := list[0].(map[string]any)
	if text, _ := warning["message"].(string); warning["code"] != "secret_not_renewed" || !strings.Contains(text, id) ||
		strings.Contains(text, v.root) {
		t.Errorf("warning: %v", warning)
	}
}
