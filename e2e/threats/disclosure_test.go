package threats

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// create makes an object and returns its answer.
func create(t *testing.T, c harness.Client, path string, body harness.Body) map[string]any {
	t.Helper()
	out := map[string]any{}
	a := c.Do(http.MethodPost, path, body)
	if a.JSON(t, &out); a.Status != http.StatusCreated {
		t.Fatalf("POST %s: %d %s", path, a.Status, a.Body)
	}
	return out
}

func idOf(object map[string]any) string { id, _ := object["id"].(string); return id }

// account makes an account and returns a client of it and its id.
func account(t *testing.T, s *harness.Server, name, role string) (harness.Client, string) {
	t.Helper()
	id := idOf(create(t, s.Client, "/v1/users", harness.Body{"username": name, "role": role}))
	token, _ := create(t, s.Client, "/v1/tokens", harness.Body{"name": name, "user_id": id})["token"].(string)
	return s.As(token), id
}

// TestFiltersDiscloseNothing asks every list for words that only hidden objects and hidden columns contain. The answers
// are those to a word that nothing contains. Whether a hidden run exists cannot be told by comparing with it either.
// Keeps T53.
func TestFiltersDiscloseNothing(t *testing.T) {
	t.Parallel()
	const canary, nothing = "c4naryhidden", "n0thingthere"
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		viewer, _ := account(t, s, "viewer", "viewer")
		_, otherID := account(t, s, canary, "operator")
		// Hidden: everything in a restricted queue, and restricted objects.
		grant := func(object string) {
			create(t, s.Client, "/v1/grants", harness.Body{"subject": "user:" + otherID, "object": object, "level": "read"})
		}
		hiddenQueue := "queue-" + canary
		hidden := s.Submit(harness.Body{"tool": "bash", "command": "exit 3 # " + canary, "name": canary, "queue": hiddenQueue,
			"change": canary, "labels": harness.Body{canary: canary}})
		s.Submit(harness.Body{"playbook": canary + ".yml", "inventory": canary, "queue": hiddenQueue})
		grant("queue:" + hiddenQueue)
		tpl := idOf(create(t, s.Client, "/v1/templates", harness.Body{"name": canary, "tool": "bash", "command": canary}))
		for _, id := range []string{
			tpl,
			idOf(create(t, s.Client, "/v1/inventories", harness.Body{"name": canary, "content": canary + "\n",
				"format": "ini"})),
			idOf(create(t, s.Client, "/v1/projects", harness.Body{"name": canary, "repo_url": "https://example.com/" + canary})),
			idOf(create(t, s.Client, "/v1/credentials", harness.Body{"name": canary, "kind": "token",
				"secret": harness.Body{"token": canary}})),
		} {
			grant(id)
		}
		create(t, s.Client, "/v1/schedules", harness.Body{"name": canary, "cron": "@yearly", "template_id": tpl})
		// Readable, with columns that are not.
		secret := idOf(create(t, s.Client, "/v1/credentials", harness.Body{"name": "readable", "kind": "env",
			"secret": harness.Body{"vars": harness.Body{"APP_SECRET": canary}}}))
		seen := s.Await(s.Submit(harness.Body{"tool": "bash", "name": "readable", "credential_ids": []string{secret},
			"command":    `echo "$APP_SECRET"; echo "{\"out\": \"$APP_SECRET\"}" > "$WRIT_OUTPUTS"; echo "$APP_SECRET" >&2; exit 3`,
			"extra_vars": harness.Body{"db_password": canary}, "notifications": []harness.Body{
				{"kind": "webhook", "url": "https://" + canary + ":x@example.com/" + canary, "on_failure": true},
				{"kind": "pagerduty", "key": canary, "on_failure": true}}}).ID)
		if _, n := s.Runs("q=" + canary); n != 2 {
			t.Errorf("the admin finds %d hidden runs by a word of theirs", n)
		}
		now := regexp.MustCompile(`"at":"[^"]*"`) // the instant of an answer that was asked for none
		ask := func(c harness.Client, path, word string) string {
			a := c.Do(http.MethodGet, path, nil)
			return fmt.Sprint(a.Status, " ", strings.NewReplacer(word, "WORD", strings.ToUpper(word),
				"WORD").Replace(now.ReplaceAllString(string(a.Body), `"at":"NOW"`)))
		}
		asked := 0
		same := func(who string, c harness.Client, form string) {
			t.Helper()
			asked++
			with, without := strings.ReplaceAll(form, "WORD", canary), strings.ReplaceAll(form, "WORD", nothing)
			if a, b := ask(c, with, canary), ask(c, without, nothing); a != b {
				t.Errorf("%s at %s: %.600s\nand for a word that nothing contains: %.600s", who, form, a, b)
			}
		}
		for path, names := range parameters(t, s) {
			path = strings.ReplaceAll(path, "{id}", seen.ID)
			if strings.Contains(path, "{") || strings.HasSuffix(path, "/stream") {
				continue
			}
			for _, name := range names {
				same("a viewer", viewer, path+"?"+name+"=WORD")
				same("a viewer", viewer, path+"?"+name+"=queue-WORD")
			}
		}
		for _, term := range []string{"WORD", "WOR*", "WORD.yml", "name:WORD", "actor:WORD", "change:WORD",
			"queue:queue-WORD",
			"label:WORD=WORD", "host:WORD", "template:WORD", "source:api WORD", "status:failed WORD", "extra_vars:WORD",
			"error:WORD"} {
			same("a viewer", viewer, "/v1/runs?q="+url.QueryEscape(term))
		}
		// Secrets are found by nobody.
		find := "/v1/runs/" + seen.ID + "/logs/find?q=WORD"
		for _, form := range []string{find, find + "&regex=1", find + "&case=0", "/v1/credentials?name=WORD&type_id=WORD"} {
			same("the admin", s.Client, form)
		}
		if rows, _ := s.Runs("q=" + canary); slices.ContainsFunc(rows, func(r harness.Run) bool { return r.ID == seen.ID }) {
			t.Error("a run is found by a secret of it")
		}
		for _, x := range [][2]string{
			{"/v1/runs/" + seen.ID + "/compare?with=" + hidden.ID, "/v1/runs/" + seen.ID + "/compare?with=run_" +
				strings.Repeat("0", 26)},
			{"/v1/runs?q=template:" + tpl, "/v1/runs?q=template:tpl_" + strings.Repeat("0", 26)},
			{"/v1/templates/" + tpl, "/v1/templates/tpl_" + strings.Repeat("0", 26)},
			{"/v1/runs/" + hidden.ID, "/v1/runs/run_" + strings.Repeat("0", 26)},
		} {
			a, b := viewer.Do(http.MethodGet, x[0], nil), viewer.Do(http.MethodGet, x[1], nil)
			if a.Status != b.Status || len(a.Body) != len(b.Body) {
				t.Errorf("%s: %d %s\nand for what does not exist: %d %s", x[0], a.Status, a.Body, b.Status, b.Body)
			}
		}
		if t.Logf("%d questions", asked); asked < 60 {
			t.Errorf("only %d questions were asked", asked)
		}
	})
}

