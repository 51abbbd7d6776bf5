package ui

import (
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// estatePages are a server with one run of three hosts, of which one fails, and with an account of each role.
type estatePages struct {
	*harness.Server
	t                *testing.T
	operator, viewer harness.Client
	anonymous        harness.Client
	inventory        string
	project          string
}

func newEstatePages(t *testing.T) *estatePages {
	t.Helper()
	dir := harness.Shared(t)
	p := &estatePages{t: t, Server: harness.Start(t, harness.Options{Flags: []string{"--local-projects", dir}})}
	p.operator, p.viewer, p.anonymous = p.account("operator"), p.account("viewer"), p.As("")
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	p.anonymous.Via = &http.Client{CheckRedirect: stay}
	repo := filepath.Join(dir, "repo")
	p.write(filepath.Join(repo, "site.yml"), "- hosts: all\n  gather_facts: false\n  tasks:\n"+
		"    - ansible.builtin.setup: {gather_subset: ['!all', '!min', platform]}\n"+
		"    - name: Fail on request\n      ansible.builtin.raw: \"false\"\n      when: inventory_hostname == 'web2'\n")
	p.write(filepath.Join(repo, "roles", "README.md"), "<script>alert(1)</script>\n")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=Ada Reyes",
		"-c", "user.email=ada@example.net", "commit", "-qm", "First"}} {
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", repo}, args...)...).
			CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	p.inventory = p.made("/v1/inventories", harness.Body{"name": "production",
		"content": "[web]\nweb1\nweb2\n[db]\n\"<b>odd</b>\"\n[prod:children]\nweb\n[all:vars]\nansible_connection=local\n" +
			"ansible_python_interpreter=/usr/bin/python3\n"})
	p.project = p.made("/v1/projects", harness.Body{"name": "fleet", "repo_url": "file://" + repo, "branch": "main"})
	if a := p.Do(http.MethodPost, "/v1/projects/"+p.project+"/sync", nil); a.Status != http.StatusOK {
		t.Fatalf("sync: %d %s", a.Status, a.Body)
	}
	p.Await(p.Submit(harness.Body{"playbook": "site.yml", "project_id": p.project, "inventory_id": p.inventory,
		"name": "Patch <i>", "change": "CHG-1/2"}).ID)
	harness.Eventually(t, time.Minute, "the results and facts of the run are known", func() bool {
		var list struct{ Total int }
		var facts struct{ Count int }
		p.Do(http.MethodGet, "/v1/fleet", nil).JSON(t, &list)
		p.Do(http.MethodGet, "/v1/estate", nil).JSON(t, &facts)
		return list.Total == 3 && facts.Count == 3
	})
	return p
}

func (p *estatePages) write(path, text string) {
	p.t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *estatePages) made(path string, body harness.Body) string {
	p.t.Helper()
	var out struct{ ID string }
	a := p.Do(http.MethodPost, path, body)
	if a.JSON(p.t, &out); a.Status != http.StatusCreated {
		p.t.Fatalf("POST %s: %d %s", path, a.Status, a.Body)
	}
	return out.ID
}

func (p *estatePages) account(role string) harness.Client {
	p.t.Helper()
	id := p.made("/v1/users", harness.Body{"username": role, "role": role})
	var out struct{ Token string }
	p.Do(http.MethodPost, "/v1/tokens", harness.Body{"name": "test", "user_id": id}).JSON(p.t, &out)
	return p.As(out.Token)
}

// page reads a page, whose status and texts are wanted. Its markup has no handler, no style and no script of a record.
func (p *estatePages) page(c harness.Client, path string, status int, texts ...string) string {
	p.t.Helper()
	a := c.Do(http.MethodGet, path, nil)
	if a.Status != status {
		p.t.Fatalf("GET %s: %d, want %d: %s", path, a.Status, status, a.Body)
	}
	body := string(a.Body)
	bare := regexp.MustCompile(`"[^"]*"`).ReplaceAllString(body, `""`)
	if bad := regexp.MustCompile(`<[a-z][^>]*\s(on[a-z]+|style)=|<script>|<i>|<b>odd`).FindString(bare); bad != "" {
		p.t.Errorf("%s has %s", path, bad)
	}
	for _, text := range texts {
		if !strings.Contains(body, text) {
			p.t.Errorf("%s lacks %q", path, text)
		}
	}
	return body
}

func (p *estatePages) lacks(body string, texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		if strings.Contains(body, text) {
			p.t.Errorf("the page has %q", text)
		}
	}
}

