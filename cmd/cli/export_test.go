package cli

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// contents reads a whole directory.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[rel] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestExport(t *testing.T) {
	t.Parallel()
	s, _ := applied(t)
	filled := s.put("inventories", obj{"name": "Filled!", "format": "json", "content": "{}"})
	s.put("inventories", obj{"name": "lab", "format": "yaml", "content": "all:\n  hosts:\n    lab1:\n    lab2:\n"})
	s.put("inventories", obj{"name": "few", "format": "ini", "content": "[web]\nweb1\n"})
	s.put("inventories", obj{"name": "many", "format": "ini", "content": "[web]\nweb1\nweb2\nweb3\n"})
	s.put("inventory-sources", obj{"name": "cloud", "kind": "http", "org_id": s.put("orgs", obj{"name": "bank"}),
		"inventory_id": filled,
		"config":       obj{"url": "https://x/y", "headers": obj{"Authorization": "secret"}}})
	s.put("templates", obj{"name": "Deploy", "playbook": "x.yml",
		"extra_vars": obj{"api_token": "secret", "a": obj{"password": "secret"}},
		"notifications": []any{obj{"kind": "slack", "url": "https://chat.example.org/secret"},
			obj{"kind": "pagerduty", "key": "secret"}}})
	dir := filepath.Join(t.TempDir(), "out")
	if out := s.mustWrit(t, "export", dir); out != fmt.Sprintf("17 files written to %s\n", dir) {
		t.Error(out)
	}
	got := contents(t, dir)
	want := map[string]string{
		"projects/site.yaml": "kind: Project\nname: site\nspec:\n  repo_url: " +
			"https://git.example.org/site.git\n  branch: \"1.10\"\n  credential: deploy key\n",
		"credentials/deploy-key.yaml": "kind: Credential\nname: deploy key\n",
		"orgs/bank.yaml":              "kind: Organization\nname: bank\nspec:\n  members: []\n",
		"inventories/web.yaml":        "kind: Inventory\nname: web\n",
		"inventories/lab.yaml": "kind: Inventory\nname: lab\nspec:\n  content_file: lab.content.yaml\n  format: " +
			"yaml\n",
		"inventories/lab.content.yaml": "all:\n  hosts:\n    lab1:\n    lab2:\n",
		"inventories/many.yaml":        "kind: Inventory\nname: many\nspec:\n  content_file: many.content.ini\n",
		"inventories/many.content.ini": "[web]\nweb1\nweb2\nweb3\n",
		"inventories/few.yaml":         "kind: Inventory\nname: few\nspec:\n  content: |\n    [web]\n    web1\n",
		"inventories/filled.yaml":      "kind: Inventory\nname: \"Filled!\"\n",
		"inventory_sources/cloud.yaml": "kind: InventorySource\nname: cloud\nspec:\n  kind: plugin\n  config:\n    " +
			"plugin: amazon.aws.aws_ec2\n    port: 12345678901234567890\n    regions:\n      - eu-west-1\n  inventory: web\n",
		"inventory_sources/cloud-2.yaml": "kind: InventorySource\nname: cloud\norg: bank\nspec:\n  kind: http\n  config:\n " +
			"   url: https://x/y\n    headers:\n      Authorization: \"***\"\n  inventory: \"Filled!\"\n",
		"templates/deploy.yaml": "kind: Template\nname: Deploy\nspec:\n  playbook: x.yml\n  extra_vars:\n    a:\n      " +
			"password: \"[redacted]\"\n    api_token: \"[redacted]\"\n" +
			"  notifications:\n    - kind: slack\n      url: \"https://chat.example.org/***\"\n    - kind: pagerduty\n      " +
			"key: \"***\"\n",
		"templates/deploy-2.yaml": got["templates/deploy-2.yaml"],
		"templates/flow.yaml": "kind: Template\nname: flow\nspec:\n  steps:\n    - name: one\n      tool: bash\n      " +
			"command: |\n        set -e\n        echo one\n      inventory: web\n" +
			"    - name: two\n      tool: bash\n      command: \"true\"\n      depends_on:\n        - one\n",
		"schedules/nightly.yaml": "kind: Schedule\nname: nightly\nspec:\n  cron: \"0 2 * * *\"\n  timezone: " +
			"Europe/Berlin\n  template: deploy\n  answers:\n    count: 3\n",
		"triggers/push.yaml": "kind: Trigger\nname: push\nspec:\n  template: deploy\n  branch: main\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if out := s.mustWrit(t, "apply", dir, "--plan",
		"--prune"); out != "0 to create, 0 to change, 0 to delete, 15 unchanged\n" {
		t.Error(out)
	}
	// A mask is sent back unchanged, and the server keeps the secret.
	at := filepath.Join(dir, "templates", "deploy.yaml")
	if err := os.WriteFile(at, []byte(strings.ReplaceAll(got["templates/deploy.yaml"], "x.yml", "y.yml")),
		0o600); err != nil {
		t.Fatal(err)
	}
	s.mustWrit(t, "apply", dir)
	for _, k := range s.objects["templates"] {
		raw, _ := json.Marshal(k.fields)
		if k.fields["name"] == "Deploy" && (k.fields["playbook"] != "y.yml" || strings.Count(string(raw), "secret") != 4) {
			t.Errorf("stored: %s", raw)
		}
	}
	// Another server does not have the secret.
	code, _, errs := newCatalogServer(t).writ(t, "apply", at)
	for _, want := range []string{"deploy.yaml:7: spec.extra_vars.a.password: \"[redacted]\" stands for a value that " +
		"the server does not have", "spec.notifications[1].key: \"***\" stands"} {
		if code != exitFailed || !strings.Contains(errs, want) {
			t.Errorf("exit %d, no %q in %s", code, want, errs)
		}
	}
}

func TestExportLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	s, _ := applied(t)
	dir := tree(t, map[string]string{".git/HEAD": "x"})
	s.mustWrit(t, "export", dir)
	if code, _, errs := s.writ(t, "export", dir); code != exitFailed ||
		!strings.Contains(errs, dir+" is not empty: name another directory, or use --force") {
		t.Errorf("exit %d, %q", code, errs)
	}
	before := contents(t, dir)
	rename := func(from, to string) {
		if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	rename("templates/flow.yaml", "templates/renamed.yaml")
	for name, input := range map[string]string{"templates/mine.yaml": "kind: Template\nname: mine\n", "README.md": "x",
		"templates/deploy-all.yaml": "not a document"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(input), 0o600); err != nil {
			t.Fatal(err)
		}
		before[name] = input
	}
	before["templates/renamed.yaml"] = before["templates/flow.yaml"]
	delete(before, "templates/flow.yaml")
	s.put("templates", obj{"name": "Deploy all", "playbook": "x.yml"})
	before["templates/deploy-all-2.yaml"] = "kind: Template\nname: Deploy all\nspec:\n  playbook: x.yml\n"
	s.mustWrit(t, "export", dir, "--force")
	if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
		t.Error(diff)
	}
	s.put("templates", obj{"name": "new", "tool": "bash", "command": "1\n2\n3\n4\n"})
	out := t.TempDir()
	if err := os.RemoveAll(filepath.Join(dir, "templates")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(out, filepath.Join(dir, "templates")); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := s.writ(t, "export", dir, "--force"); code != exitFailed || errs == "" ||
		len(contents(t, out)) != 0 {
		t.Errorf("through a link: exit %d, %q", code, errs)
	}
}

// pick draws one of the ids, or none.
func pick(t *rapid.T, label string, ids []string) string {
	if i := rapid.IntRange(-1, len(ids)-1).Draw(t, label); i >= 0 {
		return ids[i]
	}
	return ""
}