// TestTightenedSurveys changes a survey so that stored answers are refused, at every place where they are read again.
// No refusal, no stored error and no line of the log repeats an answer.
// Keeps T54.
func TestTightenedSurveys(t *testing.T) {
	t.Parallel()
	const canary = "c4n4ryAnswer"
	s := harness.Start(t, harness.Options{Flags: []string{"--log-level", "debug"}})
	survey := func(more harness.Body) harness.Body {
		field := harness.Body{"var": "api_key", "type": "text"}
		maps.Copy(field, more)
		return harness.Body{"name": "t", "tool": "bash", "command": "true", "survey": []harness.Body{field}}
	}
	tpl := idOf(create(t, s.Client, "/v1/templates", survey(nil)))
	answers := harness.Body{"api_key": canary}
	sch := idOf(create(t, s.Client, "/v1/schedules", harness.Body{"name": "s", "cron": "@yearly", "template_id": tpl,
		"answers": answers}))
	check := func(what string, a harness.Answer) {
		t.Helper()
		if strings.Contains(string(a.Body), canary) {
			t.Errorf("%s: %d %s", what, a.Status, a.Body)
		}
	}
	path := "/v1/schedules/" + sch
	for name, more := range map[string]harness.Body{
		"a pattern": {"pattern": "[0-9]{3}"}, "a length": {"max_length": 3}, "choices": {"type": "choice",
			"choices": []string{"a"}},
		"a number": {"type": "int"}, "a truth": {"type": "bool"}, "another question": {"var": "other"},
	} {
		if a := s.Do(http.MethodPut, "/v1/templates/"+tpl, survey(more)); a.Status != http.StatusOK {
			t.Fatalf("%s: %d %s", name, a.Status, a.Body)
		}
		a := s.Do(http.MethodPost, "/v1/templates/"+tpl+"/launch", harness.Body{"answers": answers})
		if check("a launch with "+name, a); a.Status != http.StatusBadRequest {
			t.Errorf("a launch with %s: %d %s", name, a.Status, a.Body)
		}
		kept := s.Do(http.MethodGet, path, nil)
		check("the schedule with "+name, kept)
		a = s.Do(http.MethodPut, path, string(kept.Body))
		if check("the schedule saved again with "+name, a); a.Status != http.StatusBadRequest {
			t.Errorf("the schedule saved again with %s: %d %s", name, a.Status, a.Body)
		}
	}
	first := s.Output()
	s.Kill()
	s.Alter("UPDATE schedules SET next_run_at = ? WHERE id = ?", -time.Minute, sch)
	s = s.Again()
	harness.Eventually(t, wait, "the schedule fires and says why it cannot", func() bool {
		a := s.Do(http.MethodGet, path, nil)
		check("the schedule", a)
		return strings.Contains(string(a.Body), `"last_error":"`)
	})
	for _, p := range []string{"/v1/schedules", "/v1/doctor", "/v1/audit?limit=1000", "/v1/templates/" + tpl, "/v1/runs",
		"/metrics"} {
		check(p, s.Do(http.MethodGet, p, nil))
	}
	if strings.Contains(first+s.Output(), canary) {
		t.Error("the log repeats an answer")
	}
}

