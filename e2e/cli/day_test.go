package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// newcomer works with the commands alone. Its contexts are in a directory of its own.
type newcomer struct {
	user
	dir string
}

// file writes a file of the newcomer and returns its path.
func (n *newcomer) file(name, text string) string {
	n.t.Helper()
	path := filepath.Join(n.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		n.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		n.t.Fatal(err)
	}
	return path
}

// does runs a command with text on its standard input, and requires its exit code and a text in what it prints.
func (n *newcomer) does(input string, code int, want string, args ...string) string {
	n.t.Helper()
	cmd := n.command(args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "XDG_CONFIG_HOME=" + filepath.Join(n.dir, "config")}, n.env...)
	cmd.Stdin = strings.NewReader(input)
	var out screenText
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run() // the exit code is in the state
	if got := cmd.ProcessState.ExitCode(); got != code || !strings.Contains(out.String(), want) {
		n.t.Fatalf("writ %s: exit %d, want %d and %q in\n%s", strings.Join(args, " "), got, code, want, out.String())
	}
	return out.String()
}

// writ is does without input.
func (n *newcomer) writ(code int, want string, args ...string) string {
	n.t.Helper()
	return n.does("", code, want, args...)
}

// TestHalfADay works as a new user does, with commands alone: from the sign-in to a second server and a worker.
func TestHalfADay(t *testing.T) {
	t.Parallel()
	n := &newcomer{user: user{t: t}, dir: harness.Shared(t)} // runs see what is there
	marker := filepath.Join(n.dir, "broken")
	n.file("repos/site/site.yml", `- hosts: all
  gather_facts: false
  connection: local
  tasks:
    - name: announce
      debug: {msg: "release {{ release | default('none') }}"}
    - name: check
      command: test ! -e `+marker+`
      changed_when: false
      when: inventory_hostname == 'web2'
`)
	repository := filepath.Join(n.dir, "repos", "site")
	git(t, repository, "init", "-q", "-b", "main")
	git(t, repository, "add", "-A")
	git(t, repository, "commit", "-q", "-m", "begin")
	password := n.file("password", "correct horse battery staple\n")
	flags := []string{"--local-projects", filepath.Join(n.dir, "repos"), "--admin-password-file", password}
	one := harness.Start(t, harness.Options{Flags: flags})
	two := harness.Start(t, harness.Options{Flags: flags})

	n.does("correct horse battery staple\n", 0, "signed in", "login", one.URL, "--user", "admin", "--no-keyring",
		"--context", "one")
	n.writ(0, "admin", "whoami")
	n.writ(0, "", "doctor", "-o", "json")
	n.catalog(repository)
	n.governed()
	n.broken(marker)
	n.proof()
	n.secondServer(two.URL, password)
	n.worker(one.URL)
	n.writ(0, "admin", "api", "GET", "/v1/auth/me", "--jq", ".user.username")
	n.writ(0, "", "logout")
	n.writ(1, "writ login", "runs")
}

// git runs git in a directory.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	u := user{t: t}
	cmd := u.command()
	path, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Path, cmd.Args = path, append([]string{"git", "-C", dir, "-c", "user.name=w", "-c", "user.email=w@example.org"},
		args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "HOME=" + dir}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// catalog makes a template with all that it needs, launches it and puts it on a schedule.
func (n *newcomer) catalog(repository string) {
	n.t.Helper()
	n.writ(0, "site", "project", "create", "site", "--repo-url", "file://"+repository)
	n.writ(0, "", "project", "sync", "site")
	n.writ(0, "site.yml", "project", "files", "site")
	secret := n.file("vault", "hunter22\n")
	n.writ(0, "vault", "credential", "create", "vault", "--kind", "vault_password", "--secret", "password=@"+secret)
	hosts := n.file("hosts.ini", "[web]\nweb1\nweb2\n")
	n.writ(0, "hosts", "inventory", "create", "hosts", "--content", "@"+hosts, "--credential", "vault")
	n.writ(0, "web2", "inventory", "hosts", "hosts")
	n.writ(0, "deploy", "template", "create", "deploy", "--project", "site", "--playbook", "site.yml", "--inventory",
		"hosts", "--allow-override", "limit", "--set",
		`survey:=[{"var": "release", "type": "text", "required": true, "pattern": "[0-9.]+"}]`)
	n.writ(2, "release", "launch", "deploy")
	n.writ(2, "release", "launch", "deploy", "--answer", "release=new")
	n.writ(0, "web2", "launch", "deploy", "--answer", "release=1.0", "--follow")
	n.writ(0, "release 1.0", "logs", "latest")
	n.writ(0, "nightly", "schedule", "create", "nightly", "--template", "deploy", "--cron", "0 3 * * *", "--answer",
		"release=1.0")
	n.writ(0, "nightly", "schedule", "list")
	n.writ(0, "T03:00:00", "schedule", "preview", "--cron", "0 3 * * *", "--timezone", "UTC", "-o", "json")
}

