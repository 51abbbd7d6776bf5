package catalog_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
)

const (
	stamps       = `"created_by":"usr_admin","created_at":"2026-01-05T08:30:00.123456Z","updated_at":"2026-01-05T08:30:00.123456Z"`
	projectInput = `{"name":"web","repo_url":"https://git.test/a.git","branch":"main","credential_id":"crd_1","install_deps":true,"org_id":"org_1"}`
	projectJSON  = `{"id":"known","name":"web","repo_url":"https://git.test/a.git","branch":"main","credential_id":"crd_1","install_deps":true,
		"org_id":"org_1","commit":"c0ffee","synced_at":"2026-01-05T08:30:00.123456Z","last_error":"the remote does not answer",` + stamps + `}`
	bareProject   = `{"id":"known","name":"web","repo_url":"https://git.test/a.git","install_deps":false,` + stamps + `}`
	inventoryRow  = `"id":"known","name":"web","format":"ini","credential_ids":["crd_1"],"queue":"far","host_key_policy":"strict","max_concurrent":4,"org_id":"org_1","hosts":1,"groups":2,"digest":"d19e57",` + stamps
	inventoryJSON = `{` + inventoryRow + `,"content":"web1 <&>\n","known_hosts":"web1 key\n"}`
	bareInventory = `{"id":"known","name":"web","format":"ini","hosts":0,"groups":0,"digest":"d19e57","content":"web1 <&>\n",` + stamps + `}`
	sourceJSON    = `{"id":"known","name":"web","kind":"http","config":{"url":"https://h.test","headers":{"X-Key":"***"}},"path":"a/b","project_id":"prj_1",
		"credential_id":"crd_1","inventory_id":"inv_1","update_on_launch":true,"sync_interval":60,"trusted":true,"org_id":"org_1",
		"synced_at":"2026-01-05T08:30:00.123456Z","last_error":"it answered 500",
		"warnings":[{"code":"vars_reserved",
			"message":"reserved names in the inventory source known were dropped: PATH"}],` + stamps + `}`
	bareSource   = `{"id":"known","name":"web","kind":"project","config":{},"inventory_id":"inv_1","update_on_launch":false,"sync_interval":0,` + stamps + `}`
	templateJSON = `{"id":"known","name":"web","playbook":"site.yml","max_concurrent":0,"when_busy":"queue",` +
		stamps + `}`
)

// kind contains the properties of one of the four kinds of objects.
type kind struct{ path, list, missing, object, row, input string }

func kinds() []kind {
	return []kind{
		{"/v1/projects", "projects", "project_not_found", projectJSON, projectJSON, projectInput},
		{"/v1/inventories", "inventories", "inventory_not_found", inventoryJSON, "{" + inventoryRow + "}",
			`{"name":"a","format":"ini","content":"h"}`},
		{"/v1/inventory-sources", "inventory_sources", "inventory_source_not_found", sourceJSON, sourceJSON,
			`{"name":"a","kind":"http","inventory_id":"inv_1"}`},
		{"/v1/templates", "templates", "template_not_found", templateJSON, templateJSON, `{"name":"a"}`},
	}
}

