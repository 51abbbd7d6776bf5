package catalog

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestHooks delivers pushes of three forges, and invalid requests.
// Keeps T05, T06.
func TestHooks(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, harness.Options{DB: dbURL})
		tpl := w.id("/v1/templates", harness.Body{"name": "t", "tool": "bash", "command": "cat $WRIT_VARS"})
		trg := w.make("/v1/triggers", harness.Body{"name": "t", "template_id": tpl, "branch": "main"})
		path, secret := trg["hook_path"].(string), trg["signing_secret"].(string)
		hook := func(body string, header ...string) (int, map[string]any) {
			t.Helper()
			a := w.As("").Do(http.MethodPost, path, body, header...)
			out := map[string]any{}
			a.JSON(t, &out)
			return a.Status, out
		}
		plain := strings.TrimPrefix(sign(secret, push), "sha256=")
		ways := map[string][]string{
			"GitHub":  {"X-GitHub-Event", "push", "X-GitHub-Delivery", "1", "X-Hub-Signature-256"},
			"Gitea":   {"X-Gitea-Event", "push", "X-Gitea-Delivery", "2", "X-Gitea-Signature"},
			"Forgejo": {"X-Forgejo-Event", "push", "X-Forgejo-Delivery", "3", "X-Forgejo-Signature"},
			"GitLab":  {"X-Gitlab-Event", "Push Hook", "X-Gitlab-Event-UUID", "4", "X-Gitlab-Token"},
		}
		made := map[string]bool{}
		for provider, header := range ways {
			push := strings.Replace(push, "ada", provider, 1)
			switch proof := sign(secret, push); provider {
			case "GitHub":
				header = append(header, proof)
			case "GitLab":
				header = append(header, secret)
			default:
				header = append(header, strings.TrimPrefix(proof, "sha256="))
			}
			status, first := hook(push, header...)
			run, _ := first["run_id"].(string)
			if status != 202 || run == "" {
				t.Fatalf("%s: %d %v", provider, status, first)
			}
			made[run] = true
			if log := w.log(w.succeeds(run).ID); !strings.Contains(log, `"branch":"main"`) ||
				!strings.Contains(log, `"repository"`) {
				t.Errorf("%s: %s", provider, log)
			}
			if _, again := hook(push, header...); again["run_id"] != run {
				t.Errorf("%s again: %v", provider, again)
			}
		}
		if len(made) != len(ways) {
			t.Errorf("%d runs of %d deliveries", len(made), len(ways))
		}
		for name, c := range map[string]struct {
			body   string
			header []string
			status int
		}{
			"another secret": {push, []string{"X-GitHub-Event", "push", "X-Hub-Signature-256", sign("x", push)}, 401},
			"a flipped byte": {strings.Replace(push, "ada", "bob", 1),
				[]string{"X-GitHub-Event", "push", "X-Hub-Signature-256", "sha256=" + plain}, 401},
			"no signature":     {push, []string{"X-GitHub-Event", "push"}, 401},
			"another token":    {push, []string{"X-Gitlab-Event", "Push Hook", "X-Gitlab-Token", secret + "x"}, 401},
			"a ping":           {"{}", []string{"X-GitHub-Event", "ping", "X-Hub-Signature-256", sign(secret, "{}")}, 200},
			"another event":    {"{}", []string{"X-GitHub-Event", "issues", "X-Hub-Signature-256", sign(secret, "{}")}, 200},
			"no push at all":   {"{}", []string{"X-GitHub-Event", "push", "X-Hub-Signature-256", sign(secret, "{}")}, 400},
			"five MiB and one": {strings.Repeat(" ", 5<<20+1), []string{"X-GitHub-Event", "push"}, 413},
		} {
			if status, out := hook(c.body, c.header...); status != c.status || status == 200 && out["ignored"] == nil {
				t.Errorf("%s: %d %v", name, status, out)
			}
		}
		for _, ref := range []string{"--upload-pack=x", "refs/heads/$(id)", "refs/heads/../../x", "refs/heads/a\\nb"} {
			body := strings.Replace(push, "refs/heads/main", ref, 1)
			if status, out := hook(body, "X-GitHub-Event", "push", "X-Hub-Signature-256", sign(secret, body)); status != 400 {
				t.Errorf("%s: %d %v", ref, status, out)
			}
		}
		side := strings.Replace(push, "heads/main", "heads/side", 1)
		if status, out := hook(side, "X-GitHub-Event", "push", "X-Hub-Signature-256", sign(secret, side)); status != 200 ||
			out["ignored"] == nil {
			t.Errorf("another branch: %d %v", status, out)
		}
		if list := w.want(http.StatusOK, http.MethodGet, "/v1/runs", nil); list["total"] != float64(len(ways)) {
			t.Errorf("%v runs", list["total"])
		}
		w.rotated(trg)
	})
}

