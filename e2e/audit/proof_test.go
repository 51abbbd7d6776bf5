package audit

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestFilesVerifyOffline gets every kind of file from a server and checks it with the command, on both engines.
func TestFilesVerifyOffline(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := &fixture{Server: harness.Start(t,
			harness.Options{DB: dbURL, Flags: []string{"--public-url", "https://writ.example.com"}}), t: t}
		held := w.held()
		first := w.Await(w.Submit(script("echo hello")).ID)
		size := newest(t, w.Server)
		w.Do(http.MethodPost, "/v1/runs/"+held+"/reject", harness.Body{"reason": "not today"})
		pipeline := w.id("/v1/pipelines", harness.Body{"steps": []harness.Body{{"name": "a", "tool": "bash",
			"command": "true"}}})
		w.Await(pipeline)

		seal := saved(t, w.As(""), "/.well-known/seal.json", "seal.json")
		for name, path := range map[string]string{
			"the whole chain":         "/v1/audit/bundle",
			"a window":                fmt.Sprintf("/v1/audit/bundle?from=3&to=%d", size),
			"the newest three":        "/v1/audit/bundle?limit=3",
			"a receipt":               "/v1/runs/" + first.ID + "/receipt",
			"a sparse receipt":        "/v1/runs/" + first.ID + "/receipt?sparse",
			"a receipt since a head":  fmt.Sprintf("/v1/runs/%s/receipt?from=%d", pipeline, size),
			"one of a rejected run":   "/v1/runs/" + held + "/receipt?sparse",
			"one of a pipeline":       "/v1/runs/" + pipeline + "/receipt",
			"one since the beginning": "/v1/runs/" + first.ID + "/receipt?from=0",
		} {
			file := saved(t, w.Client, path, "file.json")
			must(t, 0, "audit", "verify", file, "--seal", seal)
			must(t, 3, "audit", "verify", file)
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			raw[len(raw)/2] ^= 1
			bad := filepath.Join(t.TempDir(), "bad.json")
			if err := os.WriteFile(bad, raw, 0o600); err != nil {
				t.Fatal(err)
			}
			if out, code := writ(t, "audit", "verify", bad, "--seal", seal); code != 1 && code != 2 {
				t.Errorf("%s with one bit changed: exit code %d\n%s", name, code, out)
			}
		}
		w.pins(t, seal)
		w.answers(t, first.ID)
	})
}

// pins meets the log for the first time, then again, then another log under its name.
func (w *fixture) pins(t *testing.T, seal string) {
	t.Helper()
	known := filepath.Join(t.TempDir(), "known_logs")
	bundle := saved(t, w.Client, "/v1/audit/bundle", "bundle.json")
	must(t, 3, "audit", "verify", bundle, "--pin", known)
	must(t, 0, "audit", "verify", bundle, "--pin", known)
	w.parked()
	must(t, 0, "audit", "verify", saved(t, w.Client, "/v1/audit/bundle", "bundle.json"), "--pin", known)
	other := harness.Start(t, harness.Options{})
	foreign := saved(t, other.As(""), "/.well-known/seal.json", "seal.json")
	must(t, 1, "audit", "verify", bundle, "--seal", foreign)
	must(t, 0, "audit", "verify", bundle, "--seal", seal, "--json")
}

// answers checks the headers and the errors of the endpoints.
func (w *fixture) answers(t *testing.T, run string) {
	t.Helper()
	v := intact(t, w.Server)
	a := w.Do(http.MethodGet, "/v1/runs/"+run+"/receipt", nil)
	if id := a.Header.Get("Service-Key-Id"); !strings.HasPrefix(id, "sha256:") || len(id) != 71 {
		t.Errorf("Service-Key-Id is %q", id)
	}
	for path, want := range map[string]int{
		"/v1/runs/" + run + "/receipt?from=x":                             400,
		"/v1/runs/" + run + "/receipt?from=-1":                            400,
		"/v1/runs/" + run + fmt.Sprintf("/receipt?from=%d", v.Count+1000): 409,
		"/v1/runs/run_00000000000000000000000000/receipt":                 404,
		"/v1/audit/bundle?limit=x":                                        400,
		"/v1/audit/bundle?limit=-1":                                       400,
		"/v1/audit/bundle?from=5&to=4":                                    400,
		"/v1/audit/bundle?format=pdf":                                     400,
		"/v1/audit?limit=x":                                               400,
		"/v1/audit/register":                                              403,
	} {
		if a := w.Do(http.MethodGet, path, nil); a.Status != want {
			t.Errorf("GET %s: %d, want %d: %s", path, a.Status, want, a.Body)
		}
	}
	var record struct {
		Receipt string `json:"audit_receipt"`
	}
	w.Do(http.MethodGet, "/v1/runs/"+run, nil).JSON(t, &record)
	if len(strings.Split(record.Receipt, ":")) != 2 {
		t.Errorf("audit_receipt is %q", record.Receipt)
	}
	seal := w.As("").Do(http.MethodGet, "/.well-known/seal.json", nil)
	var content struct {
		Origin    string            `json:"origin"`
		InstallID string            `json:"install_id"`
		Keys      []json.RawMessage `json:"keys"`
	}
	if seal.JSON(t, &content); !strings.HasPrefix(content.Origin, "writ.example.com/audit/"+content.InstallID+"/e1") ||
		len(content.Keys) != 2 {
		t.Errorf("seal.json: %s", seal.Body)
	}
	if tag := seal.Header.Get("ETag"); w.As("").Do(http.MethodGet, "/.well-known/seal.json", nil, "If-None-Match", tag).
		Status != http.StatusNotModified {
		t.Errorf("seal.json with its ETag %q is sent again", tag)
	}
}

// TestPrivateValuesAreForAdmins compares the files that an admin and a viewer get of one chain.
func TestPrivateValuesAreForAdmins(t *testing.T) {
	t.Parallel()
	w := &fixture{Server: harness.Start(t, harness.Options{}), t: t}
	viewer := w.id("/v1/users", harness.Body{"username": "marmalade", "role": "viewer", "password": password})
	var minted struct{ Token string }
	w.Do(http.MethodPost, "/v1/tokens", harness.Body{"name": "v", "user_id": viewer}).JSON(t, &minted)
	run := w.Await(w.Submit(script("true")).ID).ID
	for _, path := range []string{"/v1/audit/bundle", "/v1/runs/" + run + "/receipt"} {
		his := saved(t, w.As(minted.Token), path, "his.json")
		hers := saved(t, w.Client, path, "hers.json")
		must(t, 3, "audit", "verify", his)
		must(t, 3, "audit", "verify", hers)
		less, _ := os.ReadFile(his)
		more, _ := os.ReadFile(hers)
		if len(less) >= len(more) {
			t.Errorf("%s: a viewer gets %d bytes, an admin %d", path, len(less), len(more))
		}
	}
	if a := w.As(minted.Token).Do(http.MethodGet, "/v1/audit", nil); a.Status != http.StatusForbidden {
		t.Errorf("a viewer reads the trail: %d", a.Status)
	}
	if a := w.As(minted.Token).Do(http.MethodGet, "/v1/audit/verify", nil); a.Status != http.StatusOK {
		t.Errorf("a viewer verifies: %d", a.Status)
	}
}