func TestEveryKind(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.list, func(t *testing.T) {
			t.Parallel()
			f := setup(t)
			a := f.Call("POST", k.path, "operator", k.input).Has("Location", k.path+"/known").Has("ETag", `"3"`)
			if a.Status != 201 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			f.Call("GET", k.path+"/known", "viewer", "").Is(200, k.object).Has("ETag", `"3"`)
			f.wasAsked("known", int64(0))
			f.Call("GET", k.path+"/known", "viewer", "", "If-None-Match", `"3"`).Is(200, k.object)
			f.Call("GET", k.path+"/other", "viewer", "").Problem(404, k.missing)
			f.Call("GET", k.path+"/known?x=1", "viewer", "").Problem(400, "invalid")

			f.Call("PUT", k.path+"/known", "operator", k.input).Is(200, k.object).Has("ETag", `"3"`).Has("Location", "")
			f.Call("PUT", k.path+"/known", "operator", k.input, "If-Match", `"3"`).Is(200, k.object)
			if got := f.fake.last(); got[1] != int64(3) {
				t.Errorf("asked %v", got)
			}
			f.Call("PUT", k.path+"/other", "operator", k.input).Problem(404, k.missing)
			f.Call("DELETE", k.path+"/other", "operator", "").Problem(404, k.missing)
			for _, header := range []string{`"2"`, `W/"3"`, "3", `"3", "4"`} {
				f.Call("PUT", k.path+"/known", "operator", k.input, "If-Match", header).Problem(412, "precondition_failed")
				f.Call("DELETE", k.path+"/known", "operator", "", "If-Match", header).Problem(412, "precondition_failed")
			}
			for _, header := range []string{`"3"`, "*"} {
				f.Call("DELETE", k.path+"/known", "operator", "", "If-Match", header).Is(204, "")
			}
			f.Call("DELETE", k.path+"/known", "operator", "").Is(204, "")
			f.wasAsked("known", int64(0), "deleted")
			f.Call("PATCH", k.path+"/known", "operator", k.input).Problem(405, "method_not_allowed")

			f.Call("GET", k.path, "viewer", "").Is(200, `{"`+k.list+`":[`+k.row+`],"count":1,"total":7,"limit":1000}`)
			f.wasAsked(catalog.Filter{}, page.Window{Limit: 1000})
			f.Call("GET", k.path+"?limit=99999999999999999999&offset=2&name=a%20b&org_id=org_1", "viewer", "").
				Is(200, `{"`+k.list+`":[`+k.row+`],"count":1,"total":7,"limit":1000}`)
			f.wasAsked(catalog.Filter{Name: "a b", Org: "org_1"}, page.Window{Offset: 2, Limit: 1000})
			f.Call("GET", k.path+"?limit=5", "viewer", "").Is(200, `{"`+k.list+`":[`+k.row+`],"count":1,"total":7,"limit":5}`)
			for _, query := range []string{"limit=x", "limit=-1", "offset=1.5", "kind=http", "name=a&name=b", "name=%00",
				"org_id=%ff"} {
				f.Call("GET", k.path+"?"+query, "viewer", "").Problem(400, "invalid")
			}
		})
	}
}

func TestPutTakesWhatGetReturned(t *testing.T) {
	t.Parallel()
	setup(t).PutsBack()
}

func TestFaultsAreMapped(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		f := setup(t)
		for _, c := range []struct {
			err    error
			status int
			reason string
		}{
			{catalog.NotAllowed.New("not yours to change"), 403, "forbidden"},
			{catalog.NameTaken.New("the name is taken"), 409, "name_taken"},
			{catalog.ObjectNotFound.New("no such credential"), 404, "object_not_found"},
			{fault.BadField("name", "is too long"), 400, "invalid"},
			{fault.Wrap(fault.Unavailable, nil, "the trail is full"), 503, "unavailable"},
		} {
			f.fake.answer(c.err)
			f.Call("POST", k.path, "operator", k.input).Problem(c.status, c.reason)
			f.Call("PUT", k.path+"/known", "operator", k.input).Problem(c.status, c.reason)
			f.Call("DELETE", k.path+"/known", "operator", "").Problem(c.status, c.reason)
		}
		f.fake.answer(object.InUse.New("3 others use it").
			With("used_by", []map[string]string{{"kind": "template", "id": "tpl_1"}}).With("others", 2))
		a := f.Call("DELETE", k.path+"/known", "operator", "")
		a.Problem(409, "in_use")
		var problem struct {
			UsedBy []map[string]string `json:"used_by"`
			Others int
		}
		if err := json.Unmarshal([]byte(a.Body), &problem); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]map[string]string{{"kind": "template", "id": "tpl_1"}}, problem.UsedBy); d != "" ||
			problem.Others != 2 {
			t.Errorf("%s: others %d, %s", k.path, problem.Others, d)
		}
	}
	f := setup(t)
	f.fake.answer(catalog.SyncFailed.New("the remote does not answer"))
	f.Call("POST", "/v1/projects/known/sync", "operator", "").Problem(409, "sync_failed")
	f.fake.answer(catalog.RefreshFailed.New("it answered 500"))
	f.Call("POST", "/v1/inventory-sources/known/refresh", "operator", "").Problem(409, "refresh_failed")
}