// send posts a form as a browser without script does.
func (p *estatePages) send(c harness.Client, path string, form url.Values) harness.Answer {
	p.t.Helper()
	return c.Do(http.MethodPost, path, form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
}

func TestFleetPages(t *testing.T) {
	t.Parallel()
	p := newEstatePages(t)
	p.page(p.viewer, "/ui/fleet", 200, "1 of 3 hosts failed within the last 12 runs of each", "&lt;b&gt;odd&lt;/b&gt;",
		`aria-label="Oldest first: failed"`)
	p.page(p.viewer, "/ui/fleet?view=folded", 200, "2 hosts</b> alike")
	p.lacks(p.page(p.viewer, "/ui/fleet?q=web1", 200, "has “web1” did not fail in its last 12 runs."), ">web2<")
	host := p.page(p.operator, "/ui/fleet/web2", 200, "Fails in each of its 1 kept run", "at Fail on request",
		"production", "in prod, web", "ansible_system", "as first seen", "Run something on it")
	if found := strings.Count(host, "Patch &lt;i&gt;"); found != 1 {
		t.Errorf("the run is listed %d times", found)
	}
	p.lacks(p.page(p.viewer, "/ui/fleet/web1?facts=system", 200, "ansible_system"), "Run something on it",
		"ansible_kernel_version")
	p.page(p.viewer, "/ui/fleet/"+url.PathEscape(`<b>odd</b>`), 200, "Did not fail")
	p.page(p.viewer, "/ui/fleet/web3", 404, "Host not found", "Similar names", ">web1<")
	p.page(p.viewer, "/ui/tasks", 200, "Fail on request")
	for _, path := range []string{"/ui/fleet", "/ui/estate", "/ui/drift", "/ui/queues", "/ui/changes", "/ui/inventories"} {
		a := p.anonymous.Do(http.MethodGet, path, nil)
		if to := a.Header.Get("Location"); a.Status != http.StatusSeeOther || to != "/ui/login?next="+url.QueryEscape(path) {
			t.Errorf("%s leads a visitor to %d %s", path, a.Status, to)
		}
	}

	viewers := p.page(p.viewer, "/ui/queues", 200, "Nothing waits")
	p.lacks(viewers, "/ui/do/update-queue", "Create token")
	p.page(p.Client, "/ui/queues", 200, "/ui/do/update-queue", "Create token")
	if a := p.send(p.viewer, "/ui/queues/tokens", url.Values{"name": {"edge"}}); a.Status != http.StatusForbidden {
		t.Errorf("a viewer makes a token: %d", a.Status)
	}
	a := p.send(p.Client, "/ui/queues/tokens", url.Values{"name": {"edge 1"}})
	if a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), `value="edge 1"`) {
		t.Errorf("a refused form loses what was entered: %d", a.Status)
	}
	a = p.send(p.Client, "/ui/queues/tokens", url.Values{"name": {"edge-1"}, "queues": {"dmz, edge"}, "days": {"9"}})
	if a.Status != http.StatusOK || !strings.Contains(string(a.Body), "writ_worker_") {
		t.Errorf("no token: %d %s", a.Status, a.Body)
	}
	p.lacks(p.page(p.Client, "/ui/queues", 200, "Revoke the token of edge-1"), "writ_worker_")
	p.send(p.Client, "/ui/do/update-queue?name=default", url.Values{"_page": {"/ui/queues"}, "max_concurrent:int": {"7"}})
	var queue struct {
		MaxConcurrent int `json:"max_concurrent"`
	}
	if p.Do(http.MethodGet, "/v1/queues/default", nil).JSON(t, &queue); queue.MaxConcurrent != 7 {
		t.Errorf("the limit is %d", queue.MaxConcurrent)
	}
	a = p.send(p.Client, "/ui/do/update-queue?name=default", url.Values{"_page": {"/ui/queues"},
		"max_concurrent:int": {"x"}})
	if a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), "is not a number") {
		t.Errorf("a limit that is no number: %d", a.Status)
	}
	p.waitingRun()
}

// waitingRun submits a run to a queue without a worker: the page says why it waits and offers to move it.
func (p *estatePages) waitingRun() {
	p.t.Helper()
	run := p.Submit(harness.Body{"tool": "bash", "command": "true", "queue": "dmz", "name": "Waits"})
	p.page(p.operator, "/ui/queues", 200, "1 queue with waiting runs has no fresh worker", "Waits", "start a worker",
		"/ui/do/move-run?id="+run.ID)
	p.lacks(p.page(p.viewer, "/ui/queues", 200, "Waits"), "/ui/do/move-run")
}

