package scenarios

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
)

// TestTools runs a script of each tool and its dry run.
func TestTools(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		for _, c := range []struct {
			tool, command, output string
			status                string
		}{
			{"bash", "echo hello $WRIT_VAR_WHO; echo '{\"answer\":42}' > $WRIT_OUTPUTS", "hello world", "succeeded"},
			{"bash", "false | true; echo not reached", "", "failed"},
			{"bash", "printf 'no newline'; exit 7", "no newline", "failed"},
			{"python", "import json,os\nprint(json.load(open(os.environ['WRIT_VARS']))['who'])", "world", "succeeded"},
			{"go", "package main\n" + depthtest.Of(brief, whole), "from go", "failed"},
		} {
			if c.tool == "go" && dbURL != "" && !depthtest.Long {
				continue // to compile takes long, and no database has a part in it
			}
			env := harness.Body{}
			if c.tool == "go" && !depthtest.Long {
				env = builtAlready(t)
			}
			r := s.Await(s.Submit(harness.Body{
				"tool": c.tool, "command": c.command, "env": env, "extra_vars": harness.Body{"who": "world"},
			}).ID)
			log := s.Log(r.ID)
			if r.Status != c.status || !strings.Contains(log, c.output) || strings.Contains(log, "not reached") {
				t.Errorf("%s %q: %s (%s), log %q", c.tool, c.command, r.Status, r.Error, log)
			}
			if c.status == "failed" && r.ExitCode == nil {
				t.Errorf("%s %q: no exit code", c.tool, c.command)
			}
			dry := s.Await(s.Submit(harness.Body{"tool": c.tool, "command": c.command, "env": env, "dry_run": true}).ID)
			if dry.Status != "succeeded" || strings.Contains(s.Log(dry.ID), "hello") {
				t.Errorf("%s dry run: %s, log %q", c.tool, dry.Status, s.Log(dry.ID))
			}
		}
		out := s.Await(s.Submit(harness.Body{"tool": "bash", "command": `echo '{"answer":42}' > "$WRIT_OUTPUTS"`}).ID)
		if fmt.Sprint(out.Outputs["answer"]) != "42" {
			t.Errorf("outputs: %+v", out.Outputs)
		}
	})
}

// Programs of the tool go that fail. With an empty cache the imports of whole take twice the time of the runtime.
const (
	brief = `func main() { println("from go"); panic("no") }`
	whole = `import ("fmt"; "os"); func main() { fmt.Println("from go"); os.Exit(3) }`
)

// builtAlready returns the environment in which the go command uses the build cache of this test. With the tool's own
// empty cache it would compile the standard library.
func builtAlready(t *testing.T) harness.Body {
	t.Helper()
	env := harness.Body{"GOFLAGS": "-trimpath", "CGO_ENABLED": "0"}
	if os.Getuid() == 0 {
		return env // a run has another account and may not write there
	}
	cache := os.Getenv("GOCACHE")
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(dir, "go-build")
	}
	env["GOCACHE"] = cache
	return env
}

// TestEveryLogHasItsLine submits many trivial runs concurrently: each ends once and its log has its output.
func TestEveryLogHasItsLine(t *testing.T) {
	t.Parallel()
	n := depthtest.Of(400, 10_000)
	s := harness.Start(t, harness.Options{Tags: []string{harness.Release}, Flags: []string{"--executors", "32"}})
	var wg sync.WaitGroup
	ids := make([]string, n)
	for w := range 16 {
		wg.Go(func() {
			for i := w; i < n; i += 16 {
				ids[i] = s.Submit(harness.Body{"tool": "bash", "command": fmt.Sprintf("echo hi %d", i)}).ID
			}
		})
	}
	wg.Wait()
	for i, id := range ids {
		r := s.Until(id, 5*time.Minute, harness.Run.Ended)
		if log := s.Log(id); r.Status != "succeeded" || log != fmt.Sprintf("hi %d\n", i) {
			t.Fatalf("run %d: %s, log %q", i, r.Status, log)
		}
	}
	if _, total := s.Runs("status=succeeded&limit=1"); total != n {
		t.Errorf("the list counts %d succeeded runs", total)
	}
}

// TestEnvironment checks that a run has its own environment and nothing of the server's.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Env: []string{"SERVER_SECRET=canary-4711", "AWS_SECRET_ACCESS_KEY=canary-4712"}})
	r := s.Await(s.Submit(harness.Body{"tool": "bash",
		"command":    "env; cat /proc/self/cmdline | tr '\\0' ' '; pwd; stat -c %a .",
		"env":        map[string]string{"APP": "shop"},
		"extra_vars": harness.Body{"db_password": "hunter2-very-long", "n": json.Number("9007199254740993")}}).ID)
	log := s.Log(r.ID)
	for _, want := range []string{"APP=shop", "WRIT_RUN_ID=" + r.ID, "WRIT_VAR_N=9007199254740993",
		"700"} {
		if !strings.Contains(log, want) {
			t.Errorf("the environment lacks %q:\n%s", want, log)
		}
	}
	for _, leak := range []string{"canary", "hunter2", "WRIT_DRY_RUN"} {
		if strings.Contains(log, leak) {
			t.Errorf("the log shows %q:\n%s", leak, log)
		}
	}
	if got := r.ExtraVars["db_password"]; got != "[redacted]" {
		t.Errorf("db_password reads back as %v", got)
	}
}
