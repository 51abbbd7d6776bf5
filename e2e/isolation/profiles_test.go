package isolation

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// fixture is a server with profiles, and a directory that it shares with runs.
type fixture struct {
	*harness.Server
	t   *testing.T
	dir string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	w := &fixture{t: t, dir: harness.Shared(t)}
	config := filepath.Join(t.TempDir(), "writ.yaml")
	write(t, config, "profiles:\n  few:\n    base: sealed\n    network: host\n    hide: ["+w.dir+"]\n    pids: 64\n")
	w.Server = harness.Start(t, harness.Options{Flags: []string{"--config", config, "--queue-profile", "few=few",
		"--queue-profile", "host=standard", "--queue-profile", "host=host", "--queue", "default", "--queue", "few", "--queue",
		"host"}})
	return w
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // for runs
		t.Fatal(err)
	}
}

// launch saves a template with a queue and a profile, and awaits its run.
func (w *fixture) launch(body harness.Body, queue, profile string) harness.Run {
	w.t.Helper()
	body["name"] = strings.Trim(queue+" "+profile+" "+w.t.Name(), " ")
	if profile != "" {
		body["isolation_profile"] = profile
	}
	body["queue"] = queue
	a := w.Do(http.MethodPost, "/v1/templates", body)
	if a.Status != http.StatusCreated {
		w.t.Fatalf("save %v: %d %s", body, a.Status, a.Body)
	}
	var saved struct {
		ID      string
		Profile string `json:"isolation_profile"`
	}
	a.JSON(w.t, &saved)
	if saved.Profile != profile {
		w.t.Errorf("the template has the profile %q, not %q", saved.Profile, profile)
	}
	r := w.Await(w.Act("/v1/templates/" + saved.ID + "/launch").ID)
	w.Do(http.MethodDelete, "/v1/templates/"+saved.ID, nil)
	return r
}

