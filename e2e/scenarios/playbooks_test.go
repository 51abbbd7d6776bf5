package scenarios

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
)

// collection returns the directory of third-party projects that may exist next to a checkout, or "". Its files have
// licences of their own and are not part of this repository. They are cases in addition to those of testdata.
func collection(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("WRIT_SHARED")
	if dir == "" {
		dir = repoFile(t, "..", "shared")
	}
	if _, err := os.Stat(filepath.Join(dir, "sample-project", "site.yml")); err != nil {
		return ""
	}
	return dir
}

// play is a playbook with its expected end.
type play struct {
	playbook, inventory string
	exit                int
	env                 map[string]string
	dry                 bool
}

// ownPlays cover different features: an inventory with every state of a host, a role path, an error, a dry run, what it
// has in its environment, a vault without its password.
func ownPlays(dir string) []play {
	return []play{
		{playbook: "states.yml", inventory: "inventories/states.ini", exit: 4},
		{playbook: "greet.yml", inventory: "inventories/local.ini",
			env: map[string]string{"ANSIBLE_ROLES_PATH": filepath.Join(dir, "roles")}},
		{playbook: "dry.yml", inventory: "inventories/local.ini", exit: 2},
		{playbook: "dry.yml", inventory: "inventories/local.ini", dry: true},
		{playbook: "environment.yml", inventory: "inventories/local.ini"},
		{playbook: "environment.yml", inventory: "inventories/local.ini", dry: true},
		{playbook: "parts.yml", inventory: "inventories/three.yml"},
		{playbook: "sealed.yml", inventory: "inventories/local.ini", exit: 1},
	}
}

// collectedPlays returns the playbooks of the collection with the expectations of its manifest.
func collectedPlays(dir string) []play {
	return []play{
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
		{playbook: "devops-deployments-rolling/playbooks/main.yml", exit: 1, dry: true},
		{playbook: "devops-deployments-rolling/playbooks/provision.yml", exit: 1, dry: true},
	}
}

// TestRealPlaybooks runs playbooks and checks the end of each.
func TestRealPlaybooks(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	dir := copyTree(t, filepath.Join("testdata", "plays"))
	runPlays(t, s, dir, ownPlays(dir))
	if others := collection(t); depthtest.Long && others != "" {
		dir := copyTree(t, filepath.Join(others, "testdata", "ansible"))
		runPlays(t, s, dir, collectedPlays(dir))
	}
}

// runPlays runs playbooks concurrently. Those without an inventory run on the local host.
func runPlays(t *testing.T, s *harness.Server, dir string, plays []play) {
	t.Helper()
	local := filepath.Join(harness.Shared(t), "local.ini")
	if err := os.WriteFile(local, []byte(
		"localhost ansible_connection=local ansible_python_interpreter=/usr/bin/python3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	submitted := map[string]play{}
	for _, c := range plays {
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
