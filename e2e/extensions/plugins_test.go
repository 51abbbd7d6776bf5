package extensions

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/extension"
)

const plugged = "github.com/writ-automation/writ/e2e/extensions/plugged"

// outside is what a plugin talks to, in the process of the test.
type outside struct {
	mu      sync.Mutex
	journal []extension.EndedRun
	minted  map[string]bool
	made    int
}

func (o *outside) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var err error
	switch r.Method + r.URL.Path {
	case "POST/journal":
		var run extension.EndedRun
		err = json.NewDecoder(r.Body).Decode(&run)
		o.journal = append(o.journal, run)
	case "GET/static":
		_, err = fmt.Fprintf(w, `{"PASS": "s3cret-of-the-%s"}`, r.URL.Query().Get("name"))
	case "POST/dynamic":
		o.made++
		o.minted[strconv.Itoa(o.made)] = true
		_, err = fmt.Fprint(w, o.made)
	case "DELETE/dynamic":
		delete(o.minted, r.URL.Query().Get("handle"))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
	}
}

func (o *outside) count() (heard, valid int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.journal), len(o.minted)
}

// plugins makes a directory with the plugin of these tests, which talks to the test.
func plugins(t *testing.T) (dir, name string, o *outside) {
	t.Helper()
	o = &outside{minted: map[string]bool{}}
	at := httptest.NewServer(o)
	t.Cleanup(at.Close)
	u, err := url.Parse(at.URL)
	if err != nil {
		t.Fatal(err)
	}
	dir, name = t.TempDir(), "plugged-"+u.Port()
	install(t, dir, name)
	return dir, name, o
}

