package isolation

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/e2e/fleet"
	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/platform/sshtest"
	"github.com/writ-automation/writ/ports/depthtest"
)

// hostKey is an accepted key in a record.
type hostKey struct{ Host, Type, Fingerprint string }

// touch is a play that writes a file on each host.
const touch = "- hosts: all\n  gather_facts: false\n  tasks: [{raw: 'touch {{ host_root }}/canary'}]\n"

// keyed is a server with an inventory over real ssh hosts, of whose keys the inventory's text tells nothing.
type keyed struct {
	*harness.Server
	t       *testing.T
	fleet   *fleet.Fleet
	content string
	id      string // of the inventory
}

func newKeyed(t *testing.T, o harness.Options, hosts int) *keyed {
	t.Helper()
	f := fleet.New(t, hosts)
	var b strings.Builder
	for _, h := range f.Hosts() {
		fmt.Fprintf(&b, "%s ansible_host=%s ansible_port=%d host_root=%s\n", h.Name, h.Address, h.Port, h.Root())
	}
	fmt.Fprintf(&b, "[all:vars]\nansible_user=%s\nansible_ssh_private_key_file=%s\nansible_ssh_use_tty=no\n"+
		"ansible_ssh_common_args='-F none -o IdentitiesOnly=yes -o StrictHostKeyChecking=no'\n", f.User(), f.KeyPath())
	dir := harness.Shared(t)
	for name, text := range map[string]string{"site.yml": touch, "ansible.cfg": "[defaults]\nhost_key_checking = no\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil { //nolint:gosec // for runs
			t.Fatal(err)
		}
	}
	o.Flags = append(o.Flags, "--work-dir", dir)
	k := &keyed{Server: harness.Start(t, o), t: t, fleet: f, content: b.String()}
	if slices.Contains(o.Flags, "0") { // executors
		harness.StartWorker(t, harness.WorkerOptions{Server: k.URL, Flags: []string{"--work-dir", dir}})
	}
	var made struct{ ID string }
	k.Do(http.MethodPost, "/v1/inventories", harness.Body{"name": "fleet", "format": "ini", "content": k.content}).
		JSON(t, &made)
	k.id = made.ID
	return k
}

// sets changes how the inventory treats host keys.
func (k *keyed) sets(policy, knownHosts string) {
	k.t.Helper()
	a := k.Do(http.MethodPut, "/v1/inventories/"+k.id,
		harness.Body{"name": "fleet", "host_key_policy": policy, "known_hosts": knownHosts})
	if a.Status != http.StatusOK {
		k.t.Fatalf("%d %s", a.Status, a.Body)
	}
}

// runs executes the play and returns the keys that the record has as accepted. It checks on which hosts the play did
// something, and the warning.
func (k *keyed) runs(executed bool, warning string) []hostKey {
	k.t.Helper()
	r := k.Await(k.Submit(harness.Body{"playbook": "site.yml", "inventory_id": k.id}).ID)
	for _, h := range k.fleet.Hosts() {
		err := os.Remove(filepath.Join(h.Root(), "canary"))
		if executed != (err == nil) {
			k.t.Errorf("%s: executed is %t, want %t", h.Name, err == nil, executed)
		}
	}
	if (r.Status == "succeeded") != executed || warning != "" && !r.Warned(warning) {
		k.t.Errorf("%s %v\n%s", r.Status, r.Warnings, k.Log(r.ID))
	}
	return k.accepted(r.ID)
}

// accepted returns the accepted keys of a record, which the evidence repeats.
func (k *keyed) accepted(id string) []hostKey {
	k.t.Helper()
	type record struct {
		Keys []hostKey `json:"accepted_host_keys"`
	}
	var got record
	var evidence struct{ Run record }
	k.Do(http.MethodGet, "/v1/runs/"+id, nil).JSON(k.t, &got)
	k.Do(http.MethodGet, "/v1/runs/"+id+"/evidence?format=json", nil).JSON(k.t, &evidence)
	if d := cmp.Diff(got, evidence.Run); d != "" {
		k.t.Errorf("the evidence differs: %s", d)
	}
	slices.SortFunc(got.Keys, func(a, b hostKey) int { return strings.Compare(a.Host, b.Host) })
	return got.Keys
}

// known returns the known_hosts of the fleet.
func (k *keyed) known() string {
	k.t.Helper()
	b, err := os.ReadFile(k.fleet.KnownHostsPath())
	if err != nil {
		k.t.Fatal(err)
	}
	return string(b)
}

