package isolation

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// sourced is a server with another run, whose secret a source may not read, and an empty inventory.
type sourced struct {
	*harness.Server
	t         *testing.T
	inventory string
	victim    string // what the other run knows
}

func newSourced(t *testing.T, s *harness.Server) *sourced {
	t.Helper()
	return &sourced{Server: s, t: t, inventory: made(t, s, "/v1/inventories",
		harness.Body{"name": "all", "format": "ini", "content": "localhost\n"})}
}

func made(t *testing.T, s *harness.Server, path string, body harness.Body) string {
	t.Helper()
	var out struct{ ID string }
	a := s.Do(http.MethodPost, path, body)
	if a.Status != http.StatusCreated {
		t.Fatalf("%s: %d %s", path, a.Status, a.Body)
	}
	a.JSON(t, &out)
	return out.ID
}

// script makes a source of a program and refreshes it.
func (w *sourced) script(name, text string) harness.Answer {
	w.t.Helper()
	id := made(w.t, w.Server, "/v1/inventory-sources", harness.Body{"name": name, "kind": "script",
		"config": harness.Body{"content": text}, "inventory_id": w.inventory})
	return w.Do(http.MethodPost, "/v1/inventory-sources/"+id+"/refresh", nil)
}

// hides starts a run with a secret.
func (w *sourced) hides() {
	w.t.Helper()
	w.victim = "canary" + strconv.Itoa(w.PID)
	r := w.Submit(harness.Body{"tool": "bash", "command": "echo up; sleep 600", "env": harness.Body{"OTHER": w.victim}})
	harness.Eventually(w.t, time.Minute, "the other run runs", func() bool { return strings.Contains(w.Log(r.ID), "up") })
}

// attack has a source try everything. It returns what worked, and the mark of the processes that it left.
func (w *sourced) attack(name string) (open []string, mark string) {
	w.t.Helper()
	tries := attacks(w.Server, w.victim)
	tries["list the directories of runs"] = "ls -d /dev/shm/writ-*/run_* " + w.Dir + "/*/runs/run_* | grep -q run_ && " +
		"echo open"
	names := slices.Sorted(maps.Keys(tries))
	mark = "left-by-" + name + "-" + strconv.Itoa(w.PID)
	text := "#!/bin/bash\nexec 2>/dev/null\n" +
		"setsid env -i /bin/sh -c 'trap \"\" TERM; (sleep 1000; :) & sleep 1000; :' " + mark + " >/dev/null &\n" +
		"printf '{\"g\": [\"h\"], \"_meta\": {\"hostvars\": {\"h\": {'\n"
	for i, n := range names {
		text += fmt.Sprintf("printf '\"try%d\": \"%%s\", ' \"$(%s)\"\n", i, tries[n])
	}
	text += "printf '\"uid\": \"%s\"}}}}' $(id -u)\n"
	if a := w.script(name, text); a.Status != http.StatusOK {
		w.t.Fatalf("%d %s", a.Status, a.Body)
	}
	var list struct {
		Hosts []struct{ Vars map[string]any }
	}
	w.Do(http.MethodGet, "/v1/inventories/"+w.inventory+"/hosts", nil).JSON(w.t, &list)
	if len(list.Hosts) != 1 || len(list.Hosts[0].Vars) != len(names)+1 {
		w.t.Fatalf("%+v", list)
	}
	for i, n := range names {
		if v, _ := json.Marshal(list.Hosts[0].Vars["try"+strconv.Itoa(i)]); strings.Contains(string(v), "open") {
			open = append(open, n)
		}
	}
	if w.inside() && strings.Contains(fmt.Sprint(list.Hosts[0].Vars["uid"]), `"0"`) {
		w.t.Error("the source ran as root")
	}
	return open, mark
}

func (w *sourced) inside() bool { return !slices.Contains(w.Flags, "none") }