func TestProjects(t *testing.T) {
	t.Parallel()
	f := setup(t)
	want := catalog.Project{
		Record: object.Record{Name: "web", Org: "org_1"}, RepoURL: "https://git.test/a.git", Branch: "main",
		CredentialID: "crd_1", InstallDeps: true,
	}
	f.Call("POST", "/v1/projects", "operator", projectInput).Is(201, projectJSON)
	f.wasAsked(want)
	f.Call("PUT", "/v1/projects/known", "operator", projectInput).Is(200, projectJSON)
	f.wasAsked("known", int64(0), want)
	f.Call("POST", "/v1/projects/known/sync", "operator", "").Is(200, projectJSON).Has("ETag", `"3"`)
	f.wasAsked("known", int64(0), "synced")
	f.Call("POST", "/v1/projects/other/sync", "operator", "").Problem(404, "project_not_found")
	f.Call("POST", "/v1/projects/known/sync", "operator", `{"force":true}`).Problem(400, "invalid")
	f.fake.bare = true
	f.Call("POST", "/v1/projects", "operator", `{"name":"web","repo_url":"r","branch":null}`).Is(201, bareProject)
	f.wasAsked(catalog.Project{Record: object.Record{Name: "web"}, RepoURL: "r"})
}

func TestCommits(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const path = "/v1/projects/known/commits"
	f.Call("GET", path+"?from=v1&to=main", "viewer", "").Is(200, `{"commits":[{"id":"c2","author":"<&>",`+
		`"at":"2026-01-05T08:30:00.123456Z","subject":"x"}],"count":1,"total":7,"from":"c0","to":"c2","missing":2}`)
	f.wasAsked("known", int64(0), "v1", "main")
	if got := f.Call("GET", path, "viewer", "").Problem(400, "invalid"); !slices.Equal(got, []string{"from"}) {
		t.Errorf("%v", got)
	}
	f.Call("GET", "/v1/projects/other/commits?from=a", "viewer", "").Problem(404, "project_not_found")
	f.fake.answer(catalog.FileNotFound.New("no such branch"))
	f.Call("GET", path+"?from=none", "viewer", "").Problem(404, "file_not_found")
	f.fake.answer(fault.BadField("to", "is no reference"))
	got := f.Call("GET", path+"?from=a&to=-x", "viewer", "").Problem(400, "invalid")
	if !slices.Equal(got, []string{"to"}) {
		t.Errorf("%v", got)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const list = `{"files":[{"path":"roles","type":"dir","size":0},{"path":"site.yml","type":"file","size":9}],"count":2,"total":2,"commit":"c0ffee"}`
	f.Call("GET", "/v1/projects/known/files", "viewer", "").Is(200, list)
	f.wasAsked("known", int64(0), "", "")
	f.Call("GET", "/v1/projects/known/files?path=..%2F..%2Fetc&ref=--upload-pack%3Dx", "viewer", "").Is(200, list)
	f.wasAsked("known", int64(0), "../../etc", "--upload-pack=x")
	for _, page := range []string{"<!doctype html><script>alert(1)</script>", "GIF89a", "", "{}", "\x00\xff"} {
		f.fake.text = page
		a := f.Call("GET", "/v1/projects/known/file?path=a/../b.html&ref=main", "viewer", "", "Accept", "text/html").
			Has("Content-Type", "text/plain; charset=utf-8").Has("X-Content-Type-Options", "nosniff").
			Has("Service-Commit", "c0ffee")
		if a.Status != 200 || a.Body != page ||
			!strings.HasPrefix(a.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%q: %d %q %v", page, a.Status, a.Body, a.Header)
		}
		f.wasAsked("known", int64(0), "a/../b.html", "main")
	}
	if got := f.Call("GET", "/v1/projects/known/file", "viewer", "").
		Problem(400, "invalid"); !slices.Equal(got, []string{"path"}) {
		t.Errorf("%v", got)
	}
	for _, route := range []string{"files", "file"} {
		for _, query := range []string{"path=a%00b", "path=%ff", "path=a&ref=%00", "path=a&path=b", "path=a&recursive=1",
			"path=%zz"} {
			f.Call("GET", "/v1/projects/known/"+route+"?"+query, "viewer", "").Problem(400, "invalid")
		}
		f.Call("GET", "/v1/projects/other/"+route+"?path=a", "viewer", "").Problem(404, "project_not_found")
		f.fake.answer(catalog.FileNotFound.New("no such file"))
		f.Call("GET", "/v1/projects/known/"+route+"?path=../a", "viewer", "").Has("Service-Commit", "").
			Problem(404, "file_not_found")
		f.fake.answer(fault.BadField("ref", "is no reference"))
		if got := f.Call("GET", "/v1/projects/known/"+route+"?path=a&ref=-x", "viewer", "").
			Problem(400, "invalid"); !slices.Equal(got, []string{"ref"}) {
			t.Errorf("%v", got)
		}
		f.fake.answer(nil)
	}
	f.fake.answer(catalog.FileTooLarge.New("the file is over 1 MiB"))
	f.Call("GET", "/v1/projects/known/file?path=big", "viewer", "").Problem(413, "file_too_large")
	f.fake.answer(nil)
	f.fake.bare = true
	f.Call("GET", "/v1/projects/known/files", "viewer", "").Is(200, `{"files":[],"count":0,"total":0,"commit":"c0ffee"}`)
	if a := f.Call("HEAD", "/v1/projects/known/file?path=a", "viewer", ""); a.Status != 200 || a.Body != "" {
		t.Errorf("HEAD: %d %q", a.Status, a.Body)
	}
}

func TestInventories(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.Call("POST", "/v1/inventories", "operator",
		`{"name":"web","content":"web1 <&>\n","format":"ini","credential_ids":["crd_1"],"queue":"far","org_id":"org_1",
			"known_hosts":"web1 key\n","host_key_policy":"strict","max_concurrent":4}`).
		Is(201, inventoryJSON)
	want := catalog.Inventory{
		Record: object.Record{Name: "web", Org: "org_1"}, Content: []byte("web1 <&>\n"), Format: catalog.INI,
		CredentialIDs: []string{"crd_1"}, Queue: "far", KnownHosts: []byte("web1 key\n"), HostKeyPolicy: catalog.Strict,
		MaxConcurrent: 4,
	}
	f.wasAsked(want)
	f.Call("PUT", "/v1/inventories/known", "operator",
		`{"name":"web","content":"web1 <&>\n","format":"ini","credential_ids":["crd_1"],"queue":"far","org_id":"org_1",
			"known_hosts":"web1 key\n","host_key_policy":"strict","max_concurrent":4}`).
		Is(200, inventoryJSON)
	f.wasAsked("known", int64(0), want)
	for body, content := range map[string][]byte{
		`{"name":"web","format":"yaml"}`: nil, `{"name":"web","format":"yaml","content":null}`: nil,
		`{"name":"web","format":"yaml","content":""}`: {},
	} {
		f.Call("PUT", "/v1/inventories/known", "operator", body).Is(200, inventoryJSON)
		f.wasAsked("known", int64(0), catalog.Inventory{Record: object.Record{Name: "web"}, Format: catalog.YAML,
			Content: content})
	}
	f.Call("PUT", "/v1/inventories/known", "operator", `{"name":"web","known_hosts":""}`).Is(200, inventoryJSON)
	f.wasAsked("known", int64(0), catalog.Inventory{Record: object.Record{Name: "web"}, KnownHosts: []byte{}})
	f.Call("PUT", "/v1/inventories/known", "operator", `{"name":"web","host_key_policy":"no"}`).Problem(400, "invalid")
	for _, n := range []string{"-1", "10001", "1.5"} {
		f.Call("PUT", "/v1/inventories/known", "operator", `{"name":"web","max_concurrent":`+n+`}`).Problem(400, "invalid")
	}
	f.fake.bare = true
	f.Call("POST", "/v1/inventories", "operator", `{"name":"web","content":"","format":"json"}`).Is(201, bareInventory)
	f.wasAsked(catalog.Inventory{Record: object.Record{Name: "web"}, Format: catalog.JSON, Content: []byte{}})

	large := strings.Repeat("a", 8<<20-100)
	if a := f.Call("POST", "/v1/inventories", "operator",
		`{"name":"web","format":"ini","content":"`+large+`"}`); a.Status != 201 {
		t.Errorf("nearly 8 MiB: %d %.200s", a.Status, a.Body)
	}
	f.Call("POST", "/v1/inventories", "operator", `{"name":"web","format":"ini","content":"`+large+large[:200]+`"}`).
		Problem(413, "too_large")
	f.Call("POST", "/v1/projects", "operator", `{"name":"`+large[:1<<20]+`","repo_url":"r"}`).Problem(413, "too_large")
}

func TestHosts(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const rows = `{"hosts":[{"name":"web1","groups":["web"],"vars":{"big":98765432109876543210,"n":9007199254740993,"on":true,"of":[1.5,null,{"a":"{{ x }}"}],
		"vault":{"__ansible_vault":"v"}}},
		{"name":"db1","groups":[],"vars":{}}],"count":2,"total":7,"limit":`
	f.Call("GET", "/v1/inventories/known/hosts", "viewer", "").Is(200, rows+"1000}")
	f.wasAsked("known", int64(0), page.Window{Limit: 1000})
	f.Call("GET", "/v1/inventories/known/hosts?limit=2&offset=4", "viewer", "").Is(200, rows+"2}")
	f.wasAsked("known", int64(0), page.Window{Offset: 4, Limit: 2})
	f.Call("GET", "/v1/inventories/known/hosts?limit=1001", "viewer", "").Is(200, rows+"1000}")
	f.Call("GET", "/v1/inventories/known/hosts?name=web1", "viewer", "").Problem(400, "invalid")
	f.Call("GET", "/v1/inventories/other/hosts", "viewer", "").Problem(404, "inventory_not_found")

	const some = `{"count":2,"groups":["web"],"sample":["web1","web2"],"warnings":["w"]}`
	f.Call("POST", "/v1/inventories/known/resolve", "viewer", `{"limit":"web:!db*"}`).Is(200, some).
		Has("Audit-Receipt", "")
	f.wasAsked("known", int64(0), "web:!db*")
	for _, body := range []string{"", "{}", `{"limit":""}`, `{"limit":null}`} {
		f.Call("POST", "/v1/inventories/known/resolve", "viewer", body).Is(200, some)
		f.wasAsked("known", int64(0), "")
	}
	for body, where := range map[string]string{`{"limit":7}`: "limit", `{"limit":["a"]}`: "limit",
		`{"limits":"a"}`: "limits", `{"limit":"a\u0000"}`: "limit"} {
		if got := f.Call("POST", "/v1/inventories/known/resolve", "viewer", body).
			Problem(400, "invalid"); !slices.Equal(got, []string{where}) {
			t.Errorf("%s: %v", body, got)
		}
	}
	f.Call("POST", "/v1/inventories/other/resolve", "viewer", "").Problem(404, "inventory_not_found")
	f.fake.bare = true
	f.Call("POST", "/v1/inventories/known/resolve", "viewer", "").
		Is(200, `{"count":0,"groups":[],"sample":[],"warnings":[]}`)
}
