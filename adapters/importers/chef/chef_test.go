package chef_test

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/importers/chef"
	"github.com/writ-automation/writ/ports/importer"
)

const node = `{"name":"web1.example.org","chef_environment":"production","json_class":"Chef::Node",
 "run_list":["recipe[nginx::server@1.2]","role[web]","base","odd item["],"normal":{"tags":["eu"]},"policy_name":"web",
 "automatic":{"ipaddress":"192.0.2.1","platform":"debian","platform_version":"12","ohai_time":1000000000}}`

func read(t *testing.T, file, body string) (content string, d importer.Draft, err error) {
	t.Helper()
	d, err = chef.New().Read(t.Context(), importer.Export{File: file, Body: []byte(body), Now: time.Unix(1.7e9, 0)})
	for _, o := range d.Objects {
		if spec, ok := o.Spec.(*importer.InventorySpec); ok {
			content = spec.Content
		}
	}
	return content, d, err
}

func archived(t *testing.T, files map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, text := range files {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestRead(t *testing.T) {
	t.Parallel()
	groups := []string{"env_production", "recipe_nginx_server", "role_web", "recipe_base", "tag_eu", "policy_web",
		"platform_debian", "ansible_host: 192.0.2.1"}
	for name, c := range map[string]struct {
		file, body string
		has        []string
		skipped    int
	}{
		"a node":   {"", node, groups, 0},
		"nodes":    {"", "[" + node + "]", groups, 0},
		"a search": {"", `{"results":1,"start":0,"rows":[` + node + `]}`, groups, 0},
		"a partial one": {"", `{"rows":[{"url":"https://c/nodes/db1","data":{"ipaddress":"192.0.2.7"}}]}`,
			[]string{"db1"}, 0},
		"by name":     {"", `[{"db2":{"automatic":{"fqdn":"db2.example"}}}]`, []string{"db2", "db2.example"}, 0},
		"names":       {"", `["a.example","b.example"]`, []string{"a.example", "b.example"}, 0},
		"Ohai":        {"x.json", `{"fqdn":"o.example","platform":"windows"}`, []string{"o.example", "winrm"}, 0},
		"a bare file": {"bare.json", `{"run_list":[]}`, []string{"bare"}, 0},
		"a tag alone": {"t.json", `{"run_list":[],"normal":{"tags":"blue"}}`, []string{"tag_blue"}, 0},
		"an archive": {"", archived(t, map[string]string{"kitchen/nodes/n1.json": `{"run_list":["role[db]"]}`,
			"kitchen/nodes/bad.json": "{", "kitchen/roles/db.json": `{"json_class":"Chef::Role"}`}),
			[]string{"n1", "role_db"}, 2},
	} {
		content, d, err := read(t, c.file, c.body)
		if err != nil || len(d.Objects) != c.skipped+1 {
			t.Errorf("%s: %d objects: %v", name, len(d.Objects), err)
			continue
		}
		for _, want := range c.has {
			if !strings.Contains(content, want) {
				t.Errorf("%s: %q is missing in\n%s", name, want, content)
			}
		}
	}
	_, d, _ := read(t, "", node)
	text := ""
	for _, w := range d.Objects[0].Warnings {
		text += w.Message + "\n"
	}
	for _, want := range []string{"odd item[", "older than 30 days", "Of the attributes"} {
		if !strings.Contains(text, want) {
			t.Errorf("no warning has %q: %s", want, text)
		}
	}
	for _, body := range []string{"", "[]", "x", "[{]", "null", `{"json_class":"Chef::Role","name":"r"}`, `[1]`} {
		if content, d, err := read(t, "", body); content != "" || err == nil && len(d.Objects) == 0 {
			t.Errorf("%q is accepted: %s", body, content)
		}
	}
}

// TestExports reads the files that others made: each of a node is a host, and no other.
func TestExports(t *testing.T) {
	t.Parallel()
	root := os.Getenv("WRIT_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "..", "..", "shared")
	}
	hosts := 0
	err := filepath.WalkDir(filepath.Join(root, "testdata", "chef"), func(path string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return fs.SkipAll // TestRead has one of each form
		}
		if err != nil || d.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		content, _, err := read(t, filepath.Base(path), string(body))
		none := strings.Contains(path, "environments") || strings.Contains(path, "roles")
		if err != nil || none != (content == "") {
			t.Errorf("%s: %v\n%s", path, err, content)
		}
		if content != "" {
			hosts++
		}
		return nil
	})
	if err != nil || hosts != 0 && hosts != 18 {
		t.Errorf("%d hosts: %v", hosts, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(node))
	f.Add([]byte(`{"rows":[{"a":{"b":1}}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		d, err := chef.New().Read(t.Context(), importer.Export{File: "n.json", Body: body})
		for _, o := range d.Objects {
			if o.Kind == "" || o.Class == "" || o.Spec == nil && o.Reason == "" || err != nil {
				t.Errorf("%+v: %v", o, err)
			}
		}
	})
}
