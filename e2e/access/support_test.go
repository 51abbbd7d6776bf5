package access

import (
	"bytes"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// account is an account with a token.
type account struct {
	ID, Name string
	harness.Client
}

// made posts a body as the client and returns the id of the new object.
func made(t *testing.T, c harness.Client, path string, body harness.Body) string {
	t.Helper()
	a := c.Do(http.MethodPost, path, body)
	var out struct {
		ID string `json:"id"`
	}
	if a.JSON(t, &out); a.Status != http.StatusCreated || out.ID == "" || a.Header.Get("Location") == "" {
		t.Fatalf("POST %s: %d %s", path, a.Status, a.Body)
	}
	return out.ID
}

// join creates an account with a role and a token for it.
func join(t *testing.T, s *harness.Server, name, role string) account {
	t.Helper()
	id := made(t, s.Client, "/v1/users", harness.Body{"username": name, "role": role})
	return account{ID: id, Name: name, Client: s.As(mint(t, s, id, harness.Body{}))}
}

// mint creates a token for an account.
func mint(t *testing.T, s *harness.Server, userID string, body harness.Body) string {
	t.Helper()
	body["user_id"], body["name"] = userID, "test"
	a := s.Do(http.MethodPost, "/v1/tokens", body)
	var out struct {
		Token string `json:"token"`
	}
	if a.JSON(t, &out); a.Status != http.StatusCreated || out.Token == "" {
		t.Fatalf("mint: %d %s", a.Status, a.Body)
	}
	return out.Token
}

// grant gives a subject a level on an object and returns the grant's id.
func grant(t *testing.T, s *harness.Server, subject, object, level string) string {
	t.Helper()
	return made(t, s.Client, "/v1/grants", harness.Body{"subject": subject, "object": object, "level": level})
}

// on is a run for a queue without executors, so that it stays pending.
func on(queue string) harness.Body {
	return harness.Body{"tool": "bash", "command": "true", "queue": queue}
}

// want checks the status of a request.
func want(t *testing.T, c harness.Client, method, path string, body any, status int, header ...string) harness.Answer {
	t.Helper()
	a := c.Do(method, path, body, header...)
	if a.Status != status {
		t.Errorf("%s %s: %d, want %d: %.300s", method, path, a.Status, status, a.Body)
	}
	return a
}

// reason returns the stable code of a refusal.
func reason(t *testing.T, a harness.Answer) string {
	t.Helper()
	var p struct {
		Reason string `json:"reason"`
	}
	a.JSON(t, &p)
	return p.Reason
}

// writ runs a command on the install of a running server and returns its output.
func writ(t *testing.T, in string, arg ...string) (out string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), harness.Binary(t), arg...)
	cmd.Stdin = strings.NewReader(in)
	var both bytes.Buffer
	cmd.Stdout, cmd.Stderr = &both, &both
	err := cmd.Run()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return both.String(), cmd.ProcessState.ExitCode()
}
