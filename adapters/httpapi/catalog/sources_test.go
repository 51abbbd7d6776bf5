package catalog_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/object"
)

func TestSources(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.Call("POST", "/v1/inventory-sources", "operator",
		`{"name":"web","kind":"script","config":{"content":"#!/bin/sh"},"path":"a/b","project_id":"prj_1",
		"credential_id":"crd_1","inventory_id":"inv_1","update_on_launch":true,"sync_interval":60,"trusted":true,"org_id":"org_1"}`).
		Is(201, `{"id":"known","name":"web","kind":"script","config":{"content":"#!/bin/sh"},"path":"a/b","project_id":"prj_1","credential_id":"crd_1",
		"inventory_id":"inv_1","update_on_launch":true,"sync_interval":60,"trusted":true,`+stamps+`}`)
	f.wasAsked(catalog.InventorySource{
		Record: object.Record{Name: "web", Org: "org_1"}, Kind: catalog.ScriptSource,
		Config: catalog.SourceConfig{Content: "#!/bin/sh"}, Path: "a/b",
		ProjectID: "prj_1", CredentialID: "crd_1", InventoryID: "inv_1", UpdateOnLaunch: true, SyncInterval: 60,
		Trusted: true,
	})
	f.Call("POST", "/v1/inventory-sources/known/refresh", "operator", "").Is(200, sourceJSON).Has("ETag", `"3"`)
	f.wasAsked("known", int64(0), "refreshed")
	f.Call("POST", "/v1/inventory-sources/other/refresh", "operator", "").Problem(404, "inventory_source_not_found")
	f.fake.bare = true
	f.Call("GET", "/v1/inventory-sources/known", "viewer", "").Is(200, bareSource)
}

func TestSourceConfigs(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, c := range []struct {
		kind, config string
		want         catalog.SourceConfig
		wantBody     string
	}{
		{"plugin", `{"plugin":"a.b.c","regions":["x",1,9007199254740993,1.50],"of":{"a":null,"b":true},"url":"u","content":"c"}`, catalog.SourceConfig{
			Plugin: map[string]any{
				"plugin": "a.b.c", "regions": []any{"x", json.Number("1"), json.Number("9007199254740993"), json.Number("1.50")},
				"of": map[string]any{"a": nil, "b": true}, "url": "u", "content": "c",
			},
		}, `{"plugin":"a.b.c","regions":["x",1,9007199254740993,1.50],"of":{"a":null,"b":true},"url":"u","content":"c"}`},
		{"plugin", `{}`, catalog.SourceConfig{Plugin: map[string]any{}}, `{}`},
		{"plugin", `null`, catalog.SourceConfig{}, `{}`},
		{"script", `{"content":"x"}`, catalog.SourceConfig{Content: "x"}, `{"content":"x"}`},
		{"script", `{"content":null}`, catalog.SourceConfig{}, `{}`},
		{"script", `{}`, catalog.SourceConfig{}, `{}`},
		{"project", `{}`, catalog.SourceConfig{}, `{}`},
		{"http", `{"url":"https://h.test"}`, catalog.SourceConfig{URL: "https://h.test"}, `{"url":"https://h.test"}`},
		{"http", `{"url":"u","headers":null}`, catalog.SourceConfig{URL: "u"}, `{"url":"u"}`},
		{"http", `{"url":"u","headers":{}}`, catalog.SourceConfig{URL: "u"}, `{"url":"u"}`},
		{"http", `{"url":"u","headers":{"X-Key":"T0PSECRET","X-Old":"","X-None":null}}`, catalog.SourceConfig{
			URL: "u", Headers: map[string]string{"X-Key": "T0PSECRET", "X-Old": "", "X-None": ""},
		}, `{"url":"u","headers":{"X-Key":"***","X-Old":"***","X-None":"***"}}`},
	} {
		body := `{"name":"a","kind":"` + c.kind + `","inventory_id":"inv_1","config":` + c.config + `}`
		want := catalog.InventorySource{Record: object.Record{Name: "a"}, Kind: catalog.SourceKind(c.kind),
			InventoryID: "inv_1", Config: c.want}
		a := f.Call("POST", "/v1/inventory-sources", "operator", body).
			Is(201, `{"id":"known","name":"web","kind":"`+c.kind+`","config":`+c.wantBody+
				`,"inventory_id":"inv_1","update_on_launch":false,"sync_interval":0,`+stamps+`}`)
		f.wasAsked(want)
		f.fake.kind = catalog.SourceKind(c.kind)
		f.Call("PUT", "/v1/inventory-sources/known", "operator", body)
		f.wasAsked("known", int64(0), want)
		if strings.Contains(a.Body, "T0PSECRET") {
			t.Errorf("a header is shown: %s", a.Body)
		}
	}
	for _, c := range []struct{ kind, config, where string }{
		{"script", `{"contents":"x"}`, "config.contents"}, {"script", `{"content":7}`, "config.content"},
		{"script", `{"url":"u"}`, "config.url"},
		{"script", `{"content":"x","plugin":{}}`, "config.plugin"}, {"project", `{"path":"x"}`, "config.path"},
		{"http", `{"plugin":"x"}`, "config.plugin"}, {"http", `{"url":["u"]}`, "config.url"},
		{"http", `{"url":"u","headers":[]}`, "config.headers"},
		{"http", `{"headers":{"X-Key":"T0PSECRET","X-N":7}}`, "config.headers.X-N"},
		{"http", `{"headers":"T0PSECRET"}`, "config.headers"},
		{"http", `{"URL":"u"}`, "config.URL"}, {"http", `{"b":1,"a":1,"c":1}`, "config.a"},
		{"plugin", `{"a":{"b":1,"b":2}}`, "config.a.b"}, {"plugin", `["a"]`, "config"}, {"http", `7`, "config"},
		{"tower", `{}`, "kind"}, {"", `{}`, "kind"},
	} {
		for _, r := range []string{"POST /v1/inventory-sources", "PUT /v1/inventory-sources/known"} {
			method, path, _ := strings.Cut(r, " ")
			a := f.Call(method, path, "operator",
				`{"name":"a","kind":"`+c.kind+`","inventory_id":"inv_1","config":`+c.config+`}`)
			if got := a.Problem(400, "invalid"); !slices.Equal(got, []string{c.where}) || strings.Contains(a.Body, "T0PSECRET") {
				t.Errorf("%s %s: %v %s", c.kind, c.config, got, a.Body)
			}
		}
	}
	if strings.Contains(f.Log.String(), "T0PSECRET") {
		t.Error("a header is in the log")
	}
}
