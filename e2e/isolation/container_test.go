package isolation

import (
	"bytes"
	"cmp"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/fleet"
	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/platform/podmantest"
)

// contained adds to the options of a server that its runs execute in an image of some programs, with more members of
// their profile box.
func contained(t *testing.T, o harness.Options, members string, programs ...string) harness.Options {
	t.Helper()
	a := podmantest.Account{As: o.Wrap}
	if len(o.Wrap) > 0 {
		a.Dir = harness.DirOf(t, "nobody")
	}
	image, env := podmantest.Image(t, a, programs...)
	config := filepath.Join(harness.Shared(t), "writ.yaml")
	write(t, config, "isolation-profile: box\nprofiles:\n  box:\n    base: container\n    image: "+image+"\n"+members)
	o.Env = append(o.Env, env)
	o.Flags = append(o.Flags, "--config", config)
	return o
}

// TestContainer executes scripts in a container, as each user: what they see, say and leave, how they end, and what
// their record tells.
// Keeps T44.
func TestContainer(t *testing.T) {
	t.Parallel()
	harness.EachUser(t, func(t *testing.T, o harness.Options, first bool) {
		shown := harness.Shared(t)
		write(t, filepath.Join(shown, "shown"), "")
		o.Dir = cmp.Or(o.Dir, t.TempDir()) // of the server, shown as well, where its secrets stay hidden
		o.Flags = append(o.Flags, "--work-dir", shown, "--isolation-show", o.Dir)
		s := harness.Start(t, contained(t, o, "    network: none\n    tmp_size: 1MiB\n", "bash", "grep", "head", "id",
			"sleep"))
		script := `set +e; exec 2>/dev/null
			test "$MULTI" = "$(echo one; echo two)" && echo variables
			test -e ` + shown + `/shown && ! (: >` + shown + `/x) && echo shown
			test -s ` + s.DB + ` -o -e ` + s.Dir + `/data/encryption.key -o -e /usr/bin/python3 && echo machine
			test "$(id -u)" = 0 && echo root
			test "$PWD" = "$HOME" && : >own && : >/tmp/a && test -O own && echo own
			head -c 4194304 /dev/zero >/dev/shm/x && echo shared
			test "$(grep -c : /proc/net/dev)" -gt 1 && echo network
			for f in /proc/$$/fd/*; do case ${f##*/} in 0|1|2|255) ;; *) test -e "$f" && echo "descriptor ${f##*/}";; esac; done
			: >/etc/x && echo written
			test "$$" -lt 100 || echo processes
			kill -TERM $$`
		r := s.Await(s.Submit(harness.Body{"tool": "bash", "command": script, "env": harness.Body{"MULTI": "one\ntwo"}}).ID)
		want := "variables shown own"
		if !first { // the files of its image belong to the account
			want += " written"
		}
		if got := strings.Join(strings.Fields(s.Log(r.ID)), " "); got != want || r.Status != "failed" ||
			r.ExitCode == nil || *r.ExitCode != 143 {
			t.Errorf("%s (%s): %q, want %q", r.Status, r.Error, got, want)
		}
		var record struct {
			Isolation struct{ Level, Profile string }
		}
		s.Do(http.MethodGet, "/v1/runs/"+r.ID, nil).JSON(t, &record)
		if record.Isolation.Level != "namespaces" || record.Isolation.Profile != "box" {
			t.Errorf("the record tells %+v", record)
		}
		r = s.Await(s.Submit(harness.Body{"tool": "python", "command": "print(1)"}).ID)
		if r.Status != "failed" || !strings.Contains(r.Error, "find python3 in the image") {
			t.Errorf("a program that the image lacks: %s (%s)", r.Status, r.Error)
		}
		ends(t, s)
	})
}

// ends cancels runs, and kills the server of one.
func ends(t *testing.T, s *harness.Server) {
	t.Helper()
	begin := func(trap string) (harness.Run, string) {
		mark := strconv.FormatInt(time.Now().UnixNano(), 10) // of this run's sleep, and of no other's
		r := s.Submit(harness.Body{"tool": "bash", "command": "trap '" + trap + "' TERM; (sleep " + mark +
			") & echo up; while :; do sleep 0.05; done"})
		harness.Eventually(t, time.Minute, "the run runs", func() bool { return strings.Contains(s.Log(r.ID), "up") })
		return r, mark
	}
	r, mark := begin("echo asked; exit 3")
	s.Do(http.MethodPost, "/v1/runs/"+r.ID+"/cancel", nil)
	if r = s.Await(r.ID); r.Status != "canceled" || !strings.Contains(s.Log(r.ID), "asked") {
		t.Errorf("a run that is cancelled: %s (%s) %s", r.Status, r.Error, s.Log(r.ID))
	}
	gone(t, mark)
	early := s.Submit(harness.Body{"tool": "bash", "command": "exit 0"}) // podman is starting, or has not begun
	s.Do(http.MethodPost, "/v1/runs/"+early.ID+"/cancel", nil)
	if early = s.Await(early.ID); early.Status != "canceled" && early.Status != "succeeded" {
		t.Errorf("a run that is cancelled early: %s (%s)", early.Status, early.Error)
	}
	r, mark = begin("echo ignored")
	s.Kill()
	gone(t, mark)
	again := s.Again()
	if r = again.Await(r.ID); r.Status != "interrupted" {
		t.Errorf("the run of a server that was killed is %s", r.Status)
	}
	withoutFiles(t, again.Dir, r.ID)
}

