//go:build long

package scenarios

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/fleet"
	"github.com/writ-automation/writ/e2e/harness"
)

// sampleFleet starts ten real ssh hosts, and writes the inventory and the vault's password that the sample project
// needs.
func sampleFleet(t *testing.T) (f *fleet.Fleet, inventory, vault string) {
	t.Helper()
	f = fleet.New(t, 10)
	dir := harness.Shared(t)
	inventory, vault = filepath.Join(dir, "inventory.ini"), filepath.Join(dir, "vault-pass")
	hosts := f.Hosts()
	groups := []fleet.Group{
		{Name: "balancer", Hosts: hosts[:1]}, {Name: "store", Hosts: hosts[1:3]}, {Name: "front", Hosts: hosts[3:]},
	}
	text := f.InventoryOf(groups...) + "fleet_root='{{ host_root }}'\n"
	for name, text := range map[string]string{inventory: text, vault: "sample-vault-pass\n"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return f, inventory, vault
}

// TestSampleProject checks the outcomes of a site of ten ssh hosts: the one of this repository, and that of the
// collection if there is one.
func TestSampleProject(t *testing.T) {
	t.Parallel()
	sites := map[string]string{"own": filepath.Join("testdata", "fleet")}
	if dir := collection(t); dir != "" {
		sites["collected"] = filepath.Join(dir, "sample-project")
	}
	for name, dir := range sites {
		t.Run(name, func(t *testing.T) { sampleProject(t, copyTree(t, dir)) })
	}
}

func sampleProject(t *testing.T, site string) {
	t.Helper()
	f, inventory, vault := sampleFleet(t)
	s := harness.Start(t, harness.Options{})
	body := func(more harness.Body) harness.Body {
		b := harness.Body{"playbook": filepath.Join(site, "site.yml"), "inventory": inventory, "forks": 10,
			// Pipelining does the same with a third of the connections.
			"env": map[string]string{"ANSIBLE_VAULT_IDENTITY_LIST": "sample@" + vault, "ANSIBLE_PIPELINING": "1"}}
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
	for _, kept := range []string{s.Log(first.ID),
		string(s.Do(http.MethodGet, "/v1/runs/"+first.ID+"/events?download=1", nil).Body)} {
		if strings.Contains(kept, "tok-7f3e-sample-not-a-secret") ||
			strings.Contains(kept, "tok-of-the-fixture-not-a-secret") {
			t.Error("the vaulted value shows")
		}
	}
	failedAndDown(t, s, f, body)
	drift(t, s, f, body)
	pitfalls(t, s, body)
}

// failedAndDown makes one host fail, one rescued and one unreachable, then relaunches and compares.
func failedAndDown(t *testing.T, s *harness.Server, f *fleet.Fleet, body func(harness.Body) harness.Body) {
	t.Helper()
	if err := f.Host(9).Stop(); err != nil {
		t.Fatal(err)
	}
	vars := harness.Body{"break_hosts": []string{"node05"}, "rescue_hosts": []string{"node04"}, "release": "1.6.0"}
	bad := s.Await(s.Submit(body(harness.Body{"extra_vars": vars})).ID)
	if bad.Status != "failed" || *bad.ExitCode != 4 {
		t.Errorf("with node05 broken and node09 down: %s, exit %d", bad.Status, *bad.ExitCode)
	}
	h := s.Hosts(bad.ID)
	if h["node05"].Worst != "failed" || h["node09"].Worst != "unreachable" || h["node04"].Rescued != 1 ||
		h["node04"].Failed != 0 {
		t.Errorf("hosts: node05 %+v, node09 %+v, node04 %+v", h["node05"], h["node09"], h["node04"])
	}
	if !bad.Warned("hosts_unreachable") {
		t.Errorf("warnings: %v", bad.Warnings)
	}
	if err := f.Host(9).Start(t.Context()); err != nil {
		t.Fatal(err)
	}
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
		Hosts   []struct{ Host, Before, After, Verdict string } `json:"hosts"`
		Outside int                                             `json:"outside"`
	}
	s.Do(http.MethodGet, "/v1/runs/"+again.ID+"/compare?with="+bad.ID, nil).JSON(t, &cmp)
	verdicts := map[string]string{}
	for _, c := range cmp.Hosts {
		verdicts[c.Host] = c.Verdict
	}
	if verdicts["node09"] != "recovered" || len(verdicts) != 2 || cmp.Outside != 8 { // the limit has two of ten
		t.Errorf("verdicts: %v, outside %d", verdicts, cmp.Outside)
	}
	if a := s.Do(http.MethodPost, "/v1/runs/"+s.Await(s.Submit(body(harness.Body{"tags": []string{"base"}})).ID).
		ID+"/relaunch-failed", nil); a.Status != 409 {
		t.Errorf("relaunch of a run without failed hosts: %d", a.Status)
	}
}

// drift changes three hosts and expects exactly those in a dry run.
func drift(t *testing.T, s *harness.Server, f *fleet.Fleet, body func(harness.Body) harness.Body) {
	t.Helper()
	if r := s.Await(s.Submit(body(nil)).ID); r.Status != "succeeded" {
		t.Fatalf("converge: %s\n%s", r.Status, s.Log(r.ID))
	}
	root := func(n int, file string) string { return filepath.Join(f.Host(n).Root(), file) }
	id, err := os.ReadFile(root(5, "etc/identity"))
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{os.WriteFile(root(5, "etc/identity"), append(id, "tampered\n"...), 0o600),
		os.Remove(root(2, "etc/limits.conf")), os.Chmod(root(6, "etc/release"), 0o600)} {
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
	if r.Status != "succeeded" || len(changed) != 3 || changed["node02"] != 1 || changed["node05"] != 1 ||
		changed["node06"] != 1 {
		t.Errorf("drift: %s, %v", r.Status, changed)
	}
}

// pitfalls runs playbooks that touch no host and still succeed.
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
		if r.Status != "succeeded" || *r.ExitCode != 0 || *r.HostsTouched != 0 || !r.Warned(c.warn) ||
			!r.Warned("no_hosts_matched") {
			t.Errorf("%v: %s, touched %d, %v", c.more, r.Status, *r.HostsTouched, r.Warnings)
		}
	}
}
