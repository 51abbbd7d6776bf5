package threats

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
)

// hostile are values with a special meaning for a database or a pattern, and invalid ones.
func hostile() []string {
	return []string{
		"id;drop", "id; DROP TABLE runs", "'", "''", `"`, "' OR '1'='1", "1' OR 1=1 --", "1) OR (1=1",
		"' UNION SELECT hash FROM tokens --",
		"'; UPDATE runs SET status='failed'; --", `\`, `\'`, "%", "_", "%%%", "*", "a*", "a:*", "& | ! <-> ( )", "NEAR(",
		`"a`, "-a", "^a", "a OR",
		"$1", "?", "?0", ":x", "@p1", "{}", "[", "(", "((((((((((", "$(id)", "`id`", "{{7*7}}", "\u202e", "\u0000", "%00",
		"\xff", "ʼ", "＇",
		"-1", "0x10", "1e9", "99999999999999999999999", "NaN", "null", "true", "1;--", "1 ", "+1", "９",
		"status:' q:x", "label:'='", "label:a=' OR 1=1", "host:%", "actor:\\", "queue:';", "change:\"", "status:", ":",
		"tool::", "q" + strings.Repeat("'", 200),
		strings.Repeat("a", 5000), strings.Repeat("a ", 500), strings.Repeat("(", 2000), "2026-13-45T99:99:99Z",
		"0000-00-00T00:00:00Z", "9999-12-31T23:59:59+23:59",
	}
}

// parameters lists the query parameters of every operation that reads, from the API document.
func parameters(t *testing.T, s *harness.Server) map[string][]string {
	t.Helper()
	var doc struct {
		Paths map[string]struct {
			Get *struct {
				Parameters []struct {
					Name string `json:"name"`
					In   string `json:"in"`
				} `json:"parameters"`
			} `json:"get"`
		} `json:"paths"`
	}
	a := s.Do(http.MethodGet, "/openapi.json", nil)
	if err := json.Unmarshal(a.Body, &doc); err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for path, item := range doc.Paths {
		if item.Get == nil {
			continue
		}
		out[path] = nil
		for _, p := range item.Get.Parameters {
			if p.In == "query" {
				out[path] = append(out[path], p.Name)
			}
		}
	}
	return out
}

// TestHostileQueries: invalid values of every parameter of every reading route are refused or find nothing,
// and reach the database only as values.
// Keeps T30.
func TestHostileQueries(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		r := s.Await(s.Submit(script("echo seen")).ID)
		asked := 0
		ask := func(path string) {
			asked++
			a := s.Do(http.MethodGet, path, nil)
			if a.Status >= 500 || a.Status == http.StatusUnauthorized && !strings.Contains(path, "ticket=") {
				t.Errorf("GET %s: %d %s", path, a.Status, a.Body)
			}
			if text := strings.ToLower(string(a.Body)); a.Status >= 400 &&
				(strings.Contains(text, "sql") || strings.Contains(text, "syntax")) {
				t.Errorf("GET %s tells of the database: %s", path, a.Body)
			}
		}
		for path, names := range parameters(t, s) {
			if strings.Contains(path, "{id}") {
				for i, v := range hostile() {
					if len(v) < 1000 && (i+len(path))%depthtest.Of(12, 1) == 0 {
						ask(strings.Replace(path, "{id}", url.PathEscape(v), 1))
					}
				}
			}
			for n, name := range names {
				for i, v := range hostile() {
					if (i+n+len(path))%depthtest.Of(12, 1) > 0 {
						continue // each value meets many parameters, and each parameter many values
					}
					ask(strings.Replace(path, "{id}", r.ID, 1) + "?" + name + "=" + url.QueryEscape(v))
				}
			}
		}
		for _, bad := range []string{
			"order=id;drop", "order=id%3Bdrop", "order=created_at", "status=x", "after='", "before=x", "limit='", "offset=-1",
			"cursor='", "tool='", "q=status:x", "q=%22",
		} {
			if a := s.Do(http.MethodGet, "/v1/runs?"+bad, nil); a.Status != http.StatusBadRequest {
				t.Errorf("%s: %d", bad, a.Status)
			}
		}
		for _, none := range []string{"q=%25", "q=_", "q=%27+OR+1%3D1", "q=label:a=%25", "q=host:%25", "task=%25",
			"q=actor:%25"} {
			if rows, total := s.Runs(none); len(rows) != 0 || total != 0 {
				t.Errorf("%s found %d runs", none, total)
			}
		}
		if now := s.Get(r.ID); now.Status != "succeeded" {
			t.Errorf("the run is %s now", now.Status)
		}
		t.Logf("%d questions", asked)
	})
}