// changed returns known_hosts with another key for each host.
func (k *keyed) changed() string {
	k.t.Helper()
	path := filepath.Join(k.t.TempDir(), "other")
	if err := sshtest.WriteKey(path, "other"); err != nil {
		k.t.Fatal(err)
	}
	key, err := os.ReadFile(path + ".pub")
	if err != nil {
		k.t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(k.known()) {
		fmt.Fprintf(&b, "%s %s", strings.Fields(line)[0], key)
	}
	return b.String()
}

// fleetKeys returns the keys of the hosts, as ssh-keygen shows them.
func (k *keyed) fleetKeys() (out []hostKey) {
	k.t.Helper()
	text, err := exec.Command("ssh-keygen", "-lf", k.fleet.KnownHostsPath()).Output()
	if err != nil {
		k.t.Fatal(err)
	}
	prints := strings.Split(strings.TrimSpace(string(text)), "\n")
	for n, line := range strings.Split(strings.TrimSpace(k.known()), "\n") {
		f := strings.Fields(line)
		out = append(out, hostKey{f[0], f[1], strings.Fields(prints[n])[1]})
	}
	slices.SortFunc(out, func(a, b hostKey) int { return strings.Compare(a.Host, b.Host) })
	return out
}

func (k *keyed) same(what string, want, got []hostKey) {
	k.t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		k.t.Errorf("%s: %s", what, d)
	}
}

// TestHostKeys runs a play over real hosts under both policies, with known, unknown and changed keys. The project and
// the inventory's variables ask not to check.
func TestHostKeys(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		k := newKeyed(t, harness.Options{DB: dbURL}, 2)
		all := k.fleetKeys()
		k.same("first contact", all, k.runs(true, ""))
		if dbURL != "" && !depthtest.Long { // what a database has a part in
			k.sets("strict", k.changed())
			k.same("changed, strict", nil, k.runs(false, "host_key_changed"))
			return
		}
		k.same("no run learns from another one", all, k.runs(true, ""))
		k.sets("strict", "")
		k.same("unknown, strict", nil, k.runs(false, "host_key_unknown"))
		k.sets("strict", k.known())
		k.same("known, strict", nil, k.runs(true, ""))
		k.sets("strict", k.changed())
		k.same("changed, strict", nil, k.runs(false, "host_key_changed"))
		k.sets("accept-new", k.changed())
		k.same("changed", nil, k.runs(false, "host_key_changed"))
		k.sets("accept-new", strings.SplitAfter(k.known(), "\n")[0])
		k.same("one of them is known", all[1:], k.runs(true, ""))
	})
}

// TestHostKeysOfShards checks that each shard has the keys that it accepted.
func TestHostKeysOfShards(t *testing.T) {
	t.Parallel()
	k := newKeyed(t, harness.Options{}, 2)
	r := k.Await(k.Submit(harness.Body{"playbook": "site.yml", "inventory_id": k.id, "shards": 2}).ID)
	var list struct{ Shards []struct{ ID string } }
	k.Do(http.MethodGet, "/v1/runs/"+r.ID+"/shards", nil).JSON(t, &list)
	var got []hostKey
	for _, s := range list.Shards {
		keys := k.accepted(s.ID)
		if len(keys) != 1 {
			t.Errorf("a shard accepted %v", keys)
		}
		got = append(got, keys...)
	}
	slices.SortFunc(got, func(a, b hostKey) int { return strings.Compare(a.Host, b.Host) })
	k.same("all shards", k.fleetKeys(), got)
	k.sets("strict", "")
	r = k.Await(k.Submit(harness.Body{"playbook": "site.yml", "inventory_id": k.id, "shards": 2}).ID)
	if r.Status != "failed" {
		t.Errorf("the split %s", r.Status)
	}
}

// TestHostKeysOverTheRelay does the same with a worker that has no database.
func TestHostKeysOverTheRelay(t *testing.T) {
	t.Parallel()
	k := newKeyed(t, harness.Options{Flags: []string{"--executors", "0"},
		Env: []string{"WRIT_WORKER_TOKEN=" + harness.WorkerToken}}, 1)
	k.same("first contact", k.fleetKeys(), k.runs(true, ""))
	k.sets("strict", "")
	k.same("unknown, strict", nil, k.runs(false, "host_key_unknown"))
	k.sets("accept-new", k.changed())
	k.same("changed", nil, k.runs(false, "host_key_changed"))
	k.sets("strict", k.known())
	k.same("known, strict", nil, k.runs(true, ""))
}

// TestLaunchesLeaveHostKeys checks that no value of a launch reaches the arguments of ssh.
func TestLaunchesLeaveHostKeys(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	var made struct{ ID string }
	s.Do(http.MethodPost, "/v1/templates", harness.Body{"name": "t", "playbook": "site.yml",
		"allow_overrides": []string{"extra_vars"}}).JSON(t, &made)
	for _, name := range []string{"ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_extra_args",
		"ansible_scp_extra_args", "ansible_sftp_extra_args", "ansible_host_key_checking", "ansible_ssh_host_key_checking",
		"ansible_paramiko_host_key_checking", "ansible_ssh_executable"} {
		a := s.Do(http.MethodPost, "/v1/templates/"+made.ID+"/launch",
			harness.Body{"extra_vars": harness.Body{name: "-o StrictHostKeyChecking=no"}})
		if a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), "vars_reserved") {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
}
