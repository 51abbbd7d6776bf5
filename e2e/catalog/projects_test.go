package catalog

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

const helloPlay = "- hosts: all\n  gather_facts: false\n  tasks:\n    - debug: {msg: \"hello of VERSION\"}\n"

// TestTwoCommitsNeverMeet runs a project at two commits concurrently: each run only sees its own files.
func TestTwoCommitsNeverMeet(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, harness.Options{DB: dbURL})
		wait := filepath.Join(harness.Shared(t), "go")
		script := "until [ -e " + wait + " ]; do sleep 0.05; done; cat version; ls"
		r := w.repo("app", map[string]string{"version": "one\n", "first": ""})
		p := w.project("app", r)
		body := harness.Body{"tool": "bash", "command": script, "project_id": p}
		one := w.Submit(body)
		first := r.git("rev-parse", "HEAD")
		second := r.commit(map[string]string{"version": "two\n", "second": ""})
		w.want(http.StatusOK, http.MethodPost, "/v1/projects/"+p+"/sync", nil)
		two := w.Submit(body)
		if err := os.WriteFile(wait, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string][3]string{one.ID: {first, "one", "first"}, two.ID: {second, "two", "second"}} {
			w.succeeds(id)
			record := w.want(http.StatusOK, http.MethodGet, "/v1/runs/"+id, nil)
			log := w.log(id)
			if record["commit"] != want[0] || !strings.Contains(log, want[1]) {
				t.Errorf("%s ran at %v: %s", id, record["commit"], log)
			}
			if want[2] == "first" && strings.Contains(log, "second") {
				t.Errorf("the first run saw what was committed later: %s", log)
			}
		}
	})
}

// TestCommitsForApprovers lists what a held run has that the last approved one of its template lacked, as an operation
// and on the page of who decides.
func TestCommitsForApprovers(t *testing.T) {
	t.Parallel()
	w := newFixture(t, harness.Options{})
	r := w.repo("site", map[string]string{"site.yml": helloPlay})
	p := w.project("site", r)
	tpl := w.id("/v1/templates", harness.Body{"name": "site", "tool": "bash", "command": "true", "project_id": p,
		"require_approval": true})
	launch := func() string {
		id, _ := w.want(http.StatusCreated, http.MethodPost, "/v1/templates/"+tpl+"/launch", harness.Body{})["id"].(string)
		return id
	}
	first := launch()
	w.want(http.StatusOK, http.MethodPost, "/v1/runs/"+first+"/approve", harness.Body{})
	w.Await(first)
	old := r.git("rev-parse", "HEAD")
	for _, name := range []string{"a", "b"} {
		r.commit(map[string]string{name: name})
		r.git("commit", "-q", "--amend", "-m", "Add <"+name+">")
	}
	w.want(http.StatusOK, http.MethodPost, "/v1/projects/"+p+"/sync", nil)
	path := "/v1/projects/" + p + "/commits?from="
	l := w.want(http.StatusOK, http.MethodGet, path+old, nil)
	list, _ := l["commits"].([]any)
	if len(list) != 2 || list[0].(map[string]any)["subject"] != "Add <b>" || l["from"] != old || l["total"] != 2.0 ||
		l["to"] != r.git("rev-parse", "HEAD") || l["missing"] != 0.0 {
		t.Errorf("%v", l)
	}
	if l := w.want(http.StatusOK, http.MethodGet, path+"main&to="+old, nil); l["total"] != 0.0 || l["missing"] != 2.0 {
		t.Errorf("backwards: %v", l)
	}
	w.want(http.StatusNotFound, http.MethodGet, path+"none", nil)
	w.want(http.StatusBadRequest, http.MethodGet, path+"-x", nil)
	w.want(http.StatusBadRequest, http.MethodGet, path, nil)
	page := string(w.Do(http.MethodGet, "/ui/approvals/"+launch(), nil).Body)
	for _, text := range []string{"the last approved run had " + old[:12], "Add &lt;a&gt;", "Add &lt;b&gt;"} {
		if !strings.Contains(page, text) {
			t.Errorf("the page of the held run lacks %q", text)
		}
	}
}