// install copies the plugin of these tests.
func install(t *testing.T, dir, name string) {
	t.Helper()
	program, err := os.ReadFile(harness.BinaryOf(t, plugged))
	if err == nil {
		//nolint:gosec // accounts of runs execute it
		err = os.WriteFile(filepath.Join(dir, name), program, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

type loaded struct {
	Name     string   `json:"name"`
	Kinds    []string `json:"kinds"`
	State    string   `json:"state"`
	Restarts int      `json:"restarts"`
	Error    string   `json:"error"`
}

func extensionsOf(t *testing.T, s *harness.Server) map[string]loaded {
	t.Helper()
	var list struct {
		Extensions []loaded `json:"extensions"`
	}
	s.Do(http.MethodGet, "/v1/extensions", nil).JSON(t, &list)
	out := map[string]loaded{}
	for _, e := range list.Extensions {
		out[e.Name] = e
	}
	return out
}

// processes lists the processes of an executable.
func processes(t *testing.T, path string) (out []int) {
	t.Helper()
	list, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range list {
		if line, err := os.ReadFile(file); err == nil && strings.HasPrefix(string(line), path+"\x00") {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, pid)
		}
	}
	return out
}

// TestPlugin checks everything that a plugin provides through the real binary: tools in the box of their run, secrets
// of engines, and a notifier, also after the process of the plugin was killed.
// Keeps F07.
func TestPlugin(t *testing.T) {
	t.Parallel()
	dir, name, o := plugins(t)
	//nolint:gosec // a program
	if err := os.WriteFile(filepath.Join(dir, "broken"), []byte("#!/bin/sh\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := harness.Start(t, harness.Options{Flags: []string{"--plugins-dir", dir, "--plugin-env", name + "=C4NARY"},
		Env: []string{"C4NARY=server"}})
	w := &fixture{Server: s}
	id := w.credential(t, "from a plugin", harness.Body{"source": harness.Body{"engine": "static",
		"config": harness.Body{"name": "app"}}})
	speak := harness.Body{"tool": "speak", "command": "hello, you", "extra_vars": harness.Body{"note": 9007199254740993},
		"credential_ids": []string{id}}
	spoken := func(dry string) {
		t.Helper()
		r := s.Await(s.Submit(speak).ID)
		log := s.Log(r.ID)
		if r.Status != "succeeded" || !strings.Contains(log, "secret *** of 17 bytes\ncommand hello, you\n"+
			"variable 9007199254740993\ndry "+dry+"\n") || strings.Contains(log, "C4NARY") ||
			strings.Contains(log, "WRIT_PLUGIN") {
			t.Errorf("%s: %s\n%s", r.Status, r.Error, log)
		}
	}
	spoken(`false, its variable false ""`)
	if r := s.Await(s.Submit(harness.Body{"tool": "speak", "command": "odd"}).ID); r.Status != "failed" ||
		r.ExitCode == nil || *r.ExitCode != 1 {
		t.Errorf("%+v", r)
	}
	eventually(t, "the notifier hears of runs", func() bool { heard, _ := o.count(); return heard == 2 })

	supervised := processes(t, filepath.Join(dir, name))
	if len(supervised) == 0 {
		t.Fatal("there is no process of the plugin")
	}
	for _, pid := range supervised {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	eventually(t, "the plugin runs again", func() bool {
		e := extensionsOf(t, s)[name]
		return e.State == "running" && e.Restarts > 0
	})
	speak["dry_run"] = true
	spoken(`true, its variable true "1"`)
	eventually(t, "the notifier hears again", func() bool { heard, _ := o.count(); return heard == 3 })
	all := extensionsOf(t, s)
	if e := all[name]; e.Error != "" || !slices.Equal(e.Kinds,
		[]string{"tool", "notifier", "secret_engine", "ai_provider"}) {
		t.Errorf("%+v", e)
	}
	if e := all["broken"]; e.State != "failed" || e.Error == "" || len(all) != 2 {
		t.Errorf("%+v", all)
	}
	doctor := string(s.Do(http.MethodGet, "/v1/doctor", nil).Body)
	for _, want := range []string{"the plugin was skipped", "the plugin was started again"} {
		if !strings.Contains(doctor, want) {
			t.Errorf("the doctor does not say %q: %s", want, doctor)
		}
	}
	s.Stop()
	if left := processes(t, filepath.Join(dir, name)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestPluginTools checks that a tool of a plugin is canceled and timed out, that nothing outlives it, that one which
// dies fails its run with a cause, and that minted secrets end with their runs.
// Keeps T09, F07.
func TestPluginTools(t *testing.T) {
	t.Parallel()
	dir, name, o := plugins(t)
	s := harness.Start(t, harness.Options{Flags: []string{"--plugins-dir", dir}})
	w := &fixture{Server: s}
	var made struct {
		ID string `json:"id"`
	}
	s.Do(http.MethodPost, "/v1/credentials", harness.Body{
		"name": "token", "kind": "token", "settings": harness.Body{"env_name": "COIN"},
		"source": harness.Body{"engine": "dynamic", "config": harness.Body{"account": "app"}},
	}).JSON(t, &made)
	r := s.Submit(harness.Body{"tool": "stay", "command": "here", "credential_ids": []string{made.ID}})
	eventually(t, "the output is live", func() bool { return strings.Contains(w.Log(r.ID), "stays") })
	if _, valid := o.count(); valid != 1 {
		t.Errorf("%d secrets are valid", valid)
	}
	s.Do(http.MethodPost, "/v1/runs/"+r.ID+"/cancel", nil)
	if r = s.Await(r.ID); r.Status != "canceled" || !strings.Contains(s.Log(r.ID), "canceled") {
		t.Errorf("%+v\n%s", r, s.Log(r.ID))
	}
	eventually(t, "the secret is revoked", func() bool { _, valid := o.count(); return valid == 0 })
	if r = s.Await(s.Submit(harness.Body{"tool": "stay", "command": "here", "timeout": 1}).ID); r.Status != "failed" ||
		!strings.Contains(r.Error, "time") {
		t.Errorf("%+v", r)
	}
	if r = s.Await(s.Submit(harness.Body{"tool": "stay", "command": "die"}).ID); r.Status != "failed" ||
		!strings.Contains(r.Error, "the plugin "+name+": its process ended before the tool did, with exit code 9") {
		t.Errorf("%+v", r)
	}
	if left := len(processes(t, filepath.Join(dir, name))); left > 2 { // one, and its boundary
		t.Errorf("%d processes of the plugin are left", left)
	}
}

// TestPluginOnWorkers checks that workers of both kinds execute the tools of their own plugins, with secrets of the
// server's plugin or of their own, and report their plans.
func TestPluginOnWorkers(t *testing.T) {
	t.Parallel()
	dir, _, o := plugins(t)
	s := harness.Start(t, harness.Options{Flags: []string{"--plugins-dir", dir, "--executors", "0", "--worker-token",
		harness.WorkerToken}})
	w := &fixture{Server: s}
	id := w.credential(t, "from a plugin", harness.Body{"source": harness.Body{"engine": "static",
		"config": harness.Body{"name": "app"}}})
	for name, over := range map[string]harness.WorkerOptions{
		"relay": {Server: s.URL}, "database": {DB: s.DB, Flags: []string{"--encryption-key-file",
			filepath.Join(s.Dir, "data", "encryption.key")}},
	} {
		over.Flags = append(over.Flags, "--plugins-dir", dir)
		worker := harness.StartWorker(t, over)
		r := s.Await(s.Submit(harness.Body{"tool": "speak", "command": "even", "credential_ids": []string{id}}).ID)
		if log := s.Log(r.ID); r.Status != "succeeded" || !strings.Contains(log, "secret *** of 17 bytes") {
			t.Errorf("%s: %s %s\n%s", name, r.Status, r.Error, log)
		}
		// A plan comes back from the worker, without the secret in it, and the apply is bound to it.
		dry := s.Await(s.Submit(harness.Body{"tool": "shape", "command": name, "dry_run": true,
			"credential_ids": []string{id}}).ID)
		var p planned
		eventually(t, name+": the plan is there", func() bool {
			a := s.Do(http.MethodGet, "/v1/runs/"+dry.ID+"/plan", nil)
			return a.Status == http.StatusOK && json.Unmarshal(a.Body, &p) == nil && p.RunID != ""
		})
		if p.Count != 1 || len(p.Findings) != 1 || p.Findings[0].Resource != "shape."+name || p.Findings[0].Diff != "+ ***" {
			t.Errorf("%s: %+v", name, p)
		}
		if r := w.approve(t, p); r.Status != "succeeded" || !strings.Contains(s.Log(r.ID), "applied "+p.Digest) {
			t.Errorf("%s: %s %s\n%s", name, r.Status, r.Error, s.Log(r.ID))
		}
		worker.Stop()
	}
	eventually(t, "the notifier hears of each run", func() bool { heard, _ := o.count(); return heard == 6 })
}

// TestPluginsStopTheStart checks that a name which exists twice and a directory that others may write stop the start
// with a sentence.
// Keeps T09.
func TestPluginsStopTheStart(t *testing.T) {
	t.Parallel()
	twice, _, _ := plugins(t)
	install(t, twice, "another-1")
	open := t.TempDir()
	if err := os.Chmod(open, 0o777); err != nil { //nolint:gosec // that is what is refused
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		twice: `provides the tool "shape", which the plugin another-1 provides too`, open: "chmod go-w " + open,
		filepath.Join(open, "none"): "no such file or directory",
	} {
		s, err := harness.Launch(t, harness.Options{Flags: []string{"--plugins-dir", dir}})
		if err == nil || !strings.Contains(s.Output(), want) {
			t.Errorf("%s: %v\n%s", dir, err, s.Output())
		}
		if code := s.Wait(time.Minute); code == 0 {
			t.Errorf("%s: exit code %d", dir, code)
		}
	}
}
