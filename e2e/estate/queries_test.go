package estate

import (
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/e2e/harness"
)

// selecting is a server that has gathered the facts of four hosts of one stored inventory: web1 and web2 have the tier
// web, db1 has db, and gone is in the inventory no more.
type selecting struct {
	accounts
	dir, inventory string
}

func (s *selecting) file(name, text string) string {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return path
}

func newSelecting(t *testing.T, db string) *selecting {
	t.Helper()
	s := &selecting{accounts: accounts{harness.Start(t, harness.Options{DB: db}), t}, dir: harness.Shared(t)}
	const vars = "\n[all:vars]\nansible_connection=local\nansible_python_interpreter=/usr/bin/python3\nmark=c4nary\n"
	s.inventory = s.made("/v1/inventories", harness.Body{"name": "fleet",
		"content": "web1 ansible_port=2222\nweb2\ndb1\ngone\n" + vars}).ID
	for host, tier := range map[string]string{"web1": "web", "web2": "web", "db1": "db", "gone": "web"} {
		s.file(host+"/app.fact", `{"tier": "`+tier+`"}`)
	}
	gather := s.file("gather.yml", "- hosts: all\n  gather_facts: false\n  tasks:\n"+
		"    - ansible.builtin.setup: {fact_path: '"+s.dir+"/{{ inventory_hostname }}'}\n")
	if r := s.Await(s.Submit(harness.Body{"playbook": gather, "inventory_id": s.inventory}).ID); r.Status != "succeeded" {
		t.Fatalf("%s\n%s", r.Status, s.Log(r.ID))
	}
	harness.Eventually(t, time.Minute, "the facts are recorded", func() bool {
		return len(s.hosts(s.Client, "")) == 4
	})
	if a := s.Do(http.MethodPut, "/v1/inventories/"+s.inventory, harness.Body{"name": "fleet",
		"content": "web1 ansible_port=2222\nweb2\ndb1\n" + vars}); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	return s
}

// hosts returns the hosts of an inventory of the estate.
func (s *selecting) hosts(c harness.Client, query string) []string {
	s.t.Helper()
	var doc struct{ All struct{ Hosts []string } }
	s.read(c, "/v1/estate/inventory?q="+url.QueryEscape(query), &doc)
	return doc.All.Hosts
}

// chosen is what a run says about its hosts.
type chosen struct {
	InventoryID    string   `json:"inventory_id"`
	InventoryQuery string   `json:"inventory_query"`
	LimitHosts     []string `json:"limit_hosts"`
	Approvals      struct{ Hosts struct{ Names []string } }
}

func (s *selecting) chosen(id string, hosts ...string) chosen {
	s.t.Helper()
	var got chosen
	s.read(s.Client, "/v1/runs/"+id, &got)
	if diff := cmp.Diff(hosts, got.LimitHosts); diff != "" || got.InventoryID != s.inventory || got.InventoryQuery == "" {
		s.t.Errorf("%+v\n%s", got, diff)
	}
	return got
}

// refused expects a 400 that names a member and says something.
func (s *selecting) refused(a harness.Answer, member, says string) {
	s.t.Helper()
	var p struct {
		Errors []struct{ Location, Message string }
	}
	if a.JSON(s.t, &p); a.Status != http.StatusBadRequest || len(p.Errors) != 1 || p.Errors[0].Location != member ||
		!strings.Contains(p.Errors[0].Message, says) {
		s.t.Errorf("%d %s, not %s: %s", a.Status, a.Body, member, says)
	}
}

// TestQueriedHosts gathers real facts and runs a real playbook on the hosts that fit: exactly these.
func TestQueriedHosts(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, db string) {
		s := newSelecting(t, db)
		const query = "local.app.tier=web and cpu.count>0 and mounts./.used_percent>=0"
		if diff := cmp.Diff([]string{"gone", "web1", "web2"}, s.hosts(s.Client, query)); diff != "" {
			t.Fatal(diff)
		}
		s.byTheTool(query)
		touch := s.file("touch.yml", "- hosts: all\n  gather_facts: false\n  tasks:\n"+
			"    - ansible.builtin.command: touch "+s.dir+"/done/{{ inventory_hostname }}\n")
		done := func(hosts ...string) {
			t.Helper()
			list, err := os.ReadDir(filepath.Join(s.dir, "done"))
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, f := range list {
				names = append(names, f.Name())
				if err := os.Remove(filepath.Join(s.dir, "done", f.Name())); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(hosts, names); diff != "" {
				t.Errorf("the hosts that were touched: %s", diff)
			}
		}
		if err := os.MkdirAll(filepath.Join(s.dir, "done"), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(s.dir, "done"), 0o777); err != nil {
			t.Fatal(err)
		}
		body := harness.Body{"playbook": touch, "inventory_query": query}
		r := s.Await(s.Submit(body).ID)
		s.chosen(r.ID, "web1", "web2")
		done("web1", "web2")

		// What ran is repeated, whatever the facts are now. A launch of a template selects again.
		again := s.Await(s.Act("/v1/runs/" + r.ID + "/rerun").ID)
		s.chosen(again.ID, "web1", "web2")
		done("web1", "web2")
		tpl := s.made("/v1/templates", harness.Body{"name": "touch", "playbook": touch, "inventory_query": query}).ID
		s.chosen(s.Await(s.Act("/v1/templates/"+tpl+"/launch").ID).ID, "web1", "web2")
		done("web1", "web2")

		body["require_approval"] = true
		held := s.chosen(s.Submit(body).ID, "web1", "web2")
		if diff := cmp.Diff([]string{"web1", "web2"}, held.Approvals.Hosts.Names); diff != "" {
			t.Errorf("the hosts that are approved: %s", diff)
		}
		pipeline := s.Do(http.MethodPost, "/v1/pipelines", harness.Body{"steps": []harness.Body{
			{"name": "one", "playbook": touch, "inventory_query": "host=db1"}}})
		var p harness.Run
		if pipeline.JSON(t, &p); pipeline.Status != http.StatusCreated {
			t.Fatalf("%d %s", pipeline.Status, pipeline.Body)
		}
		s.Await(p.ID)
		done("db1")
		s.refusals(touch, query, tpl)
	})
}

