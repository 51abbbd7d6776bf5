package scenarios

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// sharedDir finds the directory of real projects and exports that lies beside a checkout. Its files carry licences of
// their own and are no part of this repository, so a checkout that stands alone runs without these tests.
func sharedDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("WRIT_SHARED")
	if dir == "" {
		dir = repoFile(t, "..", "shared")
	}
	if _, err := os.Stat(filepath.Join(dir, "sample-project", "site.yml")); err != nil {
		t.Skipf("no shared test data: %v", err)
	}
	return dir
}

// sshFleet starts ten real ssh hosts with the shared script.
type sshFleet struct {
	t              *testing.T
	script, state  string
	inventory, env string
}

func startSSHFleet(t *testing.T, shared string) *sshFleet {
	t.Helper()
	f := &sshFleet{t: t, script: filepath.Join(shared, "sshd-fleet.sh"), state: t.TempDir()}
	out := f.run("start", "-n", "10", "-p", freePort(t), "-d", f.state)
	f.inventory = filepath.Join(f.state, "inventory.ini")
	pass := filepath.Join(f.state, "vault-pass")
	for name, text := range map[string]string{f.inventory: out, pass: "sample-vault-pass\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f.env = "sample@" + pass
	t.Cleanup(func() { f.run("stop", f.state) })
	return f
}

// freePort is one that nobody listens on: the hosts of a test that was killed may still have theirs.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

func (f *sshFleet) run(args ...string) string {
	f.t.Helper()
	out, err := exec.CommandContext(context.Background(), f.script, args...).Output()
	if err != nil {
		f.t.Fatalf("sshd-fleet %v: %v", args, err)
	}
	return string(out)
}

// TestSampleProject tells the documented outcomes of the sample project against ten ssh hosts.
func TestSampleProject(t *testing.T) {
	t.Parallel()
	shared := sharedDir(t)
	f := startSSHFleet(t, shared)
	site := copyTree(t, filepath.Join(shared, "sample-project"))
	s := harness.Start(t, harness.Options{})
	body := func(more harness.Body) harness.Body {
		b := harness.Body{"playbook": filepath.Join(site, "site.yml"), "inventory": f.inventory, "forks": 10,
			// Pipelining does the same with a third of the connections.
			"env": map[string]string{"ANSIBLE_VAULT_IDENTITY_LIST": f.env, "ANSIBLE_PIPELINING": "1"}}
		for k, v := range more {
			b[k] = v
		}
		return b
	}
	first := s.Await(s.Submit(body(nil)).ID)
	if first.Status != "succeeded" || *first.HostsTouched != 10 {
		t.Fatalf("first run: %s, touched %d\n%s", first.Status, *first.HostsTouched, s.Log(first.ID))
	}
	for name, h := range s.Hosts(first.ID) {
		if h.Changed == 0 || h.Failed != 0 || h.Ignored != 1 {
			t.Errorf("first run, %s: %+v", name, h)
		}
	}
	checkJournal(t, s.Client, first)
	if first.Outputs["release"] == nil || first.Outputs["rollout"] == nil {
		t.Errorf("outputs: %v", first.Outputs)
	}
	for _, kept := range []string{s.Log(first.ID), string(s.Do(http.MethodGet, "/v1/runs/"+first.ID+"/events?download=1", nil).Body)} {
		if strings.Contains(kept, "tok-7f3e-sample-not-a-secret") {
			t.Error("the vaulted value shows")
		}
	}
	failedAndDown(t, s, f, body)
	drift(t, s, f, body)
	pitfalls(t, s, body)
}

// failedAndDown has one host fail, one rescued and one unreachable, then relaunches and compares.
func failedAndDown(t *testing.T, s *harness.Server, f *sshFleet, body func(harness.Body) harness.Body) {
	t.Helper()
	f.run("stop-one", f.state, "9")
	vars := harness.Body{"break_hosts": []string{"node05"}, "rescue_hosts": []string{"node04"}, "release": "1.6.0"}
	bad := s.Await(s.Submit(body(harness.Body{"extra_vars": vars})).ID)
	if bad.Status != "failed" || *bad.ExitCode != 4 {
		t.Errorf("with node05 broken and node09 down: %s, exit %d", bad.Status, *bad.ExitCode)
	}
	h := s.Hosts(bad.ID)
	if h["node05"].Worst != "failed" || h["node09"].Worst != "unreachable" || h["node04"].Rescued != 1 || h["node04"].Failed != 0 {
		t.Errorf("hosts: node05 %+v, node09 %+v, node04 %+v", h["node05"], h["node09"], h["node04"])
	}
	if !bad.Warned("hosts_unreachable") {
		t.Errorf("warnings: %v", bad.Warnings)
	}
	f.run("start-one", f.state, "9")
	again := s.Act("/v1/runs/" + bad.ID + "/relaunch-failed")
	if again.Source != "relaunch" || again.RetryOf != bad.ID {
		t.Errorf("relaunched as %+v", again)
	}
	again = s.Await(again.ID)
	var names []string
	for n := range s.Hosts(again.ID) {
		names = append(names, n)
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"node05", "node09"}) {
		t.Errorf("the relaunch touched %v (%s)\n%s", names, again.Status, s.Log(again.ID))
	}
	var cmp struct {
		Hosts []struct{ Host, Before, After, Verdict string } `json:"hosts"`
	}
	s.Do(http.MethodGet, "/v1/runs/"+again.ID+"/compare?with="+bad.ID, nil).JSON(t, &cmp)
	verdicts := map[string]string{}
	for _, c := range cmp.Hosts {
		verdicts[c.Host] = c.Verdict
	}
	if verdicts["node09"] != "recovered" || verdicts["node01"] != "gone" {
		t.Errorf("verdicts: %v", verdicts)
	}
	if a := s.Do(http.MethodPost, "/v1/runs/"+s.Await(s.Submit(body(harness.Body{"tags": []string{"base"}})).ID).ID+"/relaunch-failed", nil); a.Status != 409 {
		t.Errorf("relaunch of a run without failed hosts: %d", a.Status)
	}
}

