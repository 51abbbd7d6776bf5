package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestScripts runs scripts and checks that the command exits with their exit codes.
func TestScripts(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	u := userOf(t, s)
	if code, out, errs := u.do("run", "--tool", "bash", "--command", "echo hello; printf 'no newline'",
		"--follow"); code != 0 || errs != "" ||
		!regexp.MustCompile(`hello\nno newline\n✓ run_\w+ succeeded in `).MatchString(out) {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
	if code, out, _ := u.do("run", "--tool", "bash", "--command", "echo bye; exit 7", "--follow"); code != 1 ||
		!strings.Contains(out, "bye\n✗ run_") ||
		!strings.Contains(out, "exit code 7") || strings.Count(out, "exit code") != 1 {
		t.Errorf("exit %d, %q", code, out)
	}
	if code, out, _ := u.do("run", "--tool", "bash", "--command", `echo '{"ansible_host": "x"}' >$WRIT_OUTPUTS`,
		"--fail-on", "no_hosts,warnings", "--follow"); code != 1 ||
		!regexp.MustCompile(`✗ run_\w+ failed in .*: fail_on: warnings: `).MatchString(out) {
		t.Errorf("a warning: exit %d, %q", code, out)
	}
	if code, out, _ := u.do("run", "--tool", "bash", "--command", "false", "--dry-run", "--follow"); code != 0 ||
		!regexp.MustCompile(`✓ run_\w+ checked`).MatchString(out) {
		t.Errorf("a dry run: exit %d, %q", code, out)
	}
	id := firstRun(t, s)
	_, list, _ := u.do("runs")
	if _, one, _ := u.do("runs", id); !strings.HasPrefix(one, "bash\n") || !strings.Contains(one, id+" checked") ||
		!regexp.MustCompile(`(?m)^checked .*`+id).MatchString(list) {
		t.Errorf("a dry run is shown as\n%s\n%s", one, list)
	}
	if code, out, _ := u.do("run", "--playbook", "/nowhere/site.yml", "--follow"); code != 1 ||
		!strings.Contains(out, "ERROR! The playbook") {
		t.Errorf("a playbook that does not exist: exit %d, %q", code, out)
	}
}

// TestSplit prints the results of the shards of a split.
func TestSplit(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	u := userOf(t, s)
	dir := harness.Shared(t)
	playbook := filepath.Join(dir, "play.yml")
	if err := os.WriteFile(playbook, []byte(
		"- hosts: all\n  gather_facts: false\n  tasks:\n    - name: odd\n      fail: {msg: odd}\n      when: "+
			"inventory_hostname == 'h1'\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	hosts := filepath.Join(dir, "hosts")
	if err := os.WriteFile(hosts, []byte("h1 ansible_connection=local\nh2 ansible_connection=local\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	code, out, errs := u.do("run", "--playbook", playbook, "--inventory", hosts, "--shards", "2", "--follow")
	for _, want := range []string{`(?m)^SHARD +STATUS +TOOK +HOSTS$`, `(?m)^h1 +0 +1$`, `(?m)^h2 +1 +0$`,
		`✗ odd\n  failed on 1 host: h1\n    odd\n`, `✗ run_\w+ failed in`} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("exit %d, no %s in\n%s\n%s", code, want, out, errs)
		}
	}
	if _, _, errs = u.do("logs", firstSplit(t, s)); !strings.Contains(errs, "its parts do") {
		t.Errorf("the log of a split: %q", errs)
	}
}

// TestShardsThatWait follows a split whose second shard waits for the one executor: it says so once, while the first
// shard runs.
func TestShardsThatWait(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Flags: []string{"--executors", "1"}})
	u := userOf(t, s)
	dir := harness.Shared(t)
	for name, text := range map[string]string{
		"hosts": "h1 ansible_connection=local\nh2 ansible_connection=local\n",
		"play.yml": "- hosts: all\n  gather_facts: false\n  tasks:\n    - raw: until test -e " + filepath.Join(dir, "gate") +
			"; do sleep 0.05; done\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := u.start("run", "--playbook", filepath.Join(dir, "play.yml"), "--inventory", filepath.Join(dir, "hosts"),
		"--shards", "2", "--follow")
	p.shows(p.out, `all 1 executors that serve the queue "default" are busy`)
	id := firstSplit(t, s)
	if _, out, errs := u.do("runs", id); !strings.Contains(out, "are busy") ||
		!strings.Contains(out, "2 shards have not") {
		t.Errorf("the split does not say why it runs: %s%s", out, errs)
	}
	if err := os.WriteFile(filepath.Join(dir, "gate"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code := p.end(); code != 0 || strings.Count(p.out.String(), "are busy") != 1 ||
		strings.Contains(p.out.String(), "have not ended") {
		t.Errorf("exit %d, %s%s", code, p.out, p.err)
	}
}

func firstSplit(t *testing.T, s *harness.Server) string {
	t.Helper()
	rows, _ := s.Runs("limit=10")
	for _, r := range rows {
		if r.Kind == "split" {
			return r.ID
		}
	}
	t.Fatal("there is no split")
	return ""
}

// TestHoldAndDecide holds runs, approves one and rejects the other.
func TestHoldAndDecide(t *testing.T) {
	t.Parallel()
	u := userOf(t, harness.Start(t, harness.Options{}))
	p := u.start("run", "--tool", "bash", "--command", "echo released", "--require-approval", "--follow")
	p.shows(p.out, "is held")
	id := regexp.MustCompile(`run_\w+`).FindString(p.out.String())
	if code, out, _ := u.do("runs", id); code != 0 || !strings.Contains(out, "pending_approval") ||
		!strings.Contains(out, "an administrator approves or rejects the run") {
		t.Errorf("exit %d, %q", code, out)
	}
	if code, out, errs := u.do("approve", id, "-m", "fine"); code != 0 || !strings.HasPrefix(out, id+" ") {
		t.Errorf("approve: exit %d, %q, %q", code, out, errs)
	}
	if code := p.end(); code != 0 || !strings.Contains(p.out.String(), "released\n") {
		t.Errorf("after approval: exit %d, %s", code, p.out)
	}
	if code, _, errs := u.do("approve", id); code != 1 || !strings.Contains(errs, "not held") {
		t.Errorf("approved again: exit %d, %q", code, errs)
	}
	other := u.submit("--tool", "bash", "--command", "true", "--require-approval")
	if code, out, _ := u.do("reject", other, "-m", "no"); code != 0 || out != other+" rejected\n" {
		t.Errorf("reject: exit %d, %q", code, out)
	}
	if code, _, errs := u.do("logs", "-f", other); code != 1 || !strings.Contains(errs, "rejected") {
		t.Errorf("follow a rejected run: exit %d, %q", code, errs)
	}
}

// TestCancel cancels a run that another user follows.
func TestCancel(t *testing.T) {
	t.Parallel()
	u := userOf(t, harness.Start(t, harness.Options{}))
	p := u.start("run", "--tool", "bash", "--command", "echo begun; sleep 600", "--follow")
	p.shows(p.out, "begun\n")
	id := regexp.MustCompile(`run_\w+`).FindString(p.out.String())
	if code, out, errs := u.do("cancel", id); code != 0 || !regexp.MustCompile(`^`+id+` (is being canceled|canceled)\n$`).
		MatchString(out) {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
	if code := p.end(); code != 1 || !strings.Contains(p.out.String(), "■ "+id+" canceled") {
		t.Errorf("the follower: exit %d, %s", code, p.out)
	}
	if code, _, errs := u.do("cancel", id); code != 1 || !strings.Contains(errs, "already") {
		t.Errorf("canceled again: exit %d, %q", code, errs)
	}
}

// TestDetach stops following with Ctrl-C; the run continues.
func TestDetach(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	u := userOf(t, s)
	gate := filepath.Join(harness.Shared(t), "gate")
	for _, args := range [][]string{{"run", "--tool", "bash", "--command",
		"echo begun; until [ -e " + gate + " ]; do sleep 0.05; done", "--follow"}, {"logs", "-f"}} {
		if args[0] == "logs" {
			args = append(args, firstRun(t, s))
		}
		p := u.start(args...)
		p.shows(p.out, "begun\n")
		if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if code := p.end(); code != 1 || !strings.Contains(p.err.String(), "the run continues") ||
			!strings.Contains(p.err.String(), "writ cancel run_") {
			t.Errorf("%v: exit %d, %s", args[0], code, p.err)
		}
	}
	if err := os.WriteFile(gate, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if r := s.Await(firstRun(t, s)); r.Status != "succeeded" {
		t.Errorf("the run is %s", r.Status)
	}
}

// TestJSON parses the output of --json as one document.
func TestJSON(t *testing.T) {
	t.Parallel()
	u := userOf(t, harness.Start(t, harness.Options{}))
	read := func(want int, args ...string) map[string]any {
		t.Helper()
		code, out, errs := u.do(append(args, "--json")...)
		var v map[string]any
		if err := json.Unmarshal([]byte(out), &v); err != nil || code != want || errs != "" {
			t.Fatalf("%v: exit %d, %q, %q: %v", args, code, out, errs, err)
		}
		return v
	}
	big := `n:=9007199254740993`
	made := read(1, "run", "--tool", "bash", "--command", "exit 3", "--extra-var", big, "--label", "team=web", "--follow")
	if made["status"] != "failed" || made["exit_code"] != 3.0 {
		t.Errorf("%v", made)
	}
	id, _ := made["id"].(string)
	if list := read(0, "runs", "-q", "label:team=web", "--status", "failed", "--tool", "bash", "--since",
		"1h"); list["count"] != 1.0 {
		t.Errorf("%v", list)
	}
	if _, out, _ := u.do("runs", id, "--json"); !strings.Contains(out, "9007199254740993") {
		t.Errorf("a large number is lost: %s", out)
	}
	held := read(0, "run", "--tool", "bash", "--command", "true", "--require-approval")
	heldID, _ := held["id"].(string)
	if done := read(0, "reject", heldID); held["status"] != "pending_approval" || done["status"] != "rejected" {
		t.Errorf("%v, %v", held["status"], done["status"])
	}
	if v := read(0, "version"); v["go"] == nil {
		t.Errorf("%v", v)
	}
	if code, out, errs := u.do("runs", "run_none", "--json"); code != 1 || out != "" ||
		!strings.HasPrefix(errs, "writ: ") {
		t.Errorf("unknown: exit %d, %q, %q", code, out, errs)
	}
}

// TestMistakes makes common mistakes.
func TestMistakes(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	u := userOf(t, s)
	stranger := user{t: t, url: s.URL, env: []string{"WRIT_TOKEN=writ_wrong"}}
	nowhere := user{t: t, url: "http://127.0.0.1:1"}
	for _, c := range []struct {
		u    user
		code int
		errs string
		args []string
	}{
		{stranger, 1, "WRIT_TOKEN", []string{"runs"}}, {stranger, 1, "WRIT_TOKEN", []string{"logs", "-f", "run_none"}},
		{nowhere, 1, "nothing listens there", []string{"runs"}},
		{nowhere, 1, "nothing listens there", []string{"logs", "-f", "run_none"}},
		{nowhere, 1, "nothing listens there", []string{"run", "--tool", "bash", "--command", "true"}},
		{u, 1, `no run "run_none"`, []string{"runs", "run_none"}}, {u, 1, `no run "run_none"`, []string{"logs", "run_none"}},
		{u, 1, `no run "run_none"`, []string{"logs", "-f", "run_none"}},
		{u, 1, `no run "run_none"`, []string{"cancel", "run_none"}},
		{u, 1, `no run "run_none"`, []string{"approve", "run_none"}},
		{u, 1, `no run "run_none"`, []string{"reject", "run_none"}},
		{u, 1, "there is no tool", []string{"run", "--tool", "none", "--command", "x"}},
		{u, 1, "status", []string{"runs", "--status", "none"}},
		{u, 2, "nothing to run", []string{"run"}}, {u, 2, "unknown flag", []string{"runs", "--none"}},
		{u, 2, "unknown command", []string{"none"}},
		{u, 2, "arg", []string{"logs"}}, {u, 2, "--yes", []string{"cancel", "a", "b"}},
		{u, 2, "not both", []string{"logs", "-f", "a", "--tail", "1KiB"}},
		{u, 2, "key=value", []string{"run", "-p", "x", "-e", "novalue"}},
	} {
		code, out, errs := c.u.do(c.args...)
		if code != c.code || out != "" || !strings.HasPrefix(errs, "writ: ") || !strings.Contains(errs, c.errs) {
			t.Errorf("%v: exit %d, %q, %q", c.args, code, out, errs)
		}
	}
	if rows, _ := s.Runs("limit=1"); len(rows) != 0 {
		t.Errorf("a mistake made a run: %+v", rows)
	}
}