// TestProfiles attacks from inside of each profile, on a server, and checks that the record and the evidence tell which
// one it was.
func TestProfiles(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		p, err := harness.Launch(t, harness.Options{Flags: []string{"--isolation-profile", "host"}})
		if err == nil || !strings.Contains(p.Output(), "a server that is root") {
			t.Errorf("an executor that is not root promises that runs become root: %v", err)
		}
		return
	}
	w := newFixture(t)
	rooted := filepath.Join(w.dir, "rooted")
	if out, err := exec.Command("install", "-m", "4755", "/usr/bin/id", rooted).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	open, err := os.MkdirTemp("/var/lib", "writ-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(open) })
	if err := os.Chmod(open, 0o777); err != nil { //nolint:gosec // for runs
		t.Fatal(err)
	}
	host, port, _ := strings.Cut(strings.TrimPrefix(w.URL, "http://"), ":")
	script := "exec 2>/dev/null\n" +
		"(exec 3<>/dev/tcp/" + host + "/" + port + ") && echo network\n" +
		"test \"$(grep -c : /proc/net/dev)\" -gt 1 && echo interfaces\n" +
		"mktemp -p " + open + " >/dev/null && echo written\n" +
		"test -e " + rooted + " && echo seen\n" +
		"test \"$(" + rooted + " -u)\" = 0 && echo root\n" +
		"test -e /proc/" + itoa(w.PID) + "/stat && echo processes\n" +
		"test -e $HOME/../../state.jsonl && echo state\n" +
		"ls /root >/dev/null && test -n \"$(ls -A /root)\" && echo home\n" +
		"echo a >own && python3 -c 'import socket as s; l = s.create_server((\"127.0.0.1\", 0)); s.create_connection(l." +
		"getsockname())' && echo works\n"
	for _, c := range []struct{ queue, profile, got, want string }{
		{"default", "", "standard", "network interfaces written seen works"},
		{"default", "sealed", "sealed", "seen works"},
		{"few", "", "few", "network interfaces works"},
		{"host", "", "standard", "network interfaces written seen works"},
		{"host", "host", "host", "network interfaces written seen root works"},
	} {
		r := w.launch(harness.Body{"tool": "bash", "command": script}, c.queue, c.profile)
		if got := strings.Join(strings.Fields(w.Log(r.ID)), " "); r.Status != "succeeded" || got != c.want {
			t.Errorf("%s on the queue %s: %s (%s): %s, want %s", c.got, c.queue, r.Status, r.Error, got, c.want)
		}
		for _, path := range []string{"", "/evidence?format=json"} {
			var stated struct {
				Isolation struct{ Profile string }
				Run       struct{ Isolation struct{ Profile string } }
			}
			w.Do(http.MethodGet, "/v1/runs/"+r.ID+path, nil).JSON(t, &stated)
			if stated.Isolation.Profile+stated.Run.Isolation.Profile != c.got {
				t.Errorf("%s tells %+v, want %s", path, stated, c.got)
			}
		}
	}
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

// TestProfilesAreAllowed asks for profiles that a queue does not allow and that no executor has, and saves templates
// that become root as somebody who may not.
func TestProfilesAreAllowed(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	w := &fixture{Server: s, t: t}
	for profile, want := range map[string]string{
		"host": "the queue default does not allow the isolation profile host here", "none-such": "does not allow",
	} {
		r := w.launch(harness.Body{"tool": "bash", "command": "echo executed"}, "default", profile)
		if r.Status != "failed" || !strings.Contains(r.Error, want) || strings.Contains(w.Log(r.ID), "executed") {
			t.Errorf("%s: %s (%s)", profile, r.Status, r.Error)
		}
	}
	id, token := account(t, s, "operator")
	operator := s.As(token)
	body := harness.Body{"name": "one", "tool": "bash", "command": "true"}
	body["isolation_profile"] = "host"
	var saved struct{ ID string }
	s.Do(http.MethodPost, "/v1/templates", body).JSON(t, &saved)
	if a := s.Do(http.MethodPost, "/v1/grants", harness.Body{"subject": "user:" + id, "object": saved.ID,
		"level": "manage"}); a.Status != 201 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	// The command alone decides what is executed as root.
	body["command"] = "id"
	for _, c := range []struct {
		profile string
		want    int
	}{{"host", 403}, {"none-such", 403}, {"Not a name", 400}, {"sealed", 200}, {"", 200}} {
		body["isolation_profile"] = c.profile
		if a := operator.Do(http.MethodPut, "/v1/templates/"+saved.ID, body); a.Status != c.want {
			t.Errorf("an operator who manages a template saves %q: %d %s", c.profile, a.Status, a.Body)
		}
	}
	if a := s.Do(http.MethodPost, "/v1/runs", harness.Body{"tool": "bash", "command": "id",
		"isolation_profile": "host"}); a.Status != 400 {
		t.Errorf("a run names its profile: %d %s", a.Status, a.Body)
	}
}

// account makes an account of a role and returns its id and a token.
func account(t *testing.T, s *harness.Server, role string) (id, token string) {
	t.Helper()
	var user struct{ ID string }
	const password = "correct horse battery"
	a := s.Do(http.MethodPost, "/v1/users", harness.Body{"username": role, "role": role, "password": password})
	if a.JSON(t, &user); a.Status != 201 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	var made struct{ Token string }
	a = s.As("").Do(http.MethodPost, "/v1/auth/login", harness.Body{"username": role, "password": password})
	if a.JSON(t, &made); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	return user.ID, made.Token
}

// TestBadProfiles starts servers with profiles that nobody can have there.
func TestBadProfiles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"profiles: {box: {base: container, image: x}}": "expected NAME@sha256:DIGEST",
		"isolation-profile: sealed\nisolation: none":   "only the level namespaces",
	} {
		config := filepath.Join(t.TempDir(), "writ.yaml")
		write(t, config, text+"\n")
		s, err := harness.Launch(t, harness.Options{Flags: []string{"--config", config}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
		if err == nil {
			s.Stop()
		}
	}
}

// TestBecomeOnLocalhost becomes another user on the executor itself, which fails with what to do.
func TestBecomeOnLocalhost(t *testing.T) {
	t.Parallel()
	dir := harness.Shared(t)
	play := filepath.Join(dir, "site.yml")
	write(t, play, "- hosts: localhost\n  gather_facts: false\n  become: true\n  tasks: [{command: id}]\n")
	s := harness.Start(t, harness.Options{Flags: []string{"--work-dir", dir}})
	r := s.Await(s.Submit(harness.Body{"playbook": "site.yml", "inventory": "localhost,"}).ID)
	local := s.Await(s.Submit(harness.Body{"playbook": "site.yml"}).ID)
	const want = "connect to localhost by ssh, or use the profile host"
	if local.Status != "failed" || !strings.Contains(local.Error, want) {
		t.Errorf("without an inventory: %s (%s)\n%s", local.Status, local.Error, s.Log(local.ID))
	}
	if strings.Contains(r.Error, want) {
		t.Errorf("by ssh: %s", r.Error)
	}
	stated := false
	for _, e := range s.Events(local.ID) {
		stated = stated || e.Type == "host_failed" && strings.Contains(e.Message, want)
	}
	if !stated {
		t.Errorf("the events do not tell: %+v", s.Events(local.ID))
	}
}