// drift tampers with three hosts and expects exactly those in a dry run.
func drift(t *testing.T, s *harness.Server, f *sshFleet, body func(harness.Body) harness.Body) {
	t.Helper()
	if r := s.Await(s.Submit(body(nil)).ID); r.Status != "succeeded" {
		t.Fatalf("converge: %s\n%s", r.Status, s.Log(r.ID))
	}
	root := func(n, file string) string { return filepath.Join(f.state, "hosts", n, "root", file) }
	id, err := os.ReadFile(root("node05", "etc/identity"))
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{os.WriteFile(root("node05", "etc/identity"), append(id, "tampered\n"...), 0o600),
		os.Remove(root("node02", "etc/limits.conf")), os.Chmod(root("node06", "etc/release"), 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	r := s.Await(s.Submit(body(harness.Body{"dry_run": true})).ID)
	changed := map[string]int{}
	for _, e := range s.Events(r.ID) {
		if e.Type == "host_ok" && e.Changed {
			changed[e.Host]++
			if len(e.Diff) == 0 {
				t.Errorf("%s %s changed without a diff", e.Host, e.Task)
			}
		}
	}
	if r.Status != "succeeded" || len(changed) != 3 || changed["node02"] != 1 || changed["node05"] != 1 || changed["node06"] != 1 {
		t.Errorf("drift: %s, %v", r.Status, changed)
	}
}

// pitfalls are the runs that touch nobody and succeed all the same.
func pitfalls(t *testing.T, s *harness.Server, body func(harness.Body) harness.Body) {
	t.Helper()
	for _, c := range []struct {
		more harness.Body
		warn string
	}{
		{harness.Body{"inventory": "/nowhere/hosts.ini"}, "inventory_path_missing"},
		{harness.Body{"limit": "nosuchhost"}, "pattern_unmatched"},
	} {
		r := s.Await(s.Submit(body(c.more)).ID)
		if r.Status != "succeeded" || *r.ExitCode != 0 || *r.HostsTouched != 0 || !r.Warned(c.warn) || !r.Warned("no_hosts_matched") {
			t.Errorf("%v: %s, touched %d, %v", c.more, r.Status, *r.HostsTouched, r.Warnings)
		}
	}
}

// TestRealPlaybooks runs the collected playbooks of others and expects what their manifest says.
func TestRealPlaybooks(t *testing.T) {
	t.Parallel()
	dir := copyTree(t, filepath.Join(sharedDir(t), "testdata", "ansible"))
	s := harness.Start(t, harness.Options{})
	local := filepath.Join(t.TempDir(), "local.ini")
	if err := os.WriteFile(local, []byte("localhost ansible_connection=local ansible_python_interpreter=/usr/bin/python3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	type play struct {
		playbook, inventory string
		exit                int
		env                 map[string]string
		dry                 bool
	}
	submitted := map[string]play{}
	for _, c := range []play{
		{playbook: "runner-debug/project/debug.yml", inventory: "runner-debug/inventory"},
		{playbook: "runner-host_status/project/gen_host_status.yml", inventory: "runner-host_status/inventory", exit: 4},
		{playbook: "runner-job_env/project/printenv.yml", inventory: "runner-job_env/inventory"},
		{playbook: "runner-printenv/project/get_environment.yml", inventory: "runner-printenv/inventory"},
		{playbook: "runner-sleep/project/sleep.yml", inventory: "runner-sleep/inventory"},
		{playbook: "runner-use_role/use_role.yml", inventory: "runner-use_role/inventory", env: map[string]string{"ANSIBLE_ROLES_PATH": filepath.Join(dir, "runner-use_role", "roles")}},
		{playbook: "runner-demo/project/test.yml", inventory: "runner-demo/inventory"},
		{playbook: "awx-test-playbooks/async_tasks.yml"}, {playbook: "awx-test-playbooks/chatty_tasks.yml"},
		{playbook: "awx-test-playbooks/check.yml", exit: 2}, {playbook: "awx-test-playbooks/check.yml", dry: true},
		{playbook: "awx-test-playbooks/debug-loop.yml"}, {playbook: "awx-test-playbooks/fail_unless.yml", exit: 2},
		{playbook: "awx-test-playbooks/gather_facts.yml"}, {playbook: "awx-test-playbooks/gather_facts_set_stats.yml"},
		{playbook: "awx-test-playbooks/handler.yml"}, {playbook: "awx-test-playbooks/rescued_not_failed.yml"},
		{playbook: "awx-test-playbooks/serial.yml"}, {playbook: "awx-test-playbooks/sleep.yml"},
		{playbook: "awx-test-playbooks/test_set_stats.yml"}, {playbook: "awx-test-playbooks/use_facts.yml", exit: 2},
		{playbook: "awx-test-playbooks/vault.yml", exit: 1}, {playbook: "awx-test-playbooks/vaulted_debug_hostvars.yml", exit: 1},
		{playbook: "devops-deployments-rolling/playbooks/main.yml", exit: 1, dry: true}, {playbook: "devops-deployments-rolling/playbooks/provision.yml", exit: 1, dry: true},
	} {
		inv := local
		if c.inventory != "" {
			inv = filepath.Join(dir, c.inventory)
		}
		b := harness.Body{"playbook": filepath.Join(dir, c.playbook), "inventory": inv, "dry_run": c.dry}
		if c.env != nil {
			b["env"] = c.env
		}
		submitted[s.Submit(b).ID] = c
	}
	for id, c := range submitted {
		r := s.Await(id)
		if r.ExitCode == nil || *r.ExitCode != c.exit || (r.Status == "succeeded") != (*r.ExitCode == 0) {
			t.Errorf("%s: %s, exit %v (%s), want %d\n%s", c.playbook, r.Status, r.ExitCode, r.Error, c.exit, s.Log(r.ID))
		}
		checkJournal(t, s.Client, r)
	}
}
