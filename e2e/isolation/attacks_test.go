package isolation

import (
	"net/http"
	"path/filepath"
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

// TestAttacks tries each attack in the default level and in a container, where none works, and without isolation, where
// each does.
// Keeps T08, T44.
func TestAttacks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode, profile string
		want          bool
	}{"auto": {"auto", "standard", false}, "container": {"auto", "box", false}, "none": {"none", "standard", true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, o := c.want, harness.Options{Flags: []string{"--isolation", c.mode}}
			if c.profile == "box" {
				o = contained(t, o, "", "bash", "cat", "dirname", "grep", "head", "ls", "sleep", "tr")
			}
			s := harness.Start(t, o)
			other := "canary" + strconv.Itoa(s.PID)
			victim := s.Submit(harness.Body{"tool": "bash", "command": "echo up; sleep 600",
				"env": harness.Body{"OTHER": other}})
			harness.Eventually(t, time.Minute, "the other run runs", func() bool {
				return strings.Contains(s.Log(victim.ID), "up")
			})
			level := ""
			for name, script := range attacks(s, other) {
				r := s.Await(s.Submit(harness.Body{"tool": "bash", "command": "exec 2>/dev/null\n" + script + "\ntrue"}).ID)
				if open := strings.Contains(s.Log(r.ID), "open"); open != want {
					t.Errorf("%s: open is %t: %s", name, open, s.Log(r.ID))
				}
				var record struct {
					Isolation struct{ Level, Profile string }
				}
				s.Do(http.MethodGet, "/v1/runs/"+r.ID, nil).JSON(t, &record)
				if level = record.Isolation.Level; (level == "none") != want || record.Isolation.Profile != c.profile {
					t.Errorf("the record tells %+v", record.Isolation)
				}
			}
			var list struct {
				Workers []struct {
					Isolation struct{ Level, Profile, Reason string }
				}
			}
			s.Do(http.MethodGet, "/v1/workers", nil).JSON(t, &list)
			if len(list.Workers) != 1 || list.Workers[0].Isolation.Level != level {
				t.Errorf("the list of workers tells %+v, the runs %s", list.Workers, level)
			}
			metrics := string(s.Do(http.MethodGet, "/metrics", nil).Body)
			if !strings.Contains(metrics, `writ_isolation_level{level="`+level+`"}`) {
				t.Error("the metrics do not tell the level")
			}
		})
	}
}