// fill puts a random catalog on a server: names that collide as files, in several organizations, with texts of every
// form.
func fill(t *rapid.T, s *catalogServer) {
	orgs := []string{s.put("orgs", obj{"name": "Retail"}), s.put("orgs", obj{"name": "bank & co"})}
	keys := []string{s.put("credentials", obj{"name": "key"}), s.put("credentials", obj{"name": "key", "org_id": orgs[0]}),
		s.put("credentials", obj{"name": "yes"})}
	input := rapid.OneOf(rapid.StringMatching(`[ -~]{0,12}`), rapid.StringMatching(`([ -~]{0,6}\n){1,8}`),
		rapid.SampledFrom([]string{"yes", "1.10", "a\r\nb\n", "é: ü", "- x", "{{ x }}"}))
	names := rapid.SampledFrom([]string{"web", "Web", "web!", "1.0", "on", "a: b", "日本", "x/y"})
	anything := rapid.OneOf(rapid.Map(input, func(s string) any { return s }),
		rapid.SampledFrom([]any{json.Number("1"), json.Number("1.50"), json.Number("98765432109876543210"), true, nil,
			[]any{"a", false}, obj{"b": "c"}}))
	ids := map[string][]string{}
	several := func(plural string, make func(label string) obj) {
		taken := map[string]bool{}
		for i := range rapid.IntRange(0, 4).Draw(t, plural) {
			label := fmt.Sprintf("%s %d", plural, i)
			o := make(label)
			o["name"], o["org_id"] = names.Draw(t, label+" name"), pick(t, label+" org", orgs)
			if key := fmt.Sprint(o["name"], o["org_id"]); !taken[key] {
				taken[key] = true
				for name, v := range o {
					if v == "" || v == nil {
						delete(o, name)
					}
				}
				ids[plural] = append(ids[plural], s.put(plural, o))
			}
		}
	}
	several("projects", func(l string) obj {
		return obj{"repo_url": "https://x/" + input.Draw(t, l), "branch": input.Draw(t, l+" branch"),
			"credential_id": pick(t, l+" key", keys), "install_deps": true}
	})
	several("inventories", func(l string) obj {
		return obj{"content": input.Draw(t, l), "known_hosts": input.Draw(t, l+" keys"),
			"max_concurrent":  json.Number(rapid.SampledFrom([]string{"0", "3"}).Draw(t, l+" limit")),
			"host_key_policy": rapid.SampledFrom([]string{"accept-new", "strict"}).Draw(t, l+" policy"),
			"format": rapid.SampledFrom([]string{"ini", "yaml", "json"}).
				Draw(t, l+" format"), "credential_ids": []any{pick(t, l+" key", keys[:1]) + "", keys[1]}[1:]}
	})
	if len(ids["inventories"]) > 0 {
		several("inventory-sources", func(l string) obj {
			return obj{"kind": "script", "config": obj{"content": "x" + input.Draw(t, l)},
				"inventory_id":  rapid.SampledFrom(ids["inventories"]).Draw(t, l+" inventory"),
				"sync_interval": json.Number("60")}
		})
	}
	several("templates", func(l string) obj {
		return obj{
			"tool": "bash", "command": input.Draw(t, l), "inventory_id": pick(t, l+" inventory", ids["inventories"]),
			"project_id":     pick(t, l+" project", ids["projects"]),
			"extra_vars":     obj{"a": anything.Draw(t, l+" a"), input.Draw(t, l+" b"): anything.Draw(t, l+" c")},
			"credential_ids": []any{keys[0], keys[2]},
			"max_concurrent": json.Number(rapid.SampledFrom([]string{"0", "1", "7"}).Draw(t, l+" limit")),
			"when_busy":      rapid.SampledFrom([]string{"queue", "skip", "replace"}).Draw(t, l+" busy"),
			"locks":          []any{"db"}, "exclusive_hosts": rapid.Bool().Draw(t, l+" exclusive"),
			"survey": []any{obj{"var": "v", "type": "int", "default": json.Number("0"),
				"label": "l" + input.Draw(t, l+" label")}},
		}
	})
	fillAccess(t, s, orgs, ids)
	if len(ids["templates"]) > 0 {
		several("schedules", func(l string) obj {
			return obj{"cron": "* * * * *", "enabled": rapid.Bool().Draw(t, l), "dry_run": rapid.Bool().Draw(t, l+" dry"),
				"overlap":     rapid.SampledFrom([]string{"skip", "queue", "allow"}).Draw(t, l+" overlap"),
				"template_id": rapid.SampledFrom(ids["templates"]).Draw(t, l+" template"), "answers": obj{"v": json.Number("3")}}
		})
		several("triggers", func(l string) obj {
			return obj{"require_signature": rapid.Bool().Draw(t, l), "template_id": rapid.SampledFrom(ids["templates"]).
				Draw(t, l+" template"), "branch": input.Draw(t, l+" branch")}
		})
	}
}