// TestAProjectIsReadAndKept covers the routes of projects, deletion while in use, and permissions on a path.
func TestAProjectIsReadAndKept(t *testing.T) {
	t.Parallel()
	w := newFixture(t, harness.Options{})
	r := w.repo("site", map[string]string{"site.yml": helloPlay, "roles/a/tasks/main.yml": "[]\n",
		"page.html": "<script>1</script>"})
	p := w.project("site", r)
	files := w.want(http.StatusOK, http.MethodGet, "/v1/projects/"+p+"/files", nil)
	if files["commit"] != r.git("rev-parse", "HEAD") || files["count"] != 3.0 {
		t.Errorf("files: %v", files)
	}
	page := w.Do(http.MethodGet, "/v1/projects/"+p+"/file?path=page.html", nil)
	if page.Status != 200 || string(page.Body) != "<script>1</script>" ||
		!strings.HasPrefix(page.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("file: %d %v %s", page.Status, page.Header, page.Body)
	}
	for path, status := range map[string]int{
		"path=absent": 404, "path=../../etc/passwd": 404, "path=%2e%2e%2fx": 404, "path=/etc/passwd": 404, "path=a%00b": 400,
		"path=roles": 404, "path=site.yml&ref=-x": 400,
	} {
		a := w.Do(http.MethodGet, "/v1/projects/"+p+"/file?"+path, nil)
		if a.Status != status && !(status == 404 && a.Status == 400) {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	tpl := w.id("/v1/templates", harness.Body{"name": "site", "playbook": "site.yml", "project_id": p,
		"inventory_id": w.inventory("hosts")})
	used := w.want(http.StatusConflict, http.MethodDelete, "/v1/projects/"+p, nil)
	if by, _ := used["used_by"].([]any); used["reason"] != "in_use" || len(by) != 1 ||
		by[0].(map[string]any)["id"] != tpl {
		t.Errorf("in use: %v", used)
	}
	w.want(http.StatusNoContent, http.MethodDelete, "/v1/templates/"+tpl, nil)
	w.want(http.StatusNoContent, http.MethodDelete, "/v1/projects/"+p, nil)
	w.want(http.StatusNotFound, http.MethodGet, "/v1/projects/"+p+"/files", nil)
}

// TestRequirementsAreInstalled installs a role from another repository by the project's requirements.
func TestRequirementsAreInstalled(t *testing.T) {
	t.Parallel()
	w := newFixture(t, harness.Options{})
	role := w.repo("greet", map[string]string{
		"tasks/main.yml": "- debug: {msg: \"greetings from the role\"}\n",
		"meta/main.yml":  "galaxy_info: {author: w, description: d, license: MIT, min_ansible_version: '2.9'}\n",
	})
	r := w.repo("app", map[string]string{
		"site.yml":               "- hosts: all\n  gather_facts: false\n  roles: [greet]\n",
		"roles/requirements.yml": "- src: " + role.url() + "\n  scm: git\n  name: greet\n  version: main\n",
	})
	hosts := w.inventory("hosts")
	for _, deps := range []bool{true, false} {
		body := harness.Body{"name": "app", "repo_url": r.url(), "install_deps": deps}
		if !deps {
			body["name"] = "bare"
		}
		p := w.id("/v1/projects", body)
		run := w.Await(w.Submit(harness.Body{"playbook": "site.yml", "project_id": p, "inventory_id": hosts}).ID)
		if deps != (run.Status == "succeeded") || deps != strings.Contains(w.log(run.ID), "greetings from the role") {
			t.Errorf("with requirements %t: %s %s\n%s", deps, run.Status, run.Error, w.log(run.ID))
		}
	}
}

// TestARepositoryThatIsGone: the last good commit stays, and the status reports the error.
func TestARepositoryThatIsGone(t *testing.T) {
	t.Parallel()
	w := newFixture(t, harness.Options{})
	r := w.repo("app", map[string]string{"a": "1"})
	p := w.project("app", r)
	if err := os.Rename(r.dir, r.dir+".away"); err != nil {
		t.Fatal(err)
	}
	if a := w.want(http.StatusConflict, http.MethodPost, "/v1/projects/"+p+"/sync", nil); a["reason"] != "sync_failed" {
		t.Errorf("sync: %v", a)
	}
	harness.Eventually(t, awhile, "the log tells the failure", func() bool {
		return strings.Contains(w.Output(), `level=WARN msg="project sync failed" project=`+p+" reason=")
	})
	got := w.want(http.StatusOK, http.MethodGet, "/v1/projects/"+p, nil)
	if got["last_error"] == nil || got["commit"] == nil {
		t.Errorf("project: %v", got)
	}
	harness.Eventually(t, awhile, "a submission that fetches again", func() bool {
		run := w.succeeds(w.Submit(harness.Body{"tool": "bash", "command": "cat a", "project_id": p}).ID)
		return run.Warned("project_not_synced")
	})
}

// TestLinksThatLeadOut: the synchronisation and the doctor name the link, and only a run that needs it fails.
func TestLinksThatLeadOut(t *testing.T) {
	t.Parallel()
	w := newFixture(t, harness.Options{})
	r := w.repo("app", map[string]string{"site.yml": helloPlay})
	if err := os.Symlink("../shared", filepath.Join(r.dir, "shared")); err != nil {
		t.Fatal(err)
	}
	r.commit(nil)
	p := w.id("/v1/projects", harness.Body{"name": "app", "repo_url": r.url(), "branch": "main"})
	var synced struct{ Hints []map[string]any }
	w.Do(http.MethodPost, "/v1/projects/"+p+"/sync", nil).JSON(t, &synced)
	const leadsOut = "is a link that leads out of the repository"
	if len(synced.Hints) != 1 || synced.Hints[0]["path"] != "shared" || synced.Hints[0]["line"] != 0.0 ||
		!strings.Contains(fmt.Sprint(synced.Hints[0]["message"]), leadsOut) {
		t.Errorf("sync: %v", synced.Hints)
	}
	var doctor struct {
		Findings []struct {
			Severity, Problem string
			Object            struct{ ID string }
		}
	}
	w.Do(http.MethodGet, "/v1/doctor", nil).JSON(t, &doctor)
	found := 0
	for _, f := range doctor.Findings {
		if f.Object.ID == p && f.Severity == "warning" && strings.HasPrefix(f.Problem, "shared "+leadsOut) {
			found++
		}
	}
	if found != 1 {
		t.Errorf("%d warnings of the doctor: %+v", found, doctor.Findings)
	}
	hosts := w.inventory("hosts")
	play := func(playbook string) harness.Run {
		return w.Await(w.Submit(harness.Body{"playbook": playbook, "project_id": p, "inventory_id": hosts}).ID)
	}
	if run := play("site.yml"); run.Status != "succeeded" || run.Warned("project_links_left_out") {
		t.Errorf("without the link: %s %s %v", run.Status, run.Error, run.Warnings)
	}
	if run := play("shared/site.yml"); run.Status != "failed" || !strings.Contains(run.Error, `behind the link "shared"`) {
		t.Errorf("with the link: %s %s", run.Status, run.Error)
	}
}

// TestServersRemoveMirrors: a project that one server deletes leaves no mirror on another, and a read-only server
// fetches nothing.
func TestServersRemoveMirrors(t *testing.T) {
	t.Parallel()
	w := newFixture(t, harness.Options{})
	r := w.repo("site", map[string]string{"site.yml": helloPlay})
	p, q := w.project("gone", r), w.project("kept", r)
	mirror := func(id string) string { return filepath.Join(w.Dir, "data", "projects", id+".git") }
	aside := filepath.Join(t.TempDir(), "gone.git")
	for _, id := range []string{p, q} {
		if _, err := os.Stat(mirror(id)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(mirror(p), aside); err != nil { // the mirror of another server
		t.Fatal(err)
	}
	w.want(http.StatusNoContent, http.MethodDelete, "/v1/projects/"+p, nil)
	old := r.git("rev-parse", "HEAD")
	r.commit(map[string]string{"later": ""})
	w.Stop()
	if err := os.Rename(aside, mirror(p)); err != nil {
		t.Fatal(err)
	}
	w.Flags = append(w.Flags, "--read-only")
	w.Server = w.Again()
	if files := w.want(http.StatusOK, http.MethodGet, "/v1/projects/"+q+"/files", nil); files["commit"] != old ||
		files["count"] != 1.0 {
		t.Errorf("files: %v", files)
	}
	if err := os.RemoveAll(mirror(q)); err != nil {
		t.Fatal(err)
	}
	if refused := w.want(http.StatusConflict, http.MethodGet, "/v1/projects/"+q+"/files",
		nil); refused["reason"] != "sync_failed" {
		t.Errorf("a read-only server without the mirror: %v", refused)
	}
	if _, err := os.Stat(mirror(p)); err != nil {
		t.Errorf("a read-only server removed a mirror: %v", err)
	}
	w.Stop()
	w.Flags = slices.DeleteFunc(w.Flags, func(f string) bool { return f == "--read-only" })
	w.Server = w.Again()
	for deadline := time.Now().Add(time.Minute); ; {
		if _, err := os.Stat(mirror(p)); os.IsNotExist(err) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the mirror of a deleted project stays")
		}
		w.want(http.StatusOK, http.MethodGet, "/healthz", nil)
	}
}
