package isolation

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// attacks are scripts. Each prints open if it worked.
func attacks(s *harness.Server, other string) map[string]string {
	data, pid := filepath.Join(s.Dir, "data"), strconv.Itoa(s.PID)
	return map[string]string{
		"read the encryption key": "test -s " + data + "/encryption.key && cat " + data + "/encryption.key >/dev/null " +
			"&& echo open",
		"read the database": "head -c 6 " + s.DB + " | grep -q SQLite && echo open",
		"read the key by /proc": "for p in /proc/[0-9]*; do head -c 1 $p/root" + data + "/encryption.key | grep -q . && " +
			"echo open && break; done",
		"read the environment": "tr '\\0' '\\n' </proc/" + pid + "/environ | grep -q PATH && echo open",
		"read the memory":      "head -c 1 /proc/" + pid + "/maps | grep -q . && echo open",
		"signal the server":    "kill -0 " + pid + " && echo open",
		"read another run's secret": "for p in /proc/[0-9]*; do tr '\\0' '\\n' <$p/environ | grep -q '^OTHER=" + other +
			"' && echo open && break; done",
		"list the directories of runs": "ls -d $(dirname $(dirname $(dirname $PWD)))/run_* | grep -qv $WRIT_RUN_ID && " +
			"echo open",
	}
}

// place is a machine of a server: its options, and the level and the profile that runs have there. Attacks work in
// none, also those on the memory of the server if it is root's. Names stay visible in landlock.
type place struct {
	harness.Options
	level, profile string
	root           bool
}

// works reports whether an attack works.
func (p place) works(name string) bool {
	return p.level == "none" && (p.root || !slices.Contains(dumps(), name)) ||
		p.level == "landlock" && name == "list the directories of runs"
}

// dumps are the attacks that a server closes by not being dumpable, except to root.
func dumps() []string { return []string{"read the environment", "read the memory"} }

// places are the levels of a root server and of an ordinary user's, in the default, in a container and without
// isolation. Weaker levels are those of a machine that allows less.
func places() map[string]func(t *testing.T) place {
	in := func(level, mode string, o harness.Options) place {
		o.Flags = []string{"--isolation", mode}
		return place{o, level, "standard", os.Geteuid() == 0 && !slices.Contains(o.Wrap, "nobody")}
	}
	out := map[string]func(t *testing.T) place{
		"auto": func(*testing.T) place { return in("namespaces", "auto", harness.Options{}) },
		"none": func(*testing.T) place { return in("none", "none", harness.Options{}) },
		"container": func(t *testing.T) place {
			p := in("namespaces", "auto", harness.Options{})
			p.Options = contained(t, p.Options, "", "bash", "cat", "dirname", "grep", "head", "ls", "sleep", "tr")
			p.profile = "box"
			return p
		},
	}
	if os.Geteuid() != 0 {
		return out
	}
	nobody := func(t *testing.T, wrap ...string) harness.Options {
		return harness.Options{Dir: harness.DirOf(t, "nobody"), Wrap: append(wrap, harness.As("nobody", "nogroup")...)}
	}
	out["auto of nobody"] = func(t *testing.T) place { return in("namespaces", "auto", nobody(t)) }
	out["none of nobody"] = func(t *testing.T) place { return in("none", "none", nobody(t)) }
	out["users"] = func(t *testing.T) place {
		return in("users", "auto", harness.Options{Dir: harness.DirOf(t, "root"), // accounts of runs pass it
			Wrap: []string{"setpriv", "--bounding-set", "-sys_admin"}})
	}
	out["landlock of nobody"] = func(t *testing.T) place {
		return in("landlock", "auto", nobody(t, "unshare", "--mount", "sh", "-c",
			`mount -t tmpfs tmpfs /proc/irq && exec "$@"`, "sh"))
	}
	return out
}

// TestAttacks tries each attack in each level, where none works, and without isolation, where each does.
// Keeps T08, T44.
func TestAttacks(t *testing.T) {
	t.Parallel()
	for name, make := range places() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := make(t)
			s := harness.Start(t, p.Options)
			t.Cleanup(s.Kill) // it would wait for the victim
			other := "canary" + strconv.Itoa(s.PID)
			victim := s.Submit(harness.Body{"tool": "bash", "command": "echo up; sleep 600",
				"env": harness.Body{"OTHER": other}})
			harness.Eventually(t, time.Minute, "the other run runs", func() bool {
				return strings.Contains(s.Log(victim.ID), "up")
			})
			for name, script := range attacks(s, other) {
				r := s.Await(s.Submit(harness.Body{"tool": "bash", "command": "exec 2>/dev/null\n" + script + "\ntrue"}).ID)
				if open := strings.Contains(s.Log(r.ID), "open"); open != p.works(name) {
					t.Errorf("%s: open is %t: %s", name, open, s.Log(r.ID))
				}
				var record struct {
					Isolation struct{ Level, Profile string }
				}
				s.Do(http.MethodGet, "/v1/runs/"+r.ID, nil).JSON(t, &record)
				if record.Isolation.Level != p.level || record.Isolation.Profile != p.profile {
					t.Errorf("the record tells %+v", record.Isolation)
				}
			}
			var list struct {
				Workers []struct {
					Isolation struct{ Level, Profile, Reason string }
				}
			}
			s.Do(http.MethodGet, "/v1/workers", nil).JSON(t, &list)
			if len(list.Workers) != 1 || list.Workers[0].Isolation.Level != p.level ||
				(list.Workers[0].Isolation.Reason == "") != (p.level == "namespaces") {
				t.Errorf("the list of workers tells %+v", list.Workers)
			}
			metrics := string(s.Do(http.MethodGet, "/metrics", nil).Body)
			if !strings.Contains(metrics, `writ_isolation_level{level="`+p.level+`"}`) {
				t.Error("the metrics do not tell the level")
			}
		})
	}
}