// left returns the processes with a mark in their command line.
func left(t *testing.T, mark string) (pids []int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		if b, err := os.ReadFile(path); err == nil && strings.Contains(string(b), mark) {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// closed requires that nothing works in a box. Without one everything does.
func (w *sourced) closed(name string) {
	w.t.Helper()
	open, mark := w.attack(name)
	pids := left(w.t, mark)
	if w.inside() {
		if len(open) > 0 || len(pids) > 0 {
			w.t.Errorf("these attacks work: %q, and the processes %v are left", open, pids)
		}
		return
	}
	want := slices.Sorted(maps.Keys(attacks(w.Server, "")))
	if len(w.Wrap) > 0 { // a process of the same user does not show what is in it, since it cannot be dumped
		want = slices.DeleteFunc(want, func(name string) bool { return slices.Contains(dumps(), name) })
	}
	if !slices.Equal(open, want) || len(pids) == 0 {
		w.t.Errorf("without isolation only these attacks work: %q, and %v are left", open, pids)
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// TestSourcesAttack has the script of a source attack the server and a run, inside and without isolation.
// Keeps T43, T44, T45.
func TestSourcesAttack(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{{"--isolation", "auto"}, {"--isolation", "none", "--allow-source-programs"}} {
		t.Run(flags[1], func(t *testing.T) {
			t.Parallel()
			harness.EachUser(t, func(t *testing.T, o harness.Options, _ bool) {
				o.Flags = flags
				w := newSourced(t, harness.Start(t, o))
				w.hides()
				w.closed("source")
			})
		})
	}
}

// TestSourcesInAContainer attacks from an account of its own, where a root server may mount nothing.
// Keeps T43, T44, T45.
func TestSourcesInAContainer(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		return
	}
	w := newSourced(t, harness.Start(t, harness.Options{Dir: harness.DirOf(t, "root"),
		Wrap: []string{"setpriv", "--bounding-set", "-sys_admin"}}))
	var list struct {
		Workers []struct{ Isolation struct{ Level string } }
	}
	if w.Do(http.MethodGet, "/v1/workers", nil).JSON(t, &list); list.Workers[0].Isolation.Level != "users" {
		t.Errorf("%+v", list)
	}
	w.hides()
	w.closed("container")
}

// TestSourcesOfExecutors has a server without executors, whose sources a worker over its database executes, on both
// engines.
// Keeps T43, T44, T45.
func TestSourcesOfExecutors(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		harness.EachUser(t, func(t *testing.T, o harness.Options, first bool) {
			if dbURL != "" && !first {
				return // one database is not for two servers at once
			}
			o.DB, o.Flags = dbURL, []string{"--executors", "0", "--source-queue", "sources"}
			w := newSourced(t, harness.Start(t, o))
			dir := ""
			if len(o.Wrap) > 0 {
				dir = harness.DirOf(t, "nobody")
			}
			harness.StartWorker(t, harness.WorkerOptions{DB: w.DB, Dir: dir, Wrap: o.Wrap, Flags: []string{"--queue", "sources",
				"--queue", "default", "--encryption-key-file", filepath.Join(w.Dir, "data", "encryption.key")}})
			w.hides()
			w.closed("worker")
		})
	})
}

// TestNothingIsExecutedHere asks a server without executors to refresh. The answer takes a minute, in which other tests
// run.
// Keeps T43.
func TestNothingIsExecutedHere(t *testing.T) {
	note := harness.SharedFile(t)
	w := newSourced(t, harness.Start(t, harness.Options{Flags: []string{"--executors", "0"}}))
	const sentence = `no executor of the queue \"default\" took the refresh within 60 seconds`
	answer := make(chan harness.Answer, 1)
	go func() {
		defer close(answer)
		answer <- w.script("nobody", "#!/bin/sh\necho executed >>"+note+"\necho '{}'\n")
	}()
	t.Parallel()
	a := <-answer
	if a.Status != http.StatusServiceUnavailable || !strings.Contains(string(a.Body), "no_executor") ||
		!strings.Contains(string(a.Body), sentence) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if list := w.Do(http.MethodGet, "/v1/inventory-sources", nil); !strings.Contains(string(list.Body), sentence) {
		t.Errorf("%s", list.Body)
	}
	if b, err := os.ReadFile(note); err != nil || len(b) > 0 {
		t.Errorf("%q %v", b, err)
	}
}

// TestProgramsNeedIsolation refuses programs of sources where nothing is kept apart.
// Keeps T43.
func TestProgramsNeedIsolation(t *testing.T) {
	t.Parallel()
	note := harness.SharedFile(t)
	w := newSourced(t, harness.Start(t, harness.Options{Flags: []string{"--isolation", "none"}}))
	a := w.script("refused", "#!/bin/sh\necho executed >>"+note+"\necho '{}'\n")
	if a.Status != http.StatusConflict || !strings.Contains(string(a.Body), "--allow-source-programs") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if b, err := os.ReadFile(note); err != nil || len(b) > 0 {
		t.Errorf("%q %v", b, err)
	}
}
