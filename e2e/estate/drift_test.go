package estate

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// drifting is a server with a stored inventory, and a playbook that differs from each host.
type drifting struct {
	accounts
	playbook, inventory string
}

const asHere = " ansible_connection=local ansible_python_interpreter=/usr/bin/python3\n"

func newDrifting(t *testing.T, db string) *drifting {
	t.Helper()
	dir := harness.Shared(t)
	s := &drifting{accounts: accounts{harness.Start(t, harness.Options{DB: db}), t},
		playbook: filepath.Join(dir, "site.yml")}
	if err := os.WriteFile(s.playbook, []byte("- hosts: all\n  tasks:\n    - copy: {content: x, dest: '"+dir+
		"/{{ inventory_hostname }}'}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.inventory = s.made("/v1/inventories", harness.Body{"name": "fleet", "content": "web1" + asHere + "web2" + asHere}).ID
	return s
}

// driftPage is the drift that a caller is shown.
type driftPage struct {
	Resources []struct {
		Host  string
		RunID string `json:"run_id"`
	}
	Total, Hosts, Ignored, Withheld int
}

// look makes a dry run, and expects the hosts that drift.
func (s *drifting) look(limit, want string) {
	s.t.Helper()
	r := s.Await(s.Submit(harness.Body{"playbook": s.playbook, "inventory_id": s.inventory, "dry_run": true,
		"limit": limit}).ID)
	if r.Status != "succeeded" {
		s.t.Fatalf("%s\n%s", r.Status, s.Log(r.ID))
	}
	var page driftPage
	var got []string
	harness.Eventually(s.t, time.Minute, "drift of "+want, func() bool {
		s.read(s.Client, "/v1/drift", &page)
		got = nil
		for _, x := range page.Resources {
			got = append(got, x.Host)
		}
		return len(got) > 0 && page.Resources[0].RunID == r.ID
	})
	if text := strings.Join(got, " "); text != want || page.Hosts != len(got) {
		s.t.Errorf("with the limit %q: %s, %d hosts; want %s", limit, text, page.Hosts, want)
	}
}

// counted expects the metrics of drifting resources and hosts.
func (s *drifting) counted(resources, hosts int) {
	s.t.Helper()
	text := string(s.As("").Do(http.MethodGet, "/metrics", nil).Body)
	for _, line := range []string{fmt.Sprintf(`writ_drift{confidence="diff"} %d`, resources),
		fmt.Sprintf(`writ_drift_hosts{state="drifting"} %d`, hosts)} {
		if !strings.Contains(text, line) {
			s.t.Errorf("the metrics lack %s", line)
		}
	}
}

// TestGoneHostsDoNotDrift takes a host out of an inventory: its drift ends with a dry run of all hosts, and what is
// known of it stays.
func TestGoneHostsDoNotDrift(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, db string) {
		s := newDrifting(t, db)
		s.look("", "web1 web2")
		if a := s.Do(http.MethodPut, "/v1/inventories/"+s.inventory, harness.Body{"name": "fleet",
			"content": "web1" + asHere}); a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		s.look("web1", "web1 web2")
		s.counted(2, 2)
		s.look("", "web1")
		s.counted(1, 1)
		for _, path := range []string{"/v1/hosts/web2", "/v1/hosts/web2/facts"} {
			if a := s.Do(http.MethodGet, path, nil); a.Status != http.StatusOK {
				t.Errorf("%s: %d %s", path, a.Status, a.Body)
			}
		}
	})
}

// TestRulesByRole writes and reads rules by each role, and tells who may not read drift nothing by them.
func TestRulesByRole(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, db string) {
		s := newDrifting(t, db)
		s.look("", "web1 web2")
		_, viewer := s.join("viewer", "viewer")
		_, operator := s.join("operator", "operator")
		bounded := s.As(s.made("/v1/tokens", harness.Body{"name": "reads", "scopes": []string{"read"}}).Token)
		const path = "/v1/drift/ignores"
		rule := harness.Body{"host": "web1", "resource": "copy *", "reason": "test"}
		made := operator.Do(http.MethodPost, path, rule)
		one := made.Header.Get("Location")
		if made.Status != http.StatusCreated {
			t.Fatalf("%d %s", made.Status, made.Body)
		}
		for who, c := range map[string]struct {
			harness.Client
			reads, writes int
		}{
			"nobody":        {s.As("none"), http.StatusUnauthorized, http.StatusUnauthorized},
			"viewer":        {viewer, http.StatusOK, http.StatusForbidden},
			"reading token": {bounded, http.StatusOK, http.StatusForbidden},
			"operator":      {operator, http.StatusOK, http.StatusOK}, "admin": {s.Client, http.StatusOK, http.StatusOK},
		} {
			for _, p := range []string{path, one} {
				if a := c.Do(http.MethodGet, p, nil); a.Status != c.reads {
					t.Errorf("%s reads %s: %d %s", who, p, a.Status, a.Body)
				}
			}
			if a := c.Do(http.MethodPut, one, rule); a.Status != c.writes {
				t.Errorf("%s writes: %d %s", who, a.Status, a.Body)
			}
			if c.writes == http.StatusOK {
				continue
			}
			for _, a := range []harness.Answer{c.Do(http.MethodPost, path, rule), c.Do(http.MethodDelete, one, nil)} {
				if a.Status != c.writes {
					t.Errorf("%s writes: %d %s", who, a.Status, a.Body)
				}
			}
		}
		expect := func(who harness.Client, total, ignored, withheld int) {
			t.Helper()
			var p driftPage
			if s.read(who, "/v1/drift", &p); p.Total != total || p.Ignored != ignored || p.Withheld != withheld {
				t.Errorf("%d, %d ignored, %d withheld; want %d, %d, %d", p.Total, p.Ignored, p.Withheld, total, ignored,
					withheld)
			}
		}
		expect(operator, 1, 1, 0)
		team := s.made("/v1/teams", harness.Body{"name": "Others"}).ID
		s.made("/v1/grants", harness.Body{"subject": "team:" + team, "object": "queue:default", "level": "read"})
		expect(operator, 0, 0, 2)
		s.counted(2, 2)
		if a := operator.Do(http.MethodDelete, one, nil); a.Status != http.StatusNoContent {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		expect(operator, 0, 0, 2)
		expect(s.Client, 2, 0, 0)
		s.counted(2, 2)
	})
}
