package contract

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/identity"
)

// nobody is a valid id that no run has.
const nobody = "run_00000000000000000000000000"

// tokens creates an account of each role below admin, and returns a token of every role.
func tokens(t *testing.T, s *harness.Server) map[identity.Role]string {
	t.Helper()
	out := map[identity.Role]string{identity.Admin: s.Token}
	for _, role := range []identity.Role{identity.Viewer, identity.Operator} {
		out[role] = mint(t, s, account(t, s, string(role), string(role)), nil)
	}
	return out
}

// created posts a body and returns the id of the created object.
func created(t *testing.T, c harness.Client, path string, body harness.Body) string {
	t.Helper()
	var out struct {
		ID string `json:"id"`
	}
	a := c.Do(http.MethodPost, path, body)
	if a.JSON(t, &out); a.Status != http.StatusCreated || out.ID == "" {
		t.Fatalf("POST %s: %d %s", path, a.Status, a.Body)
	}
	return out.ID
}

// account makes an account and returns its id.
func account(t *testing.T, s *harness.Server, name, role string) string {
	t.Helper()
	return created(t, s.Client, "/v1/users", harness.Body{"username": name, "role": role})
}

// mint makes a token for an account; more are members of the request.
func mint(t *testing.T, s *harness.Server, userID string, more harness.Body) string {
	t.Helper()
	body := harness.Body{"name": "test", "user_id": userID}
	maps.Copy(body, more)
	return secret(t, s.Do(http.MethodPost, "/v1/tokens", body))
}

// another makes one more token for the account of a token.
func another(t *testing.T, s *harness.Server, token string) string {
	t.Helper()
	return secret(t, s.As(token).Do(http.MethodPost, "/v1/tokens", harness.Body{"name": "another"}))
}

func secret(t *testing.T, a harness.Answer) string {
	t.Helper()
	var out struct {
		Token string `json:"token"`
	}
	if a.JSON(t, &out); a.Status != http.StatusCreated || out.Token == "" {
		t.Fatalf("mint: %d %s", a.Status, a.Body)
	}
	return out.Token
}

// absent fills the parameters of a path with valid ids of no object.
func absent(path string) string {
	zeros := strings.Repeat("0", 26)
	for part, prefix := range map[string]string{"runs": "run_", "users": "usr_", "tokens": "tok_", "teams": "team_",
		"orgs": "org_", "grants": "grt_"} {
		path = strings.Replace(path, "/"+part+"/{id}", "/"+part+"/"+prefix+zeros, 1)
	}
	return strings.NewReplacer("{userID}", "usr_"+zeros, "{version}", "1").Replace(path)
}

// operation is an operation of the API document.
type operation struct {
	ID        string                     `json:"operationId"`
	Summary   string                     `json:"summary"`
	Access    string                     `json:"x-access"`
	Responses map[string]json.RawMessage `json:"responses"`
	Method    string                     `json:"-"`
	Path      string                     `json:"-"`
}

// operations reads every operation of the server's API document, by path and method.
func operations(t *testing.T, c harness.Client) []operation {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]operation `json:"paths"`
	}
	c.As("").Do(http.MethodGet, "/openapi.json", nil).JSON(t, &doc)
	var out []operation
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(doc.Paths[path])) {
			op := doc.Paths[path][method]
			op.Method, op.Path = strings.ToUpper(method), path
			out = append(out, op)
		}
	}
	if len(out) < 25 {
		t.Fatalf("the document has %d operations", len(out))
	}
	return out
}

// problem is the body of every error.
type problem struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Text   string `json:"error"`
	Reason string `json:"reason"`
	Errors []struct {
		Location string `json:"location"`
		Message  string `json:"message"`
	} `json:"errors"`
}

// at returns the path of the first invalid field.
func (p problem) at() string {
	if len(p.Errors) == 0 {
		return ""
	}
	return p.Errors[0].Location
}

var snake = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)

// refused checks the form of an error answer and returns it.
func refused(t *testing.T, what string, a harness.Answer, status int) problem {
	t.Helper()
	var p problem
	if a.Status != status {
		t.Errorf("%s: %d, want %d: %.300s", what, a.Status, status, a.Body)
		return p
	}
	if err := json.Unmarshal(a.Body, &p); err != nil {
		t.Errorf("%s: %v in %q", what, err, a.Body)
		return p
	}
	if a.Header.Get("Content-Type") != "application/problem+json" || a.Header.Get("X-Request-Id") == "" {
		t.Errorf("%s: headers %v", what, a.Header)
	}
	if p.Status != status || p.Title != http.StatusText(status) || p.Text == "" || p.Detail != p.Text ||
		!snake.MatchString(p.Reason) {
		t.Errorf("%s: %s", what, a.Body)
	}
	for _, e := range p.Errors {
		if e.Location == "" || e.Message == "" {
			t.Errorf("%s: a field without its place or message: %s", what, a.Body)
		}
	}
	if (status == http.StatusUnauthorized) != (a.Header.Get("WWW-Authenticate") == "Bearer") {
		t.Errorf("%s: WWW-Authenticate is %q", what, a.Header.Get("WWW-Authenticate"))
	}
	return p
}

// bash is a request for a run of a script.
func bash(script string) harness.Body { return harness.Body{"tool": "bash", "command": script} }

// get reads JSON of any form.
func get(t *testing.T, c harness.Client, path string) map[string]any {
	t.Helper()
	a := c.Do(http.MethodGet, path, nil)
	if a.Status != http.StatusOK {
		t.Fatalf("GET %s: %d %.300s", path, a.Status, a.Body)
	}
	var out map[string]any
	a.JSON(t, &out)
	return out
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