// signed is a delivery of GitHub with its signature.
func signed(secret, event, delivery, body string) []string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return []string{"X-GitHub-Event", event, "X-GitHub-Delivery", delivery, "X-Hub-Signature-256",
		"sha256=" + hex.EncodeToString(mac.Sum(nil))}
}

// TestHooksDiscloseNothing delivers without a valid signature to triggers of every sort: who has the path and not the
// secret learns that the path exists, and nothing else. The path and the secret are shown once, and are then nowhere.
// Keeps T05, T55.
func TestHooksDiscloseNothing(t *testing.T) {
	t.Parallel()
	const push = `{"ref":"refs/heads/main","after":"5d1c3f0a9be7d1c5f0a9be7d1c5f0a9be7d1c5f0","repository":{"full_name":"a/b"},"pusher":{"name":"ada"}}`
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL, Flags: []string{"--log-level", "debug"}})
		viewer, _ := account(t, s, "viewer", "viewer")
		tpl := idOf(create(t, s.Client, "/v1/templates", harness.Body{"name": "t", "tool": "bash",
			"command": "cat $WRIT_VARS"}))
		var ids, paths, secrets []string
		for i, more := range []harness.Body{{}, {"branch": "side"}, {"events": []string{"release"}}} {
			body := harness.Body{"name": fmt.Sprint("t", i), "template_id": tpl}
			maps.Copy(body, more)
			made := create(t, s.Client, "/v1/triggers", body)
			path, _ := made["hook_path"].(string)
			secret, _ := made["signing_secret"].(string)
			ids, paths, secrets = append(ids, idOf(made)), append(paths, path), append(secrets, secret)
		}
		run := s.As("").Do(http.MethodPost, paths[0], push, signed(secrets[0], "push", "d1", push)...)
		if run.Status != http.StatusAccepted {
			t.Fatalf("a delivery: %d %s", run.Status, run.Body)
		}
		_, before := s.Runs("")
		deliver := func(path, body string, header []string) string {
			a := s.As("").Do(http.MethodPost, path, body, header...)
			for _, volatile := range []string{"Date", "X-Request-Id"} {
				a.Header.Del(volatile)
			}
			return fmt.Sprintf("%d %v %s", a.Status, a.Header, a.Body)
		}
		bodies := map[string]string{"a push": push, "no JSON": "{", "no ref": `{"ref":"$(id)"}`, "a ping": "{}",
			"a list": "[]"}
		for sort, headers := range map[string]func(event, body string) []string{
			"a wrong secret": func(event, body string) []string { return signed("wrong", event, "d1", body) },
			"no signature":   func(event, _ string) []string { return []string{"X-GitHub-Event", event} },
			"half of one": func(event, body string) []string {
				h := signed(secrets[0], event, "d1", body)
				return append(h[:5:5], h[5][:40])
			},
		} {
			for _, known := range []bool{true, false} {
				answers := map[string]string{}
				for _, path := range paths {
					if !known {
						path = path[:len(path)-4] + "0000"
					}
					for what, body := range bodies {
						for _, event := range []string{"push", "ping", "release", "nonsense"} {
							answers[deliver(path, body, headers(event, body))] += " " + what + "/" + event
						}
					}
				}
				if len(answers) != 1 {
					t.Errorf("%s, to paths that exist: %v: the answers differ:\n%v", sort, known, answers)
				}
			}
		}
		if _, now := s.Runs(""); now != before {
			t.Errorf("%d runs became %d", before, now)
		}
		var hidden []string
		for i := range paths {
			hidden = append(hidden, strings.TrimPrefix(paths[i], "/hooks/"), secrets[i])
		}
		silent := func(what, text string) {
			t.Helper()
			for _, h := range hidden {
				if strings.Contains(text, h) {
					t.Errorf("%s contains a path or a secret: %.400s", what, text)
				}
			}
		}
		var id struct {
			RunID string `json:"run_id"`
		}
		run.JSON(t, &id)
		s.Await(id.RunID)
		for _, c := range []harness.Client{viewer, s.Client} {
			for _, path := range []string{"/v1/triggers", "/v1/triggers/" + ids[0], "/v1/runs/" + id.RunID, "/v1/runs/" +
				id.RunID + "/logs",
				"/v1/runs/" + id.RunID + "/events", "/v1/runs/" + id.RunID + "/evidence?format=json", "/v1/audit?limit=1000",
				"/v1/audit/bundle", "/v1/doctor", "/v1/templates/" + tpl, "/metrics", "/openapi.json"} {
				silent(path, string(c.Do(http.MethodGet, path, nil).Body))
			}
		}
		renamed := s.Do(http.MethodPut, "/v1/triggers/"+ids[0], harness.Body{"name": "renamed"})
		silent("a change", fmt.Sprint(renamed.Status, string(renamed.Body)))
		silent("the log", s.Output())
		s.Cells(func(table, column string, value []byte) { silent(table+"."+column, string(value)) })
	})
}

