package secrets_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestSecretsThatComeBack puts secrets of a credential into every text of runs: readers see them nowhere, and the tool
// gets them.
func TestSecretsThatComeBack(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		r, f := newReceiver(t), newCanaries(t)
		stored, engine := f.short("stored"), f.short("engine")
		w := newFixture(t, harness.Options{DB: dbURL,
			Flags: []string{"--notify-webhook", r.URL, "--allow-private-egress", "127.0.0.1/32", "--secret-env", "CANARY"},
			Env:   []string{"CANARY=" + engine}})
		c := &comeback{canaryCredentials: &canaryCredentials{canaries: f, w: w}}
		c.credential = w.credential("token", obj{"token": stored}, nil)
		c.viewer = c.reader("viewer")
		runs := c.direct(stored)
		runs = append(runs, c.template(stored)...)
		c.everywhere(runs)
		c.credential = w.sourced("token", "env", obj{"name": "CANARY"})
		runs = append(runs, c.provided(engine))
		harness.Eventually(t, awhile, "every run was told of", func() bool {
			_, n := r.text()
			return n >= len(runs)
		})
		text, _ := r.text()
		c.search("the notifications", []byte(text))
		c.search("the server's log", []byte(w.Output()))
	})
}

type comeback struct {
	*canaryCredentials
	credential string
	viewer     *fixture
}

func (c *comeback) reader(role string) *fixture {
	_, w := c.w.somebody(role+fresh(6), role)
	return w
}

// body repeats a secret in every text of a run.
func (c *comeback) body(value string) obj {
	return obj{
		"tool": "bash", "credential_ids": []string{c.credential}, "name": "deploy " + value, "change": value,
		"command": "test " + value + ` = "$TOKEN" && test "$WRIT_VAR_A" = "$TOKEN" && test "$B" = "$TOKEN" || exit 3` +
			"\necho {\\\"out\\\": \\\"$TOKEN\\\"} >$WRIT_OUTPUTS; exit 4",
		"labels": obj{"team": value}, "env": obj{"B": value, "C": base64.StdEncoding.EncodeToString([]byte(value))},
		"extra_vars": obj{"a": value, "list": []obj{{"deep": "x" + value}}},
	}
}

// read checks the record as an admin and as a viewer read it, and that neither finds it by the secret.
func (c *comeback) read(id, value string) {
	c.t.Helper()
	for _, w := range []*fixture{c.w, c.viewer} {
		run := w.want(http.StatusOK, http.MethodGet, "/v1/runs/"+id, nil)
		for member, want := range map[string]any{"name": "[redacted]", "change": "[redacted]", "command": "[redacted]"} {
			if run[member] != want {
				c.t.Errorf("%s is %v", member, run[member])
			}
		}
		for member, key := range map[string]string{"labels": "team", "env": "B", "extra_vars": "a"} {
			if values, _ := run[member].(map[string]any); values[key] != "[redacted]" {
				c.t.Errorf("%s is %v", member, run[member])
			}
		}
		for _, q := range []string{value, value[:8], "label:team=" + value, "change:" + value, "deploy"} {
			if rows, total := w.Runs("q=" + q); total != 0 || len(rows) != 0 {
				c.t.Errorf("%.5s... finds %d runs", q, total)
			}
		}
	}
}

// executed waits for the end of a run that had the values.
func (c *comeback) executed(id string) {
	c.t.Helper()
	if r := c.w.Await(id); r.Status != "failed" || r.ExitCode == nil || *r.ExitCode != 4 {
		c.t.Errorf("%s ended with %+v: %s", id, r, c.w.Log(id))
	}
	c.search("the stream of "+id, c.w.streamed(id))
}

// direct submits a run, which waits for approval first, and reruns it after the credential was changed.
func (c *comeback) direct(value string) []string {
	c.t.Helper()
	body := c.body(value)
	body["require_approval"] = true
	answer := c.w.Do(http.MethodPost, "/v1/runs", body)
	c.search("the answer to the submission", answer.Body)
	var run harness.Run
	answer.JSON(c.t, &run)
	c.read(run.ID, value)
	c.w.want(http.StatusOK, http.MethodPost, "/v1/runs/"+run.ID+"/approve", nil)
	c.executed(run.ID)
	c.read(run.ID, value)
	again := c.w.Do(http.MethodPost, "/v1/runs/"+run.ID+"/rerun", nil)
	c.search("the answer to the rerun", again.Body)
	var second harness.Run
	again.JSON(c.t, &second)
	c.w.want(http.StatusOK, http.MethodPost, "/v1/runs/"+second.ID+"/approve", nil)
	c.executed(second.ID)
	c.read(second.ID, value)
	return []string{run.ID, second.ID}
}

// template launches a template whose answers and variables hold the secret.
func (c *comeback) template(value string) []string {
	c.t.Helper()
	tpl := c.w.id("/v1/templates", obj{"name": "t", "tool": "bash", "command": `test "$WRIT_VAR_A" = "$TOKEN" && exit 4`,
		"credential_ids": []string{c.credential}, "survey": []obj{{"var": "a", "type": "text"}}})
	answer := c.w.Do(http.MethodPost, "/v1/templates/"+tpl+"/launch", obj{"answers": obj{"a": value}})
	c.search("the answer to the launch", answer.Body)
	var run harness.Run
	if answer.JSON(c.t, &run); !strings.Contains(string(answer.Body), "[redacted]") {
		c.t.Errorf("%d %s", answer.Status, answer.Body)
	}
	c.executed(run.ID)
	return []string{run.ID}
}

// provided has a secret that an engine provides: it is known from the claim on.
func (c *comeback) provided(value string) string {
	c.t.Helper()
	run := c.w.Submit(c.body(value))
	c.executed(run.ID)
	c.read(run.ID, value)
	for _, path := range []string{"", "/evidence?format=html", "/evidence", "/events", "/compare?with=" + run.ID, "/why"} {
		a := c.w.Do(http.MethodGet, "/v1/runs/"+run.ID+path, nil)
		c.search(path, a.Body)
		if a.Status != http.StatusOK {
			c.t.Errorf("%s: %d", path, a.Status)
		}
	}
	return run.ID
}