// byTheTool reads the answer with the real tool, which sees no other variable than those that are published.
func (s *selecting) byTheTool(query string) {
	s.t.Helper()
	script := filepath.Join(s.t.TempDir(), "estate")
	text := "#!/usr/bin/python3\nimport os\nfrom urllib.request import Request, urlopen\n" +
		"r = Request('" + s.URL + "/v1/estate/inventory?q=" + url.QueryEscape(query) + "')\n" +
		"r.add_header('Authorization', 'Bearer ' + os.environ['T'])\nprint(urlopen(r).read().decode())\n"
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil { //nolint:gosec // a program
		s.t.Fatal(err)
	}
	tool := exec.Command("ansible", "-i", script, "all", "-m", "debug", "-a", "msg={{ inventory_hostname }}/"+
		"{{ writ_facts.os.family }}/{{ ansible_port|default('none') }}/{{ mark|default('none') }}")
	tool.Env = append(os.Environ(), "T="+s.Token, "ANSIBLE_NOCOLOR=1")
	out, err := tool.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "web1/Debian/2222/none") ||
		!strings.Contains(string(out), "web2/Debian/none/none") || strings.Contains(string(out), "db1") {
		s.t.Errorf("%v\n%s", err, out)
	}
}

// refusals tries what cannot be chosen, and who may not choose.
func (s *selecting) refusals(touch, query, tpl string) {
	s.t.Helper()
	run := func(c harness.Client, more harness.Body) harness.Answer {
		body := harness.Body{"playbook": touch, "inventory_query": query}
		for k, v := range more {
			body[k] = v
		}
		return c.Do(http.MethodPost, "/v1/runs", body)
	}
	s.refused(run(s.Client, harness.Body{"inventory_query": "host=gone"}), "inventory_query", "no host fits")
	s.refused(run(s.Client, harness.Body{"inventory_query": "host="}), "inventory_query", "column 6")
	s.refused(run(s.Client, harness.Body{"tool": "bash", "command": "true"}), "inventory_query", "only ansible")
	s.refused(s.Do(http.MethodPost, "/v1/schedules", harness.Body{"name": "s", "cron": "@daily", "template_id": tpl}),
		"template_id", "inventory_id")
	s.refused(s.Do(http.MethodGet, "/v1/estate/inventory?q=a", nil), "q", "column 2")
	other := s.made("/v1/inventories", harness.Body{"name": "other", "content": "db1 ansible_connection=local\nweb2\n"}).ID
	a := run(s.Client, harness.Body{"inventory_id": other, "require_approval": true})
	var r chosen
	if a.JSON(s.t, &r); a.Status != http.StatusCreated || !slices.Equal(r.LimitHosts, []string{"web2"}) {
		s.t.Errorf("with another inventory: %d %s", a.Status, a.Body)
	}
	// Who may not read the inventory sees no facts that were gathered with it, and selects no host.
	owner, _ := s.join("owner", "operator")
	_, operator := s.join("operator", "operator")
	if hosts := s.hosts(operator, query); len(hosts) != 3 {
		s.t.Errorf("an operator sees %v", hosts)
	}
	s.made("/v1/grants", harness.Body{"subject": "user:" + owner, "object": s.inventory, "level": "use"})
	if hosts := s.hosts(operator, query); len(hosts) != 0 {
		s.t.Errorf("a restricted operator sees %v", hosts)
	}
	s.refused(run(operator, nil), "inventory_query", "no host fits")
	if a := s.As("").Do(http.MethodGet, "/v1/estate/inventory", nil); a.Status != http.StatusUnauthorized {
		s.t.Errorf("nobody: %d", a.Status)
	}
}