// TestHugeDeliveries sends 100 MB to a hook, with its length and without: they are refused and not kept in memory.
// Keeps T05.
func TestHugeDeliveries(t *testing.T) {
	t.Parallel()
	const size = 100 << 20
	s := harness.Start(t, harness.Options{})
	tpl := idOf(create(t, s.Client, "/v1/templates", harness.Body{"name": "t", "tool": "bash", "command": "true"}))
	path, _ := create(t, s.Client, "/v1/triggers", harness.Body{"name": "t", "template_id": tpl})["hook_path"].(string)
	before := peak(t, s.PID)
	for _, length := range []int64{size, -1} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, &spaces{size})
		if err != nil {
			t.Fatal(err)
		}
		req.ContentLength = length
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-GitHub-Event", "push")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Errorf("length %d: %v", length, err) // an answer, not a broken connection, says why
			continue
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("length %d: %d", length, resp.StatusCode)
		}
	}
	if grown := peak(t, s.PID) - before; grown >= size {
		t.Errorf("memory grew by %d MiB", grown>>20)
	}
	if _, total := s.Runs(""); total != 0 {
		t.Errorf("%d runs were made", total)
	}
}

// spaces is a body of so many spaces.
type spaces struct{ left int }

func (s *spaces) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), s.left)
	for i := range p[:n] {
		p[i] = ' '
	}
	s.left -= n
	return n, nil
}