// rotated replaces the secret and revokes the hook.
func (w *fixture) rotated(trg map[string]any) {
	w.t.Helper()
	id, path := trg["id"].(string), trg["hook_path"].(string)
	fresh := w.want(http.StatusOK, http.MethodPost, "/v1/triggers/"+id+"/rotate-secret", nil)["signing_secret"].(string)
	deliver := func(secret, delivery string) int {
		return w.As("").Do(http.MethodPost, path, push, "X-GitHub-Event", "push", "X-GitHub-Delivery", delivery,
			"X-Hub-Signature-256", sign(secret, push)).Status
	}
	if status := deliver(trg["signing_secret"].(string), "r1"); status != 401 {
		w.t.Errorf("the old secret: %d", status)
	}
	if status := deliver(fresh, "r2"); status != 202 {
		w.t.Errorf("the new secret: %d", status)
	}
	w.want(http.StatusNoContent, http.MethodDelete, "/v1/triggers/"+id, nil)
	if status := deliver(fresh, "r3"); status != 404 {
		w.t.Errorf("a revoked hook: %d", status)
	}
	if out := w.Output(); strings.Contains(out, fresh) || strings.Contains(out, strings.TrimPrefix(path, "/hooks/")) {
		w.t.Error("the log holds a secret")
	}
}

// TestReplayedBodies sends a signed body under other ids and as another forge, which nobody signs: the first run
// answers. A delivery that made none may be sent again.
// Keeps T48.
func TestReplayedBodies(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, harness.Options{DB: dbURL})
		question := harness.Body{"var": "q", "type": "text", "required": true}
		tpl := w.id("/v1/templates", harness.Body{"name": "t", "tool": "bash", "command": "true", "queue": "parked",
			"survey": []harness.Body{question}})
		trg := w.make("/v1/triggers", harness.Body{"name": "t", "template_id": tpl})
		deliver := func(header ...string) (int, string) {
			a := w.As("").Do(http.MethodPost, trg["hook_path"].(string), push, header...)
			var out struct {
				RunID string `json:"run_id"`
			}
			a.JSON(t, &out)
			return a.Status, out.RunID
		}
		secret := trg["signing_secret"].(string)
		github := func(id string) (int, string) {
			return deliver("X-GitHub-Event", "push", "X-GitHub-Delivery", id, "X-Hub-Signature-256", sign(secret, push))
		}
		for _, id := range []string{"d1", "d1", "d2"} {
			if status, run := github(id); status != http.StatusBadRequest || run != "" {
				t.Errorf("%s, without an answer to the question: %d %s", id, status, run)
			}
		}
		question["default"] = "a"
		w.want(http.StatusOK, http.MethodPut, "/v1/templates/"+tpl, harness.Body{
			"name": "t", "tool": "bash", "command": "true", "queue": "parked", "survey": []harness.Body{question},
		})
		_, first := github("d1")
		for _, id := range []string{"d1", "d2", "d3", ""} {
			if status, run := github(id); status != http.StatusAccepted || run != first || run == "" {
				t.Errorf("%q: %d %s, want %s", id, status, run, first)
			}
		}
		for name, header := range map[string][]string{
			"Gitea": {"X-Gitea-Event", "push", "X-Gitea-Delivery", "d4", "X-Gitea-Signature",
				strings.TrimPrefix(sign(secret, push), "sha256=")},
			"GitLab": {"X-Gitlab-Event", "Push Hook", "X-Gitlab-Event-UUID", "d5", "X-Gitlab-Token", secret},
		} {
			if status, run := deliver(header...); status != http.StatusAccepted || run != first {
				t.Errorf("%s: %d %s, want %s", name, status, run, first)
			}
		}
		if list := w.want(http.StatusOK, http.MethodGet, "/v1/runs", nil); list["total"] != 1.0 {
			t.Errorf("%v runs", list["total"])
		}
	})
}

// TestOneDeliveryAtOnce sends one body many times concurrently, under several ids: one run, one answer.
// Keeps T05.
func TestOneDeliveryAtOnce(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, harness.Options{DB: dbURL})
		tpl := w.id("/v1/templates", harness.Body{"name": "t", "tool": "bash", "command": "true", "queue": "parked"})
		trg := w.make("/v1/triggers", harness.Body{"name": "t", "template_id": tpl})
		var wait sync.WaitGroup
		for i := range 20 {
			wait.Go(func() {
				_, err := w.As("").Try(http.MethodPost, trg["hook_path"].(string), push,
					"X-GitHub-Event", "push", "X-GitHub-Delivery", strconv.Itoa(i/4), "X-Hub-Signature-256",
					sign(trg["signing_secret"].(string), push))
				if err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		if list := w.want(http.StatusOK, http.MethodGet, "/v1/runs", nil); list["total"] != 1.0 {
			t.Errorf("%v runs", list["total"])
		}
	})
}