func TestEstatePages(t *testing.T) {
	t.Parallel()
	p := newEstatePages(t)
	p.page(p.viewer, "/ui/estate?by=ansible_system", 200, "3 hosts now, with 1 value of ansible_system.", ">Linux<",
		"older than the instant", `type="range"`)
	p.page(p.viewer, "/ui/estate?at=2001-01-01T00:00", 200, "before the oldest reading", "No host is known")
	p.page(p.viewer, "/ui/estate?at=yesterday", 400, "An instant is a date with a time")
	p.page(p.viewer, "/ui/estate?at=2001-01-01T00:00&to=2101-01-01T00:00", 200,
		"3 hosts were gathered for the first time.",
		"Every host was gathered in the time.")

	path := "/ui/inventories/" + p.inventory
	p.page(p.viewer, "/ui/inventories", 200, "1 inventory with 3 hosts altogether", "production")
	p.lacks(p.page(p.viewer, path, 200, "3 hosts in 3 groups", `role="tree"`, `data-level="3"`), "Edit or delete")
	p.page(p.operator, path+"?limit=web:!web1", 200, "1 host.", "Edit or delete")
	p.page(p.operator, path+"?limit=@x", 200, `role="alert"`, `value="@x"`)
	p.page(p.viewer, path+"?view=hosts", 200, "&lt;b&gt;odd&lt;/b&gt;")
	p.page(p.viewer, path+"?view=content", 200, `id="L1"`, "[prod:children]")
	p.page(p.viewer, path+"?view=sources", 200, "No source fills this inventory")
	p.page(p.viewer, path+"?view=versions", 200, "1 version, the newest first", ">edit<", "version=1")
	p.page(p.viewer, path+"?view=versions&version=1", 200, "Version 1 compared with nothing", "3 hosts added",
		"+[prod:children]")
	p.page(p.viewer, path+"?view=content&version=1", 200, "Version 1, ", "[prod:children]")
	p.page(p.viewer, path+"?view=versions&version=9", 404, "Not here, or not yours to see")
	p.page(p.viewer, path+"?view=versions&version=1&from=x", 400, "from")

	p.page(p.viewer, "/ui/changes", 200, "CHG-1/2", "0 in progress, 1 failed")
	p.lacks(p.page(p.viewer, "/ui/changes/CHG-1%2F2", 200, "1 run touched 3 hosts", "Evidence", ">web2<"), "withheld")
	p.page(p.viewer, "/ui/changes/CHG-3", 404, "Not here, or not yours to see")

	p.page(p.viewer, "/ui/drift", 200, "No dry run has checked anything, so drift is not known.")
	p.lacks(p.page(p.viewer, "/ui/drift", 200), "Leave it out")
	a := p.send(p.operator, "/ui/do/create-ignore", url.Values{"_page": {"/ui/drift"}, "host": {"web*"},
		"resource": {"file *"}})
	if a.Status < 400 || !strings.Contains(string(a.Body), `value="web*"`) {
		t.Errorf("a refused rule loses what was entered: %d", a.Status)
	}
	p.send(p.operator, "/ui/do/create-ignore", url.Values{"_page": {"/ui/drift"}, "host": {"web*"}, "resource": {"file *"},
		"reason": {"<script>"}})
	page := p.page(p.operator, "/ui/drift", 200, "1 rule", "Delete the rule", "&lt;script&gt;")
	action := regexp.MustCompile(`/ui/do/delete-ignore\?id=[a-z0-9_]+`).FindString(page)
	etag := regexp.MustCompile(`name="_etag" value="&#34;(\d+)&#34;"`).FindStringSubmatch(page)
	if action == "" || etag == nil {
		t.Fatal("the rule has no form to delete it")
	}
	p.send(p.operator, action, url.Values{"_page": {"/ui/drift"}, "_etag": {`"` + etag[1] + `"`}})
	p.page(p.operator, "/ui/drift", 200, "0 rules")
	if a := p.send(p.viewer, "/ui/drift/reconcile", url.Values{"host": {"web1"}}); a.Status != http.StatusForbidden {
		t.Errorf("a viewer reconciles: %d", a.Status)
	}
}

func TestProjectPages(t *testing.T) {
	t.Parallel()
	p := newEstatePages(t)
	path := "/ui/projects/" + p.project
	p.page(p.viewer, "/ui/projects", 200, "1 project; the last synchronization of none failed.", "Synced")
	p.lacks(p.page(p.viewer, path, 200, "a launch would use commit", ">site.yml<", ">roles/<"), "Sync now")
	p.page(p.operator, path, 200, "Sync now", "/ui/do/sync-project")
	p.page(p.viewer, path+"/files/roles", 200, "README.md", "&lt;script&gt;alert(1)&lt;/script&gt;")
	p.page(p.viewer, path+"/files/site.yml", 200, "lines of YAML", `<span class="ln" id="L2"><a class="no" href="#L2"`,
		`<span class="h-k">gather_facts</span>`)
	p.page(p.viewer, path+"/files/none.yml", 404, "Not here")
	p.page(p.viewer, path+"/files/site.yml?ref=nobranch", 404)
	a := p.send(p.Client, "/ui/do/sync-project?id="+p.project, url.Values{"_page": {path}})
	if a.Status != http.StatusOK || !strings.Contains(string(a.Body), "a launch would use commit") {
		t.Errorf("sync: %d", a.Status)
	}
	var audit struct {
		Entries []struct{ Action string } `json:"entries"`
	}
	p.Do(http.MethodGet, "/v1/audit?limit=5", nil).JSON(t, &audit)
	if len(audit.Entries) == 0 || audit.Entries[0].Action != "project.sync" {
		t.Errorf("the trail has no entry of it: %+v", audit)
	}
}
