package scenarios

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
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
	// The first ones touch what differs: an inventory with every state of a host, a role path, an error, a dry run.
	plays := []play{
		{playbook: "runner-host_status/project/gen_host_status.yml", inventory: "runner-host_status/inventory", exit: 4},
		{playbook: "runner-use_role/use_role.yml", inventory: "runner-use_role/inventory",
			env: map[string]string{"ANSIBLE_ROLES_PATH": filepath.Join(dir, "runner-use_role", "roles")}},
		{playbook: "awx-test-playbooks/check.yml", exit: 2}, {playbook: "awx-test-playbooks/check.yml", dry: true},
		{playbook: "awx-test-playbooks/vault.yml", exit: 1},
		{playbook: "runner-debug/project/debug.yml", inventory: "runner-debug/inventory"},
		{playbook: "runner-job_env/project/printenv.yml", inventory: "runner-job_env/inventory"},
		{playbook: "runner-printenv/project/get_environment.yml", inventory: "runner-printenv/inventory"},
		{playbook: "runner-sleep/project/sleep.yml", inventory: "runner-sleep/inventory"},
		{playbook: "runner-demo/project/test.yml", inventory: "runner-demo/inventory"},
		{playbook: "awx-test-playbooks/async_tasks.yml"}, {playbook: "awx-test-playbooks/chatty_tasks.yml"},
		{playbook: "awx-test-playbooks/debug-loop.yml"}, {playbook: "awx-test-playbooks/fail_unless.yml", exit: 2},
		{playbook: "awx-test-playbooks/gather_facts.yml"}, {playbook: "awx-test-playbooks/gather_facts_set_stats.yml"},
		{playbook: "awx-test-playbooks/handler.yml"}, {playbook: "awx-test-playbooks/rescued_not_failed.yml"},
		{playbook: "awx-test-playbooks/serial.yml"}, {playbook: "awx-test-playbooks/sleep.yml"},
		{playbook: "awx-test-playbooks/test_set_stats.yml"}, {playbook: "awx-test-playbooks/use_facts.yml", exit: 2},
		{playbook: "awx-test-playbooks/vaulted_debug_hostvars.yml", exit: 1},
		{playbook: "devops-deployments-rolling/playbooks/main.yml", exit: 1, dry: true}, {playbook: "devops-deployments-rolling/playbooks/provision.yml", exit: 1, dry: true},
	}
	submitted := map[string]play{}
	for _, c := range plays[:depthtest.Of(5, len(plays))] {
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
