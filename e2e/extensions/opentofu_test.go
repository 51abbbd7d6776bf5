package extensions

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

const (
	opentofu      = "github.com/writ-automation/writ/docs/examples/opentofu"
	statePassword = "s3cret-of-the-state"
)

// states keeps one state for the backend "http" of OpenTofu, which locks it.
type states struct {
	mu     sync.Mutex
	state  []byte
	lock   []byte
	writes int
}

func (s *states) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, password, _ := r.BasicAuth()
	body, err := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
	case subtle.ConstantTimeCompare([]byte(password), []byte(statePassword)) == 0:
		w.WriteHeader(http.StatusUnauthorized)
	case r.Method == "LOCK" && s.lock != nil:
		w.WriteHeader(http.StatusLocked)
		_, _ = w.Write(s.lock)
	case r.Method == "LOCK":
		s.lock = body
	case r.Method == "UNLOCK":
		s.lock = nil
	case r.Method == http.MethodPost:
		s.state = body
		s.writes++
	case s.state == nil:
		w.WriteHeader(http.StatusNotFound)
	default:
		_, _ = w.Write(s.state)
	}
}

// input returns the input of the resource "web" in the state, nil for none, and how often the state was written.
// It fails if the state is locked.
func (s *states) input(t *testing.T) (value any, writes int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock != nil {
		t.Errorf("the state is locked: %s", s.lock)
	}
	var state struct {
		Resources []struct {
			Name      string
			Instances []struct {
				Attributes struct {
					Input struct{ Value any } `json:"input"`
				} `json:"attributes"`
			} `json:"instances"`
		} `json:"resources"`
	}
	if s.state == nil {
		return nil, s.writes
	}
	if err := json.Unmarshal(s.state, &state); err != nil {
		t.Fatalf("the state: %v\n%s", err, s.state)
	}
	for _, r := range state.Resources {
		if r.Name == "web" && len(r.Instances) == 1 {
			value = r.Instances[0].Attributes.Input.Value
		}
	}
	return value, s.writes
}

// tofuServer is a server with the example of a plugin and the real OpenTofu. The configuration of its request is short.
type tofuServer struct {
	*fixture
	states  *states
	request harness.Body
}

func startOpenTofu(t *testing.T) *tofuServer {
	t.Helper()
	script, err := filepath.Abs("../setup/tofu.sh")
	if err == nil {
		_, err = os.Stat(script)
	}
	if err != nil {
		t.Fatal(err)
	}
	where, err := exec.CommandContext(t.Context(), script, "where").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, where)
	}
	plugins, programs := t.TempDir(), harness.Shared(t)
	for from, to := range map[string]string{
		filepath.Join(strings.TrimSpace(string(where)), "tofu"): filepath.Join(programs, "tofu"),
		harness.BinaryOf(t, opentofu):                           filepath.Join(plugins, "opentofu"),
	} {
		program, err := os.ReadFile(from)
		//nolint:gosec // accounts of runs execute it
		if err = errors.Join(err, os.WriteFile(to, program, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	w := &tofuServer{states: &states{}}
	at := httptest.NewServer(w.states)
	t.Cleanup(at.Close)
	s := harness.Start(t, harness.Options{Flags: []string{"--plugins-dir", plugins},
		Env: []string{"PATH=" + programs + ":/usr/local/bin:/usr/bin:/bin"}})
	w.fixture = &fixture{Server: s}
	w.request = harness.Body{"tool": "tofu", "command": fmt.Sprintf(`
terraform {
  backend "http" {
    address        = "%[1]s/web"
    lock_address   = "%[1]s/web"
    unlock_address = "%[1]s/web"
  }
}
variable "size" { type = number }
resource "terraform_data" "web" { input = var.size }
`, at.URL), "credential_ids": []string{w.credential(t, "states", harness.Body{"secret": harness.Body{
		"vars": harness.Body{"TF_HTTP_USERNAME": "writ", "TF_HTTP_PASSWORD": statePassword}}})}}
	return w
}

// run submits a run with a size and waits for its end.
func (w *tofuServer) run(t *testing.T, size int, dry bool) harness.Run {
	t.Helper()
	body := maps.Clone(w.request)
	body["dry_run"], body["extra_vars"] = dry, harness.Body{"size": size}
	r := w.Await(w.Submit(body).ID)
	if log := w.Log(r.ID); r.Status != "succeeded" || strings.Contains(log, statePassword) {
		t.Fatalf("%s: %s\n%s", r.Status, r.Error, log)
	}
	return r
}

// TestOpenTofuRuns checks that OpenTofu plans and applies inside the box of a run, with a secret of Writ for the
// backend of its state, and that a canceled apply saves the state and releases its lock.
func TestOpenTofuRuns(t *testing.T) {
	t.Parallel()
	w := startOpenTofu(t)
	if r := w.run(t, 1, true); !strings.Contains(w.Log(r.ID), "Plan: 1 to add") {
		t.Errorf("the dry run says:\n%s", w.Log(r.ID))
	}
	if value, writes := w.states.input(t); value != nil || writes != 0 {
		t.Errorf("a dry run changed the state: %v, %d writes", value, writes)
	}
	w.run(t, 2, false)
	if value, _ := w.states.input(t); value != 2.0 {
		t.Errorf("the state has %v", value)
	}

	body := maps.Clone(w.request)
	body["extra_vars"] = harness.Body{"size": 3}
	body["command"] = fmt.Sprint(body["command"], `
resource "terraform_data" "slow" {
  input = terraform_data.web.output
  provisioner "local-exec" {
    command = "echo begun; exec sleep 300"
  }
}
`)
	r := w.Submit(body)
	eventually(t, "the second resource is created", func() bool { return strings.Contains(w.Log(r.ID), "): begun") })
	w.Do(http.MethodPost, "/v1/runs/"+r.ID+"/cancel", nil)
	if r, log := w.Await(r.ID), w.Log(r.ID); r.Status != "canceled" || !strings.Contains(log, "Interrupt received") ||
		strings.Contains(log, "Two interrupts") {
		t.Errorf("%s: %s\n%s", r.Status, r.Error, log)
	}
	if value, _ := w.states.input(t); value != 3.0 {
		t.Errorf("after the cancel the state has %v", value)
	}
}
