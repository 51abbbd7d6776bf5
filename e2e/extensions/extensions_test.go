// Package extensions tests a binary with compiled-in extensions against the guarantees for built-in ones.
package extensions

import (
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/extension"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// These tests wait for pauses between tries, and may do so together.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	os.Exit(harness.Main(m))
}

const custom = "github.com/writ-automation/writ/e2e/extensions/custom"

// fixture is a server with extensions and their files.
type fixture struct {
	*harness.Server
	diary, box, mint, brittle string
}

func start(t *testing.T, db string) *fixture {
	t.Helper()
	dir := t.TempDir()
	w := &fixture{diary: filepath.Join(dir, "diary"), box: filepath.Join(dir, "box"), mint: filepath.Join(dir, "mint"),
		brittle: filepath.Join(dir, "brittle")}
	for _, d := range []string{w.box, w.mint, w.brittle} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.Server = harness.Start(t, harness.Options{DB: db, Main: custom, Env: []string{
		"DIARY=" + w.diary, "BOX=" + w.box, "MINT=" + w.mint, "BRITTLE=" + w.brittle,
	}})
	return w
}

// eventually waits until ok returns true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for begun := time.Now(); !ok(); {
		waited := time.Since(begun)
		if waited > time.Minute {
			t.Fatalf("%s: not within a minute", what)
		}
		// The pauses grow, so that a long wait needs little processor time.
		<-time.After(min(max(waited/10, 10*time.Millisecond), 250*time.Millisecond))
	}
}

func (w *fixture) noted(t *testing.T) (out []extension.EndedRun) {
	t.Helper()
	text, err := os.ReadFile(w.diary)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var run extension.EndedRun
		if !strings.HasSuffix(line, "\n") {
			break
		}
		if err := json.Unmarshal([]byte(line), &run); err != nil {
			t.Fatal(err)
		}
		out = append(out, run)
	}
	return out
}

type delivery struct {
	Event    string `json:"event"`
	Origin   string `json:"origin"`
	Kind     string `json:"kind"`
	Status   string `json:"status"`
	Reason   string `json:"reason"`
	Attempts int    `json:"attempts"`
}

func (w *fixture) deliveries(t *testing.T, id string) (out []delivery) {
	t.Helper()
	var list struct {
		Notifications []delivery `json:"notifications"`
	}
	w.Do(http.MethodGet, "/v1/runs/"+id+"/notifications", nil).JSON(t, &list)
	return list.Notifications
}

// TestNotifiers checks that a notifier receives every ended top-level run once and nothing else, that a failing one
// is tried three times, and that neither affects the run.
func TestNotifiers(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, db string) {
		w := start(t, db)
		want := map[string]string{}
		good := w.Await(w.Submit(harness.Body{"tool": "greet", "command": "world",
			"extra_vars": harness.Body{"note": "C4NARY"}}).ID)
		want[good.ID] = "succeeded"
		want[w.Await(w.Submit(harness.Body{"tool": "bash", "command": "exit 3"}).ID).ID] = "failed"
		slow := w.Submit(harness.Body{"tool": "bash", "command": "sleep 60"})
		w.Until(slow.ID, time.Minute, func(r harness.Run) bool { return r.Status == "running" })
		w.Do(http.MethodPost, "/v1/runs/"+slow.ID+"/cancel", nil)
		want[w.Await(slow.ID).ID] = "canceled"
		held := w.Submit(harness.Body{"tool": "bash", "command": "true", "require_approval": true})
		w.Do(http.MethodPost, "/v1/runs/"+held.ID+"/reject", harness.Body{"reason": "no"})
		want[held.ID] = "rejected"
		var line struct {
			ID string `json:"id"`
		}
		w.Do(http.MethodPost, "/v1/pipelines", harness.Body{"steps": []harness.Body{
			{"name": "one", "tool": "bash", "command": "true"}, {"name": "two", "tool": "bash", "command": "true"},
		}}).JSON(t, &line)
		want[w.Await(line.ID).ID] = "succeeded"

		eventually(t, "everybody is told", func() bool { return len(w.noted(t)) >= len(want) })
		got, deliveries := map[string]string{}, map[string]bool{}
		for _, run := range w.noted(t) {
			if _, twice := got[run.ID]; twice || run.Delivery == "" || deliveries[run.Delivery] {
				t.Errorf("told twice: %+v", run)
			}
			got[run.ID], deliveries[run.Delivery] = run.Status, true
			if strings.Contains(string(run.Record), "C4NARY") || !strings.Contains(string(run.Record), run.ID) {
				t.Errorf("the record: %s", run.Record)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		eventually(t, "nobody is given up", func() bool {
			return slices.ContainsFunc(w.deliveries(t, good.ID), func(d delivery) bool {
				return d.Kind == "nobody" && d.Status == "failed" && d.Attempts == 3
			})
		})
		for _, d := range w.deliveries(t, good.ID) {
			if d.Origin != "extension" || d.Event != "run.finished" || (d.Kind == "diary") != (d.Status == "delivered") {
				t.Errorf("%+v", d)
			}
		}
		if list := w.letters(t); len(list) != 0 {
			t.Errorf("a notification that was given up has a dead letter: %+v", list)
		}
		metrics := string(w.Do(http.MethodGet, "/metrics", nil).Body)
		if !strings.Contains(metrics, `writ_notifications_total{kind="extension",result="delivered"}`) {
			t.Error("the metric does not count extensions")
		}
	})
}

