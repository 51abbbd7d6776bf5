package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// secretNames are the members of bodies that hold a secret, or values that a user may keep secret.
func secretNames() []string {
	return []string{"secret", "password", "current", "new", "token", "key", "url", "to", "headers", "config", "fields",
		"answers",
		"extra_vars", "env", "command", "default"}
}

// planted returns a copy of a value with a text in every secret member, and whether there is one.
func planted(v any, text any) (any, bool) {
	found := false
	switch v := v.(type) {
	case map[string]any:
		out := maps.Clone(v)
		for name, x := range v {
			if inner, ok := planted(x, text); ok {
				out[name], found = inner, true
			}
			if !slices.Contains(secretNames(), name) {
				continue
			}
			out[name], found = text, true
			if _, open := x.(map[string]any); open {
				out[name] = map[string]any{"a": text, "password": text, "token": text, "private_key": text, "vars": text}
			}
		}
		return out, found
	case []any:
		out := slices.Clone(v)
		for i, x := range v {
			if inner, ok := planted(x, text); ok {
				out[i], found = inner, true
			}
		}
		return out, found
	}
	return v, false
}

// TestNoRefusalRepeatsASecret puts a canary into the secret members of every body, one by one, in forms that are
// refused for every reason: their type, their length, their characters, their kind, the rest of the body, the object.
// No answer, no line of the log and no entry of the trail repeats it.
// Keeps T54.
func TestNoRefusalRepeatsASecret(t *testing.T) {
	t.Parallel()
	const canary = "c4n4ryOfTheRefusals"
	s := harness.Start(t, harness.Options{Env: []string{"WRIT_WORKER_TOKEN=" + harness.WorkerToken},
		Flags: []string{"--log-level", "debug"}})
	byID, shared := bodies(t, s.Client)
	examples := exampleBodies(t, s.Client)
	refusals, silent := 0, true
	check := func(what string, a harness.Answer) {
		if a.Status >= 400 {
			refusals++
		}
		if a.Status >= 400 && strings.Contains(fmt.Sprint(string(a.Body), a.Header), canary) {
			silent = false
			t.Errorf("%s: %d %.400s", what, a.Status, a.Body)
		}
	}
	for _, op := range operations(t, s.Client) {
		body, ok := byID[op.ID]
		if !ok || op.ID == "deliver-hook" || op.ID == "import-export" {
			continue
		}
		c := s.Client
		if op.Access == "worker" {
			c = s.As(harness.WorkerToken)
		}
		f := filler{shared, map[string]map[string]any{}, map[string]map[string]schema{}, nil}
		whole, _ := f.fill(body, "").(map[string]any)
		for name, part := range whole {
			for _, form := range []any{canary, canary + "\n" + canary, canary + "\x00", strings.Repeat(canary, 300),
				[]any{canary}, 7,
				"{{" + canary, "-" + canary, "https://user:" + canary + "@[::1"} {
				one, ok := planted(map[string]any{name: part}, form)
				if !ok {
					continue
				}
				with := merged(examples[op.ID], one.(map[string]any))
				check(op.ID+" "+name, c.Do(op.Method, absent(op.Path), with))
				with["no_such_member"] = canary
				check(op.ID+" "+name, c.Do(op.Method, absent(op.Path), with))
			}
		}
		raw, err := json.Marshal(merged(examples[op.ID], harness.Body{"token": canary}))
		if err != nil {
			t.Fatal(err)
		}
		check(op.ID+" cut off", c.Do(op.Method, absent(op.Path), string(raw[:len(raw)-1])))
	}
	if t.Logf("%d refusals", refusals); refusals < 500 {
		t.Errorf("only %d bodies were refused", refusals)
	}
	if silent && strings.Contains(s.Output(), canary) {
		t.Error("the log repeats a canary")
	}
	if trail := s.Do(http.MethodGet, "/v1/audit?limit=1000", nil); strings.Contains(string(trail.Body), canary) {
		t.Errorf("the trail repeats a canary: %.2000s", trail.Body)
	}
}

// exampleBodies are the examples of JSON bodies in the document.
func exampleBodies(t *testing.T, c harness.Client) map[string]harness.Body {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			ID   string `json:"operationId"`
			Body struct {
				Content map[string]struct{ Example json.RawMessage }
			} `json:"requestBody"`
		}
	}
	c.As("").Do(http.MethodGet, "/openapi.json", nil).JSON(t, &doc)
	out := map[string]harness.Body{}
	for _, methods := range doc.Paths {
		for _, op := range methods {
			var body harness.Body
			if json.Unmarshal(op.Body.Content["application/json"].Example, &body) == nil {
				out[op.ID] = body
			}
		}
	}
	return out
}
