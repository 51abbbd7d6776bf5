package isolation

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

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
		o.Flags = append(o.Flags, "--work-dir", shown)
		s := harness.Start(t, contained(t, o, "    network: none\n    tmp_size: 1MiB\n", "bash", "grep", "head", "id",
			"sleep"))
		script := `set +e; exec 2>/dev/null
			test "$MULTI" = "$(echo one; echo two)" && echo variables
			test -e ` + shown + `/shown && ! (: >` + shown + `/x) && echo shown
			test -e ` + s.DB + ` -o -e ` + s.Dir + `/data/encryption.key -o -e /usr/bin/python3 && echo machine
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
	gone := func(mark string) {
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
	r, mark := begin("echo asked; exit 3")
	s.Do(http.MethodPost, "/v1/runs/"+r.ID+"/cancel", nil)
	if r = s.Await(r.ID); r.Status != "canceled" || !strings.Contains(s.Log(r.ID), "asked") {
		t.Errorf("a run that is cancelled: %s (%s) %s", r.Status, r.Error, s.Log(r.ID))
	}
	gone(mark)
	r, mark = begin("echo ignored")
	s.Kill()
	gone(mark)
	again := s.Again()
	if r = again.Await(r.ID); r.Status != "interrupted" {
		t.Errorf("the run of a server that was killed is %s", r.Status)
	}
	harness.Eventually(t, time.Minute, "the files of containers are removed", func() bool {
		left, err := exec.Command("find", "/dev/shm", again.Dir, "-maxdepth", "4", "-name", "container-*", "-path", "*"+r.ID+"*").
			Output()
		return err == nil && len(left) == 0
	})
}