func (w *fixture) credential(t *testing.T, name string, body harness.Body) string {
	t.Helper()
	var made struct {
		ID string `json:"id"`
	}
	body["name"], body["kind"] = name, "env"
	w.Do(http.MethodPost, "/v1/credentials", body).JSON(t, &made)
	return made.ID
}

// TestResolvers checks that the secret of an engine reaches the run and is masked, that its error is reported, and
// that its config is secret.
func TestResolvers(t *testing.T) {
	t.Parallel()
	w := start(t, "")
	if err := os.WriteFile(filepath.Join(w.box, "payroll"), []byte(`{"PASS": "s3cret-of-the-box"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	id := w.credential(t, "boxed", harness.Body{"source": harness.Body{"engine": "box",
		"config": harness.Body{"name": "payroll"}}})
	// No id has the letters of this name by chance.
	body := string(w.Do(http.MethodGet, "/v1/credentials/"+id, nil).Body)
	if strings.Contains(body, "payroll") || !strings.Contains(body, `"engine":"box"`) {
		t.Errorf("shown as %s", body)
	}
	for _, tool := range []string{"bash", "greet"} {
		r := w.Await(w.Submit(harness.Body{"tool": tool, "command": `echo "${#PASS} $PASS"`, "credential_ids": []string{id}}).
			ID)
		if log := w.Log(r.ID); r.Status != "succeeded" || !strings.Contains(log, "17") || !strings.Contains(log, "***") ||
			strings.Contains(log, "s3cret") {
			t.Errorf("%s %s: %s", tool, r.Status, log)
		}
	}
	gone := w.credential(t, "empty", harness.Body{"source": harness.Body{"engine": "box",
		"config": harness.Body{"name": "none"}}})
	r := w.Await(w.Submit(harness.Body{"tool": "bash", "command": "true", "credential_ids": []string{gone}}).ID)
	if r.Status != "failed" || !strings.Contains(r.Error, gone) || strings.Contains(r.Error, "none") || r.ExitCode != nil {
		t.Errorf("%+v", r)
	}
}

func (w *fixture) coins(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir(w.mint)
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestMinters checks that a minted secret is valid as long as its run executes, also if the server dies meanwhile.
func TestMinters(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, db string) {
		w := start(t, db)
		id := w.credential(t, "minted", harness.Body{"source": harness.Body{"engine": "mint",
			"config": harness.Body{"account": "app"}}})
		// The value is not an object of variables: the run fails, and the minted secret is revoked.
		r := w.Await(w.Submit(harness.Body{"tool": "bash", "command": "true", "credential_ids": []string{id}}).ID)
		if r.Status != "failed" || w.coins(t) != 0 {
			t.Errorf("%s, %d coins", r.Status, w.coins(t))
		}
		var made struct {
			ID string `json:"id"`
		}
		w.Do(http.MethodPost, "/v1/credentials", harness.Body{
			"name": "token", "kind": "token", "settings": harness.Body{"env_name": "COIN"},
			"source": harness.Body{"engine": "mint", "config": harness.Body{"account": "app"}},
		}).JSON(t, &made)
		ask := harness.Body{"tool": "bash", "command": `echo "got ${#COIN}"; sleep 3600`, "credential_ids": []string{made.ID}}
		running := w.Submit(ask)
		eventually(t, "minted", func() bool { return w.coins(t) == 1 })
		w.Until(running.ID, time.Minute, func(r harness.Run) bool { return r.Status == "running" })
		w.Do(http.MethodPost, "/v1/runs/"+running.ID+"/cancel", nil)
		w.Await(running.ID)
		eventually(t, "revoked at the end", func() bool { return w.coins(t) == 0 })

		running = w.Submit(ask)
		eventually(t, "minted again", func() bool { return w.coins(t) == 1 })
		// A run that was claimed but has not begun is released and executed.
		eventually(t, "the process runs", func() bool { return strings.Contains(w.Log(running.ID), "got ") })
		w.Kill()
		if w.coins(t) != 1 {
			t.Error("revoked by nobody")
		}
		w.Server = w.Again()
		if r := w.Await(running.ID); r.Status != "interrupted" {
			t.Errorf("the run %s", r.Status)
		}
		eventually(t, "revoked after the crash", func() bool { return w.coins(t) == 0 })
	})
}