// withoutFiles waits until nothing is left of the files of a run's engine.
func withoutFiles(t *testing.T, dir, id string) {
	t.Helper()
	harness.Eventually(t, time.Minute, "the files of containers are removed", func() bool {
		left, err := exec.Command("find", "/dev/shm", dir, "-maxdepth", "4", "-name", "container-*", "-path",
			"*"+id+"*").Output()
		return err == nil && len(left) == 0
	})
}

// gone waits until no process has a mark among its arguments.
func gone(t *testing.T, mark string) {
	t.Helper()
	harness.Eventually(t, time.Minute, "nothing is left of the run", func() bool {
		files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, file := range files {
			if b, err := os.ReadFile(file); err == nil && bytes.Contains(b, []byte(mark)) {
				return false
			}
		}
		return true
	})
}

// ansible lists what the Ansible of this machine consists of, without its tests and what else is installed.
func ansible(t *testing.T) []string {
	t.Helper()
	const python = "/usr/bin/python3"
	out := []string{"bash", "sh", "sleep", "ssh", "test", "/usr/bin/ansible", "/usr/bin/ansible-playbook", python,
		"/usr/lib/locale/C.utf8"}
	list, err := exec.Command(python, "-c", `import glob, os, ansible, jinja2, markupsafe, yaml, packaging
for m in ansible, jinja2, markupsafe, yaml, packaging, os:
    path = m.__file__
    print(os.path.dirname(path) if path.endswith('__init__.py') or m is os else path)
for name in '_yaml', '[Jj]inja2-*':
    print(*glob.glob(os.path.dirname(os.path.dirname(yaml.__file__)) + '/' + name))`).Output()
	if err != nil {
		t.Fatal(err)
	}
	return append(out, strings.Fields(string(list))...)
}

// TestContainerPlays executes a play by the Ansible of an image, on a host that the key of a credential opens.
func TestContainerPlays(t *testing.T) {
	t.Parallel()
	dir, hosts := harness.Shared(t), fleet.New(t, 1)
	write(t, filepath.Join(dir, "site.yml"), "- hosts: all\n  gather_facts: false\n  tasks:\n"+
		"    - {command: 'test ! -e /etc/shadow -a ! -e /usr/sbin/sshd', delegate_to: localhost}\n"+
		"    - {raw: id -un, register: who}\n    - {debug: {msg: 'I am {{ who.stdout | trim }} for {{ whom }}'}}\n")
	s := harness.Start(t, contained(t, harness.Options{Flags: []string{"--work-dir", dir}}, "", ansible(t)...))
	key, err := os.ReadFile(hosts.KeyPath())
	if err != nil {
		t.Fatal(err)
	}
	id := func(path string, body harness.Body) (made struct{ ID string }) {
		if a := s.Do(http.MethodPost, path, body); a.Status != http.StatusCreated {
			t.Fatalf("%s: %d %s", path, a.Status, a.Body)
		} else {
			a.JSON(t, &made)
		}
		return made
	}
	inventory := id("/v1/inventories", harness.Body{"name": "fleet", "content": hosts.InventoryWithoutKey(),
		"format": "ini"})
	login := id("/v1/credentials", harness.Body{"name": "key", "kind": "ssh_key",
		"secret": harness.Body{"private_key": string(key)}, "settings": harness.Body{"username": hosts.User()}})
	r := s.Await(s.Submit(harness.Body{"playbook": "site.yml", "inventory_id": inventory.ID,
		"credential_ids": []string{login.ID}, "extra_vars": harness.Body{"whom": "you"}}).ID)
	if r.Status != "succeeded" || !strings.Contains(s.Log(r.ID), "I am "+hosts.User()+" for you") {
		t.Errorf("%s (%s)\n%s", r.Status, r.Error, s.Log(r.ID))
	}
	types := map[string]int{}
	for _, e := range s.Events(r.ID) {
		types[e.Type]++
	}
	if types["host_ok"] < 3 || types["stats"] != 1 {
		t.Errorf("the events are %v", types)
	}
}