// TestControlsAreNothingButValues is T16 over HTTP: a control that could be an option or the name of a file is
// refused, and any other reaches Ansible as a plain value. The tests of adapters/tools/ansible check the exact
// arguments.
// Keeps T16.
func TestControlsAreNothingButValues(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	dir := harness.Shared(t)
	play, secret, mark := filepath.Join(dir, "play.yml"), filepath.Join(dir, "secret"), filepath.Join(dir, "pwned")
	text := "- hosts: all\n  connection: local\n  gather_facts: false\n  tasks:\n    - ansible.builtin.debug: {msg: " +
		"here}\n"
	for name, b := range map[string]string{play: text, secret: "canary-in-a-file\n"} {
		if err := os.WriteFile(name, []byte(b), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	body := func(field string, v any) harness.Body {
		b := harness.Body{"playbook": play, "inventory": "h1,h2,"}
		b[field] = v
		return b
	}
	inject := "--extra-vars=x={{lookup('pipe','touch " + mark + "')}}"
	for i, v := range []string{inject, "-vvvv", "-", "a\nb", "a\x00b", "a\r--check"} {
		for _, field := range []string{"limit", "tags", "skip_tags", "inventory", "playbook"} {
			if named := field == "inventory" || field == "playbook"; named && i > 1 && !depthtest.Long {
				continue // each may start Ansible
			}
			var value any = v
			if field == "tags" || field == "skip_tags" {
				value = []string{v}
			}
			a := s.Do(http.MethodPost, "/v1/runs", body(field, value))
			inert := (field == "playbook" || field == "inventory") && a.Status == http.StatusCreated
			if a.Status != http.StatusBadRequest && !inert {
				t.Errorf("%s %q: %d %s", field, v, a.Status, a.Body)
			}
			if inert {
				var r harness.Run
				a.JSON(t, &r)
				if r = s.Await(r.ID); r.Status != "failed" {
					t.Errorf("%s %q: the run is %s", field, v, r.Status)
				}
			}
		}
	}
	files := []string{"@" + secret, "h1,@" + secret, "h1:@" + secret, "!@" + secret, "&@" + secret}
	for _, v := range files[:depthtest.Of(2, len(files))] {
		a := s.Do(http.MethodPost, "/v1/runs", body("limit", v))
		var r harness.Run
		if a.Status == http.StatusCreated {
			a.JSON(t, &r)
			r = s.Await(r.ID)
		}
		if a.Status != http.StatusBadRequest &&
			(r.Status != "failed" || strings.Contains(s.Log(r.ID)+fmt.Sprint(r), "canary")) {
			t.Errorf("limit %q: %d, %s (%s): %s", v, a.Status, r.Status, r.Error, a.Body)
		}
	}
	for field, v := range map[string]any{
		"limit": "h1;touch " + mark + ";$(touch " + mark + ")", "tags": []string{"$(touch " + mark + ")", "a b"},
		"extra_vars": harness.Body{"x": "@" + secret, "-e": "y"},
	} {
		r := s.Await(s.Submit(body(field, v)).ID)
		if r.Status != "succeeded" || strings.Contains(s.Log(r.ID), "canary") {
			t.Errorf("%s: %s: %s", field, r.Status, s.Log(r.ID))
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a control was evaluated")
	}
}