// governed has a policy hold a run, and approves it.
func (n *newcomer) governed() {
	n.t.Helper()
	n.writ(0, "careful", "policy", "create", "careful", "--effect", "require_approval", "--set",
		`match.labels:={"env": "prod"}`)
	held := strings.TrimSpace(n.writ(0, "run_", "run", "site.yml", "--project", "site", "-i", "hosts", "--label",
		"env=prod", "--change", "CHG-7"))
	n.writ(0, "careful", "runs", held)
	n.writ(0, held, "runs", "--status", "pending_approval")
	n.writ(0, "", "approve", held, "-m", "read and found right")
	n.writ(0, "succeeded", "watch", held)
	n.writ(0, "read and found right", "runs", held)
	n.writ(0, "CHG-7", "changes")
}

// broken has a host fail, runs again on it alone, and compares.
func (n *newcomer) broken(marker string) {
	n.t.Helper()
	n.file(filepath.Base(marker), "")
	n.writ(1, "web2", "launch", "deploy", "--answer", "release=1.1", "--follow")
	n.writ(0, "web2", "failures", "latest")
	n.writ(0, "check", "failures", "latest")
	if err := os.Remove(marker); err != nil {
		n.t.Fatal(err)
	}
	n.writ(0, "succeeded", "relaunch", "latest", "--follow")
	if out := n.writ(0, "recovered", "compare", "latest", "prev"); strings.Contains(out, "gone") {
		n.t.Errorf("a host outside of the limit is gone:\n%s", out)
	}
	n.writ(0, "web2", "hosts")
}

// proof verifies the trail and the evidence of a run by files alone.
func (n *newcomer) proof() {
	n.t.Helper()
	seal := filepath.Join(n.dir, "seal.json")
	n.writ(0, "", "audit", "seal", "--file", seal)
	evidence := filepath.Join(n.dir, "evidence.json")
	n.writ(0, "", "run", "evidence", "latest", "--format", "json", "--file", evidence)
	n.writ(3, "", "audit", "verify", evidence)
	n.writ(0, "", "audit", "verify", evidence, "--seal", seal)
	bundle := filepath.Join(n.dir, "bundle.json")
	n.writ(0, "", "audit", "download", "--file", bundle)
	n.writ(0, "", "audit", "verify", bundle, "--seal", seal)
	n.writ(0, "template.create", "audit", "list", "--limit", "200")
}

// secondServer exports the catalog and applies it to another server.
func (n *newcomer) secondServer(url, password string) {
	n.t.Helper()
	catalog := filepath.Join(n.dir, "catalog")
	n.writ(0, "", "export", catalog)
	raw, err := os.ReadFile(password)
	if err != nil {
		n.t.Fatal(err)
	}
	n.does(string(raw), 0, "signed in", "login", url, "--user", "admin", "--no-keyring", "--context", "two")
	n.writ(3, "to create", "apply", catalog, "--check")
	n.writ(0, "", "apply", catalog, "--secret", "vault.password=@"+filepath.Join(n.dir, "vault"))
	n.writ(0, "0 to create, 0 to change", "apply", catalog, "--check")
	n.writ(0, "web2", "launch", "deploy", "--answer", "release=2.0", "--follow")
	n.writ(0, "two", "context", "list")
	n.writ(0, "", "context", "use", "one")
}

// worker runs a worker over the relay, which executes what its queue holds.
func (n *newcomer) worker(url string) {
	n.t.Helper()
	token := strings.TrimSpace(n.writ(0, "", "worker-token", "create", "edge", "--queue", "far", "--jq", ".token"))
	w := n.user
	w.env = append(w.env, "WRIT_WORKER_TOKEN="+token)
	w.start("worker", "--server", url, "--name", "edge", "--queue", "far", "--isolation", "none", "--data-dir",
		filepath.Join(n.dir, "edge"))
	n.writ(0, "succeeded", "run", "--tool", "bash", "--command", "echo far away", "--queue", "far", "--follow")
	n.writ(0, "far away", "logs", "latest")
	n.writ(0, "edge", "worker", "list")
	n.writ(0, "far", "queue", "list")
}
