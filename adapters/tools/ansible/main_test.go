package ansible_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/adapters/tools/ansible"
	"github.com/writ-automation/writ/adapters/tools/proc"
	"github.com/writ-automation/writ/platform/ansibletest"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/runs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type fixedClock struct{}

func (fixedClock) Now() time.Time { return time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC) }

func newTool(t testing.TB, c ansible.Config) *ansible.Tool {
	t.Helper()
	r, err := proc.New(proc.Config{KillGrace: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	if c.Playbook == "" && ansibletest.Unpacked() {
		c.Playbook = ansibletest.Program("ansible-playbook")
	}
	if c.StateDir == "" {
		c.StateDir = t.TempDir()
	}
	tool, err := ansible.New(r, fixedClock{}, c)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// project is a checkout with two local hosts, and what one play of it gave.
type project struct {
	t    testing.TB
	tool *ansible.Tool
	dir  string
	spec extension.ToolSpec
	play execution.Play

	mu     sync.Mutex
	events []runs.Event
	out    bytes.Buffer
}

const inventory = `[web]
h1
h2
[db]
h3
[all:vars]
ansible_connection=local
ansible_python_interpreter=/usr/bin/python3
`

// runID returns the id of a test's run. Another process may execute the same test at the same time.
func runID(t testing.TB) string { return t.Name() + "-" + strconv.Itoa(os.Getpid()) }

// shortDir returns a directory like that of a run. Newer versions of Ansible have a socket in it, whose path must be
// short.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func newProject(t testing.TB, files map[string]string) *project {
	t.Helper()
	p := &project{t: t, tool: newTool(t, ansible.Config{}), dir: t.TempDir()}
	p.write("inventory", inventory)
	for name, text := range files {
		p.write(name, text)
	}
	p.spec = extension.ToolSpec{Dir: shortDir(t), Env: map[string]string{
		"PATH": "/usr/bin:/bin", proc.RunIDVar: runID(t), "ANSIBLE_NOCOLOR": "1",
	}}
	p.play = execution.Play{WorkDir: p.dir, Confined: true, Playbook: "site.yml", Inventory: "inventory"}
	return p
}

func (p *project) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) sink(e runs.Event) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = append(p.events, e)
	return nil
}

func (p *project) run() execution.PlayResult {
	p.t.Helper()
	res, err := p.tool.Play(p.t.Context(), p.spec, p.play, &p.out, p.sink)
	if err != nil {
		p.t.Fatalf("%v\n%s", err, &p.out)
	}
	return res
}

func (p *project) of(typ runs.EventType) []runs.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []runs.Event
	for _, e := range p.events {
		if e.Type == typ {
			out = append(out, e)
		}
	}
	return out
}

func codes(list []runs.Warning) string {
	var out []string
	for _, w := range list {
		out = append(out, w.Code)
	}
	return strings.Join(out, " ")
}
