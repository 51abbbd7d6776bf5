package puppet_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/importers/puppet"
	"github.com/writ-automation/writ/ports/importer"
)

const site = `# node 'commented' { }
node 'web1.example.org', "web2.example.org" {
  include role::web
  file { '/etc/motd': content => @("END"/L)
    node 'in-a-heredoc' { }
    | END
  }
}
node /^db\d+\./ { include role::db }
node default { }
/* node 'hidden' { } */
`

func read(t *testing.T, body string) (hosts int, content string, skipped []importer.Object, err error) {
	t.Helper()
	d, err := puppet.New().Read(t.Context(), importer.Export{Body: []byte(body)})
	for _, o := range d.Objects {
		if spec, ok := o.Spec.(*importer.InventorySpec); ok {
			content = spec.Content
			all, _, _ := strings.Cut(content[strings.Index(content, "\n    hosts:\n"):], "\x00")
			hosts = strings.Count(all, "\n        ") - strings.Count(all, "\n            ")
			continue
		}
		skipped = append(skipped, o)
	}
	return hosts, content, skipped, err
}

func TestRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body           string
		hosts, skipped int
		has            []string
	}{
		"nodes": {`[{"certname":"a.example","report_environment":"prod","deactivated":null},
			{"certname":"b.example","deactivated":"2026-01-01T00:00:00Z"}]`, 1, 1, []string{"env_prod"}},
		"facts": {`[{"certname":"a.example","name":"ipaddress","value":"192.0.2.1"},
			{"certname":"a.example","name":"os","value":"{\"family\":\"Debian\"}"}]`, 1, 0,
			[]string{"ansible_host: 192.0.2.1", "os_Debian"}},
		"fact contents": {`[{"certname":"a.example","path":["networking","ip"],"name":"ip","value":"192.0.2.9"}]`, 1, 0,
			[]string{"192.0.2.9"}},
		"factsets": {`[{"certname":"a.example","facts":{"href":"/x","data":[{"name":"kernel","value":"windows"}]}}]`, 1, 0,
			[]string{"winrm"}},
		"inventory": {`[{"certname":"a.example","facts":{"role":"web"},"trusted":{"extensions":{"pp_role":"edge"}}}]`, 1, 0,
			[]string{"role_web", "role_edge"}},
		"a command": {`{"certname":"a.example","environment":"test","values":{"fqdn":"x.example"}}`, 1, 0,
			[]string{"env_test"}},
		"facter":      {`{"networking":{"fqdn":"f.example","ip":"192.0.2.3"}}`, 1, 0, []string{"f.example", "192.0.2.3"}},
		"no certname": {`[{"certname":"a.example"},{"count":3}]`, 1, 1, nil},
		"a manifest":  {site, 2, 2, []string{"web1.example.org", "web2.example.org", "role_web"}},
	} {
		hosts, content, skipped, err := read(t, c.body)
		if err != nil || hosts != c.hosts || len(skipped) != c.skipped {
			t.Errorf("%s: %d hosts, %v: %v\n%s", name, hosts, skipped, err, content)
		}
		for _, want := range c.has {
			if !strings.Contains(content, want) {
				t.Errorf("%s: %q is missing in\n%s", name, want, content)
			}
		}
	}
	for _, body := range []string{"", "[]", "{}", "[1]", `[{"count":1}]`, `{"a":1}`, "x", "[{]", "node 'a"} {
		if _, _, skipped, err := read(t, body); err == nil && len(skipped) == 0 {
			t.Errorf("%q is accepted", body)
		}
	}
}

// TestExports reads the exports that others made, with the number of hosts of each.
func TestExports(t *testing.T) {
	t.Parallel()
	root := os.Getenv("WRIT_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "..", "..", "shared")
	}
	dir := filepath.Join(root, "testdata", "puppet")
	if _, err := os.Stat(dir); os.IsNotExist(err) {
		return // TestRead has one of each form
	}
	for name, want := range map[string]int{
		"replace-facts/pg1.vm.json": 1, "replace-facts/puppetdb1.vm.json": 1, "replace-facts/time-shift-facts.json": 1,
		"facter/opensuse-15-x86_64.json": 1, "facter/ubuntu-18.04-x86_64.json": 1, "api-examples/nodes-0.json": 1,
		"api-examples/facts-0.json": 3, "api-examples/facts-1.json": 1, "api-examples/facts-2.json": 1,
		"api-examples/facts-5.json": 3, "api-examples/facts-6.json": 1, "api-examples/facts-3.json": -1,
		"api-examples/facts-4.json": -1, "api-examples/fact-contents-0.json": 1, "api-examples/fact-contents-1.json": 2,
		"api-examples/fact-contents-2.json": 1, "site-manifests/openstack-site.pp": 1,
	} {
		body, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		hosts, _, skipped, err := read(t, string(body))
		if want < 0 != (err != nil) || err == nil && hosts != want {
			t.Errorf("%s: %d hosts, want %d: %v", name, hosts, want, err)
		}
		if strings.HasSuffix(name, ".pp") && len(skipped) != 55 { // 54 patterns and default
			t.Errorf("%s: %d statements without a host", name, len(skipped))
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(site))
	f.Add([]byte(`[{"certname":"a","path":["os"],"value":1}]`))
	f.Add([]byte(`{"certname":"a","facts":{"data":[{}]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		d, err := puppet.New().Read(t.Context(), importer.Export{Body: body})
		for _, o := range d.Objects {
			if o.Kind == "" || o.Class == "" || o.Spec == nil && o.Reason == "" || err != nil {
				t.Errorf("%+v: %v", o, err)
			}
		}
	})
}
