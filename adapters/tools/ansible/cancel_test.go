package ansible_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/tools/proc"
	"github.com/writ-automation/writ/ports/runs"
)

func TestCancel(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"site.yml": `- hosts: h1
  gather_facts: false
  tasks:
    - {name: first, debug: {msg: x}}
    - {name: long, command: sleep 300}
`})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	res, err := p.tool.Play(ctx, p.spec, p.play, &p.out, func(e runs.Event) error {
		if e.Type == runs.EventTaskStarted && e.Task == "long" {
			cancel()
		}
		return p.sink(e)
	})
	if err != nil || res.ExitCode == 0 || res.Complete || res.Touched != 1 || res.Error != "" {
		t.Errorf("%+v, %v", res, err)
	}
	if got := codes(res.Warnings); got != runs.WarnRemoteMayContinue {
		t.Errorf("warnings %q", got)
	}
	if len(p.of(runs.EventStats)) > 0 {
		t.Error("a recap after the cancel")
	}
	noProcess(t)
}

// noProcess requires that no process has the mark of the test's run.
func noProcess(t *testing.T) {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil || len(found) == 0 {
		t.Fatal(err)
	}
	for _, path := range found {
		b, _ := os.ReadFile(path) // of a process that ended
		if strings.Contains("\x00"+string(b), "\x00"+proc.RunIDVar+"="+runID(t)+"\x00") {
			argv, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			t.Errorf("%s is left: %q", filepath.Base(filepath.Dir(path)), argv)
		}
	}
}

// TestWorkersInSessionsOfTheirOwnEnd runs modules that start sessions, as Ansible's workers do from 2.19 on.
func TestWorkersInSessionsOfTheirOwnEnd(t *testing.T) {
	t.Parallel()
	for _, cancelled := range []bool{false, true} {
		pids := t.TempDir()
		p := newProject(t, map[string]string{"site.yml": `- hosts: web
  gather_facts: false
  tasks:
    - shell: setsid sleep 300 >/dev/null 2>&1 & echo $! >` + pids + `/{{ inventory_hostname }}
    - {name: last, command: "sleep {{ seconds }}"}
`})
		p.spec.ExtraVars = map[string]any{"seconds": 0}
		if cancelled {
			p.spec.ExtraVars["seconds"] = 300
		}
		ctx, cancel := context.WithCancel(t.Context())
		_, err := p.tool.Play(ctx, p.spec, p.play, &p.out, func(e runs.Event) error {
			if cancelled && e.Type == runs.EventTaskStarted && e.Task == "last" {
				cancel()
			}
			return p.sink(e)
		})
		cancel()
		if err != nil {
			t.Fatalf("%v\n%s", err, &p.out)
		}
		noProcess(t)
		files, err := filepath.Glob(pids + "/*")
		if err != nil || len(files) != 2 {
			t.Fatalf("%v %v\n%s", files, err, &p.out)
		}
		for _, file := range files {
			pid, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			// That of a process which ended and is not awaited yet is empty.
			argv, _ := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(pid)), "cmdline"))
			if strings.HasPrefix(string(argv), "sleep") {
				t.Errorf("cancelled %t: process %s is left", cancelled, pid)
			}
		}
	}
}

func TestASinkThatFailsEndsThePlay(t *testing.T) {
	t.Parallel()
	p := newProject(t,
		map[string]string{"site.yml": "- hosts: h1\n  gather_facts: false\n  tasks: [{command: sleep 300}]\n"})
	lost := runs.LeaseLost.New("another executor holds the run")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := p.tool.Play(ctx, p.spec, p.play, &p.out, func(runs.Event) error { return lost })
	if !errors.Is(err, lost) || !runs.LeaseLost.Is(err) {
		t.Errorf("got %v", err)
	}
}
