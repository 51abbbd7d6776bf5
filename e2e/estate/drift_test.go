package estate

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestGoneHostsDoNotDrift takes a host out of an inventory: its drift ends with a dry run of all hosts, and what is
// known of it stays.
func TestGoneHostsDoNotDrift(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, db string) {
		s := accounts{harness.Start(t, harness.Options{DB: db}), t}
		dir := harness.Shared(t)
		playbook := filepath.Join(dir, "site.yml")
		if err := os.WriteFile(playbook, []byte("- hosts: all\n  tasks:\n    - copy: {content: x, dest: '"+dir+
			"/{{ inventory_hostname }}'}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		const vars = " ansible_connection=local ansible_python_interpreter=/usr/bin/python3\n"
		inventory := s.made("/v1/inventories", harness.Body{"name": "fleet", "content": "web1" + vars + "web2" + vars}).ID
		look := func(limit, want string) {
			t.Helper()
			r := s.Await(s.Submit(harness.Body{"playbook": playbook, "inventory_id": inventory, "dry_run": true,
				"limit": limit}).ID)
			if r.Status != "succeeded" {
				t.Fatalf("%s\n%s", r.Status, s.Log(r.ID))
			}
			var page struct {
				Resources []struct {
					Host  string
					RunID string `json:"run_id"`
				}
				Hosts int
			}
			var got []string
			harness.Eventually(t, time.Minute, "drift of "+want, func() bool {
				s.read(s.Client, "/v1/drift", &page)
				got = nil
				for _, x := range page.Resources {
					got = append(got, x.Host)
				}
				return len(got) > 0 && page.Resources[0].RunID == r.ID
			})
			if text := strings.Join(got, " "); text != want || page.Hosts != len(got) {
				t.Errorf("with the limit %q: %s, %d hosts; want %s", limit, text, page.Hosts, want)
			}
		}
		look("", "web1 web2")
		if a := s.Do(http.MethodPut, "/v1/inventories/"+inventory, harness.Body{"name": "fleet",
			"content": "web1" + vars}); a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		look("web1", "web1 web2")
		look("", "web1")
		for _, path := range []string{"/v1/hosts/web2", "/v1/hosts/web2/facts"} {
			if a := s.Do(http.MethodGet, path, nil); a.Status != http.StatusOK {
				t.Errorf("%s: %d %s", path, a.Status, a.Body)
			}
		}
	})
}
