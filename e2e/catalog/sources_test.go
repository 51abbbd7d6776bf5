package catalog

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
)

// hosts returns the names of an inventory's hosts.
func (w *fixture) hosts(inventory string) string {
	w.t.Helper()
	var names []string
	list, _ := w.want(http.StatusOK, http.MethodGet, "/v1/inventories/"+inventory+"/hosts", nil)["hosts"].([]any)
	for _, h := range list {
		names = append(names, h.(map[string]any)["name"].(string))
	}
	return strings.Join(names, " ")
}

// TestSources fills an inventory from a script, a plugin, a project and an address; a failure keeps the old content.
func TestSources(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, harness.Options{DB: dbURL, Flags: []string{"--allow-private-egress", "127.0.0.1/32"}})
		r := w.repo("p", map[string]string{
			"hosts.yml": "all: {hosts: {fromproject: }}\n",
			"dyn.sh":    "#!/bin/sh\necho '{\"web\": {\"hosts\": [\"fromfile\"]}}'\n",
		})
		p := w.project("p", r)
		page := httptest.NewServer(http.HandlerFunc(func(a http.ResponseWriter, q *http.Request) {
			if q.Header.Get("X-Key") != "s3cret" {
				a.WriteHeader(http.StatusForbidden)
				return
			}
			_, _ = a.Write([]byte("[web]\nfromhttp ansible_connection=local\n"))
		}))
		t.Cleanup(page.Close)
		for name, c := range map[string]struct {
			body harness.Body
			want string
		}{
			"script": {harness.Body{"kind": "script",
				"config": harness.Body{"content": "#!/bin/sh\necho '{\"web\": {\"hosts\": [\"s1\", \"s2\"]}}'\n"}}, "s1 s2"},
			"script file": {harness.Body{"kind": "script", "project_id": p, "path": "dyn.sh"}, "fromfile"},
			"project":     {harness.Body{"kind": "project", "project_id": p, "path": "hosts.yml"}, "fromproject"},
			"http": {harness.Body{"kind": "http",
				"config": harness.Body{"url": page.URL, "headers": harness.Body{"X-Key": "s3cret"}}}, "fromhttp"},
			"plugin": {harness.Body{"kind": "plugin", "config": harness.Body{
				"plugin": "ansible.builtin.generator", "hosts": harness.Body{"name": "g{{ n }}"},
				"layers": harness.Body{"n": []int{1, 2}},
			}}, "g1 g2"},
		} {
			if dbURL != "" && !depthtest.Long && name != "script" && name != "http" {
				continue // a source's result does not depend on the database
			}
			inv := w.inventory(name)
			c.body["name"], c.body["inventory_id"] = name, inv
			src := w.id("/v1/inventory-sources", c.body)
			a := w.Do(http.MethodPost, "/v1/inventory-sources/"+src+"/refresh", nil)
			if a.Status != http.StatusOK || strings.Contains(string(a.Body), "s3cret") {
				t.Errorf("%s: %d %s", name, a.Status, a.Body)
				continue
			}
			if got := w.hosts(inv); got != c.want {
				t.Errorf("%s filled in %q", name, got)
			}
		}
		w.retainsTheLastGood(page)
		w.updatesOnLaunch()
	})
}

func (w *fixture) retainsTheLastGood(page *httptest.Server) {
	w.t.Helper()
	inv := w.inventory("kept")
	for name, config := range map[string]harness.Body{
		"none": {"url": page.URL}, "http2": {"url": "http://169.254.169.254/latest"},
		"http3": {"url": page.URL + "/x", "headers": harness.Body{"X-Key": "wrong"}},
	} {
		src := w.id("/v1/inventory-sources",
			harness.Body{"name": name, "kind": "http", "config": config, "inventory_id": inv})
		if p := w.want(http.StatusConflict, http.MethodPost, "/v1/inventory-sources/"+src+"/refresh",
			nil); p["reason"] != "refresh_failed" {
			w.t.Errorf("%s: %v", name, p)
		}
		if got := w.want(http.StatusOK, http.MethodGet, "/v1/inventory-sources/"+src, nil); got["last_error"] == nil {
			w.t.Errorf("%s: %v", name, got)
		}
		if problem := w.found(w.want(http.StatusOK, http.MethodGet, "/v1/doctor", nil), src); problem == "" {
			w.t.Errorf("the doctor says nothing of %s", name)
		}
	}
	if got := w.hosts(inv); got != "a b" {
		w.t.Errorf("the last good inventory is gone: %q", got)
	}
}

// updatesOnLaunch counts the calls of the script in a file.
func (w *fixture) updatesOnLaunch() {
	w.t.Helper()
	inv, asked := w.inventory("fresh"), harness.SharedFile(w.t)
	script := "#!/bin/sh\necho x >> " + asked +
		"\nprintf '{\"web\": {\"hosts\": [\"n%s\"]}, \"_meta\": {\"hostvars\": {}}}' $(wc -l < " + asked + ")\n"
	w.id("/v1/inventory-sources", harness.Body{
		"name": "fresh", "kind": "script", "config": harness.Body{"content": script}, "inventory_id": inv,
		"update_on_launch": true,
	})
	run := w.succeeds(w.Submit(harness.Body{"tool": "bash", "command": "cat $WRIT_INVENTORY", "inventory_id": inv}).ID)
	if log := w.log(run.ID); !strings.Contains(log, `"n`) {
		w.t.Errorf("the run got %s", log)
	}
}