// putAccounts puts accounts on a server, by name.
func putAccounts(s *catalogServer) map[string]string {
	out := map[string]string{}
	for _, name := range []string{"ada", "bob", "yes"} {
		out[name] = s.put("users", obj{"username": name})
	}
	return out
}

// fillAccess puts groups with members, and grants on the templates and on queues.
func fillAccess(t *rapid.T, s *catalogServer, orgs []string, ids map[string][]string) {
	accounts := putAccounts(s)
	teams := []string{s.put("teams", obj{"name": "web on call"}), s.put("teams", obj{"name": "no"})}
	for _, group := range []struct {
		plural, id string
		roles      []string
	}{{"orgs", orgs[0], []string{"", "member", "admin"}}, {"teams", teams[0], []string{"", " "}}} {
		members := map[string]string{}
		for name, id := range accounts {
			if role := rapid.SampledFrom(group.roles).Draw(t, group.plural+name); role != "" {
				members[id] = strings.TrimSpace(role)
			}
		}
		s.objects[group.plural][group.id].members = members
	}
	subjects := []string{"team:" + teams[0], "team:" + teams[1], "user:" + accounts["ada"], "user:" + accounts["yes"]}
	objects := append([]string{"queue:gpu", "queue:a/b:c"}, ids["templates"]...)
	for _, subject := range subjects {
		level := rapid.SampledFrom([]string{"", "read", "use", "manage"}).Draw(t, subject)
		if object := rapid.SampledFrom(objects).Draw(t, subject+" object"); level != "" {
			s.put("grants", obj{"subject": subject, "object": object, "level": level})
		}
	}
	s.put("queues", obj{"name": "gpu", "max_concurrent": json.Number("0")})
	s.put("windows", obj{"name": "1.10", "mode": "deny", "outside": "wait", "cron": "@daily",
		"duration": json.Number("60"), "enabled": rapid.Bool().Draw(t, "window")})
}

// TestRoundTrip exports any catalog, finds nothing to change, applies it to an empty server, and exports the same
// files again.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		one, two := newCatalogServer(outer), newCatalogServer(outer)
		defer one.Close()
		defer two.Close()
		fill(t, one)
		putAccounts(two)
		dir := outer.TempDir()
		first, second := filepath.Join(dir, "a"), filepath.Join(dir, "b")
		one.mustWrit(outer, "export", first)
		written := contents(outer, first)
		if len(written) == 0 {
			return
		}
		if out := one.mustWrit(outer, "apply", first, "--check", "--prune"); strings.Contains(out, "~") {
			t.Fatalf("the same server: %s", out)
		}
		two.mustWrit(outer, "apply", first)
		two.mustWrit(outer, "export", second)
		if diff := cmp.Diff(written, contents(outer, second)); diff != "" {
			t.Fatal(diff)
		}
	})
}
