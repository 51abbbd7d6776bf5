package probes

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/system"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// offered returns a catalog of tools with these names.
func offered(names ...string) execution.Tools {
	out := execution.Tools{}
	for _, n := range names {
		out[n] = extension.ToolRunnerFunc(nil)
	}
	return out
}

// bin creates a directory of programs, which are shell scripts.
func bin(t *testing.T, scripts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, script := range scripts {
		//nolint:gosec // a program
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func tools(t *testing.T, c execution.Catalog, path string) *Tools {
	t.Helper()
	out, err := NewTools(c, path)
	if err != nil {
		t.Fatal(err)
	}
	out.within = time.Minute // a loaded machine must not fail the test
	return out
}

// brief returns the compared parts of findings.
func brief(list []system.Finding) []string {
	out := make([]string, 0, len(list))
	for _, f := range list {
		out = append(out, strings.Join([]string{string(f.Severity), f.Object.Name, f.Problem, f.Fix}, " | "))
	}
	return out
}

func examine(t *testing.T, c system.Check, examined int, want ...string) {
	t.Helper()
	got, err := c.Examine(t.Context())
	if err != nil || got.Examined != examined {
		t.Errorf("%d examined, want %d: %v", got.Examined, examined, err)
	}
	if d := cmp.Diff(append([]string{}, want...), brief(got.Findings)); d != "" {
		t.Error(d)
	}
}

const (
	ansible = "echo 'ansible-playbook [core 2.16.3]'; echo '  python version = 3.11.2'"
	git     = "echo 'git version 2.39.5'"
)

func whole() map[string]string {
	return map[string]string{
		"ansible-playbook": ansible, "ansible-inventory": ansible, "ansible-galaxy": ansible, "git": git,
		"ssh": `[ "$1" = -V ] && echo OpenSSH_9.2p1 >&2`, "go": `[ "$1" = version ]`, "bash": "true", "python3": "true",
		"powershell": "true",
	}
}

func TestToolsThatAreThere(t *testing.T) {
	t.Parallel()
	all := offered("ansible", "bash", "python", "powershell", "go", "cobol")
	examine(t, tools(t, all, "relative:"+bin(t, whole())), 9)
	examine(t, tools(t, offered(), bin(t, map[string]string{"git": git})), 1)
}

func TestToolsThatAreMissing(t *testing.T) {
	t.Parallel()
	dir := bin(t, map[string]string{"python3": "true"})
	if err := os.Chmod(filepath.Join(dir, "python3"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "git"), 0o700); err != nil {
		t.Fatal(err)
	}
	missing := func(severity, name, tool, fix string) string {
		return severity + " | " + name + " | there is no " + name + " on the PATH of this server, so runs of the tool " +
			tool + " fail that need it | " + fix
	}
	examine(t, tools(t, offered("ansible", "python", "go", "powershell"), dir), 8,
		missing("error", "ansible-playbook", "ansible", "install the Debian package ansible-core"),
		missing("error", "ansible-inventory", "ansible", "install the Debian package ansible-core"),
		missing("error", "ansible-galaxy", "ansible", "install the Debian package ansible-core"),
		missing("warning", "ssh", "ansible", "install the Debian package openssh-client"),
		"error | git | there is no git on the PATH of this server, so projects cannot be fetched | install the Debian "+
			"package git",
		missing("warning", "python3", "python", "install the Debian package python3"),
		"warning | pwsh | there is no pwsh or powershell on the PATH of this server, so runs of the tool powershell fail "+
			"that need it | install the package powershell from Microsoft's repository for Debian",
		missing("warning", "go", "go", "install the Debian package golang-go"))
}

func TestToolsThatDoNotServe(t *testing.T) {
	t.Parallel()
	old := whole()
	old["ansible-playbook"] = "echo ansible-playbook 2.9.27"
	examine(t, tools(t, offered("ansible"), bin(t, old)), 5,
		"error | ansible-playbook | ansible-playbook is of version 2.9, and 2.14 is the oldest that works | "+
			"install the Debian package ansible-core of version 2.14 or newer")
	for version, want := range map[string][]string{
		"2.14.18": nil, "2.19.11": nil, "2.22.0b2": nil,
		"2.23.0.dev0": {"warning | ansible-playbook | ansible-playbook is of version 2.23, and 2.22 is the newest that " +
			"this release was tested with | bring this server to a newer release, or install an older version"},
		"3.0.1": {"warning | ansible-playbook | ansible-playbook is of version 3.0, and 2.22 is the newest that this " +
			"release was tested with | bring this server to a newer release, or install an older version"},
	} {
		other := whole()
		other["ansible-playbook"] = "echo 'ansible-playbook [core " + version + "]'"
		examine(t, tools(t, offered("ansible"), bin(t, other)), 5, want...)
	}
	mute := whole()
	mute["ansible-playbook"], mute["ssh"] = "true", "exit 3"
	mute["ansible-galaxy"] = "echo 'Traceback'; echo 'ERROR:  Ansible requires Python 3.13 or newer' >&2; exit 1"
	dir := bin(t, mute)
	examine(t, tools(t, offered("ansible"), dir), 5,
		"warning | ansible-playbook | ansible-playbook tells no version that is understood, and 2.14 is the oldest that "+
			"works | "+
			"install the Debian package ansible-core",
		"error | ansible-galaxy | "+filepath.Join(dir, "ansible-galaxy")+" is there and does not start: ERROR: Ansible "+
			"requires Python 3.13 or newer | install the Debian package ansible-core anew",
		"warning | ssh | "+filepath.Join(dir, "ssh")+
			" is there and does not start | install the Debian package openssh-client anew")
}

// TestToolsGetNothing checks that a program gets only PATH, one argument and empty input.
func TestToolsGetNothing(t *testing.T) {
	t.Setenv("WRIT_SIGNING_KEY", "hidden")
	dir := bin(t,
		map[string]string{"git": `echo "$#:$1:$WRIT_SIGNING_KEY:$HOME:$PATH:$PWD"; read -r x; echo "$?"; head -c 100000 /dev/zero >&2`})
	path := dir + ":/usr/bin:/bin"
	text, err := ask(t.Context(), time.Minute, filepath.Join(dir, "git"), "--version", path)
	if err != nil || len(text) != maxAnswer || !strings.HasPrefix(text, "1:--version:::"+path+":/\n1\n") {
		t.Errorf("%d bytes %.200q: %v", len(text), text, err)
	}
}

// TestToolThatHangs ends a hanging program and its children.
func TestToolThatHangs(t *testing.T) {
	t.Parallel()
	pids := filepath.Join(t.TempDir(), "pids")
	dir := bin(t, map[string]string{"git": "sleep 600 & echo $! >> " + pids + "; echo $$ >> " + pids + "; wait"})
	c := tools(t, offered(), dir+":/usr/bin:/bin")
	c.within = time.Second
	examine(t, c, 1, "warning | git | git did not tell its version within 1s | start it by hand to see what it waits for")
	gone(t, pids)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Examine(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestToolThatLeavesSomething ends the remaining children of a program.
func TestToolThatLeavesSomething(t *testing.T) {
	t.Parallel()
	pids := filepath.Join(t.TempDir(), "pids")
	dir := bin(t, map[string]string{"git": "sleep 600 & echo $! > " + pids + "; " + git})
	examine(t, tools(t, offered(), dir+":/usr/bin:/bin"), 1)
	gone(t, pids)
}

// gone waits until every process in a file of pids has ended.
func gone(t *testing.T, file string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range strings.Fields(string(raw)) {
		if _, err := strconv.Atoi(pid); err != nil {
			t.Fatal(err)
		}
		for alive := true; alive; {
			stat, err := os.ReadFile("/proc/" + pid + "/stat")
			_, rest, _ := strings.Cut(string(stat), ") ")
			alive = err == nil && !strings.HasPrefix(rest, "Z") && t.Context().Err() == nil
		}
	}
}

// TestToolsOfThisMachine checks the programs that other tests need anyway.
func TestToolsOfThisMachine(t *testing.T) {
	t.Parallel()
	got, err := tools(t, offered("ansible", "bash"), os.Getenv("PATH")).Examine(t.Context())
	if err != nil || got.Examined != 6 || slices.ContainsFunc(got.Findings, func(f system.Finding) bool {
		return f.Severity == system.Error
	}) {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := NewTools(nil, ""); err == nil {
		t.Error("no catalog is accepted")
	}
}
