package catalog

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/system"
)

type object = map[string]any

// variant is a body of a kind of object. Members that exclude each other need several variants.
type variant struct {
	name  string
	leave []string
	set   object
	// unfiled are members that files do not contain: the content that a source fills.
	unfiled []string
}

// kind is a kind of object. unlike are members that its answer has in another form.
type kind struct {
	path     string
	variants []variant
	unlike   []string
}

// anID is the rest of ids of objects that do not exist.
const anID = "00000000000000000000000000"

// groups are the kinds that others reference, and those that only the API has.
func groups() []kind {
	return []kind{
		{path: "/v1/orgs", variants: []variant{{}}},
		{path: "/v1/teams", variants: []variant{{}}},
		{path: "/v1/users", variants: []variant{{}}},
		{path: "/v1/tokens", variants: []variant{{}}},
		{path: "/v1/credential-types", variants: []variant{{}}},
		{path: "/v1/credentials", variants: []variant{
			{name: "chosen", leave: []string{"kind", "settings", "secret", "source"}},
			{name: "fetched", leave: []string{"type_id", "fields", "secret"}, set: object{
				"kind": "token", "settings": object{"env_name": "B"},
			}},
			{name: "given", leave: []string{"type_id", "fields", "source"}, set: object{
				"kind": "token", "secret": object{"token": "plain"},
			}},
		}},
		{path: "/v1/policies", variants: []variant{{set: object{
			"effect": "require_approval", "match.queues": []any{"far"},
			"match.inventory_ids": []any{"inv_" + anID}, "match.template_ids": []any{"tpl_" + anID},
			"match.project_ids": []any{"prj_" + anID},
		}}}},
		{path: "/v1/windows", variants: []variant{
			{name: "often", leave: []string{"from", "to"}, set: windowSet("cron", "0 1 * * *", "duration", 3600.0)},
			{name: "once", leave: []string{"cron", "duration"}, set: windowSet("from", "2020-01-01T00:00", "to",
				"2020-01-01T01:00:00Z")},
		}},
	}
}

// windowSet are the members of a window that need certain values, with pairs of others.
func windowSet(more ...any) object {
	out := object{"timezone": "Europe/Berlin", "match.queues": []any{"far"},
		"match.inventory_ids": []any{"inv_" + anID}, "match.template_ids": []any{"tpl_" + anID},
		"match.project_ids": []any{"prj_" + anID}}
	for i := 0; i < len(more); i += 2 {
		out[more[i].(string)] = more[i+1]
	}
	return out
}

// filed are the kinds in files, ordered by their references.
func filed() []kind {
	alone := strings.Fields("playbook command tool shards limit tags skip_tags forks verbosity diff_mode inventory_id " +
		"inventory_query")
	launched := slices.Concat(alone, under("steps[].", presets))
	alone = slices.Concat(alone, under("steps[].", launches))
	file := []string{"path", "project_id"}
	return []kind{
		{path: "/v1/projects", variants: []variant{{}}},
		{path: "/v1/inventories", variants: []variant{
			{name: "filled", unfiled: []string{"content", "format"}}, {name: "kept"},
		}},
		{path: "/v1/inventory-sources", variants: []variant{
			{name: "http", leave: file, set: object{"kind": "http", "config": object{
				"url": "https://hosts.example.org/x", "headers": object{"X-Key": "plain"},
			}}},
			{name: "project", leave: []string{"config"}, set: object{"kind": "project"}},
			{name: "script", leave: file, set: object{"kind": "script", "config": object{"content": "#!/bin/sh\n"}}},
			{name: "plugin", leave: file, set: object{"kind": "plugin", "config": object{"plugin": "a.b.c", "n": 7}}},
		}},
		{path: "/v1/templates", variants: []variant{
			{name: "flow", leave: append([]string{"steps[].tool"}, alone...), set: object{
				"allow_overrides": []any{"labels"},
			}},
			{name: "free steps", leave: append([]string{"steps[].inventory_query"}, alone...), set: object{
				"allow_overrides": []any{"labels"}, "steps[].credential_ids": []any{}, "steps[].fail_on": []any{},
			}},
			{name: "split", leave: []string{"steps", "inventory", "tool", "dry_run_executes"}},
			{name: "plain", leave: []string{"steps", "inventory", "shards", "inventory_query"}},
			{name: "flow of templates", leave: launched, set: object{"allow_overrides": []any{"labels"}}},
		}},
		{path: "/v1/schedules", variants: []variant{
			{name: "of a template", leave: []string{"run", "pipeline"}},
			{name: "of a run", leave: []string{"template_id", "answers", "pipeline", "run.inventory", "run.tool"}},
			{name: "of a run by path", leave: []string{"template_id", "answers", "pipeline", "run.inventory_id",
				"run.inventory_query", "run.shards"}},
			{name: "of a pipeline", leave: append([]string{"template_id", "answers", "run", "pipeline.inventory"},
				under("pipeline.steps[].", launches+" tool")...)},
			{name: "of a pipeline by path", leave: append([]string{"template_id", "answers", "run", "pipeline.inventory_id"},
				under("pipeline.steps[].", launches+" inventory_query")...)},
		}},
		{path: "/v1/triggers", variants: []variant{{}}},
	}
}

// launches are the members of a step that launches a template, and presets those that it lacks.
const (
	launches = "template_id answers"
	presets  = "tool playbook command inventory_id inventory_query project_id credential_ids extra_vars limit tags " +
		"skip_tags timeout queue fail_on"
)

// under returns the paths of members.
func under(path, members string) []string {
	var out []string
	for _, m := range strings.Fields(members) {
		out = append(out, path+m)
	}
	return out
}

// records are objects that are submitted and never changed.
func records() []kind {
	return []kind{
		{path: "/v1/runs", variants: []variant{
			// A query selects hosts that this install does not have.
			{leave: []string{"inventory", "tool", "inventory_query"}},
			{leave: []string{"inventory_id", "shards", "inventory_query"}},
		}},
		{path: "/v1/pipelines", variants: []variant{
			{leave: append([]string{"inventory"}, under("steps[].", launches+" inventory_query")...)},
			{leave: append([]string{"inventory_id"}, under("steps[].", launches+" inventory_query")...)},
		}, unlike: []string{"steps"}},
		{path: "/v1/grants", variants: []variant{{}}},
	}
}

// constants are values for members with these names.
func constants(repo *repo) object {
	return object{
		"repo_url": repo.url(), "branch": "main", "cron": "30 2 * * *", "timezone": "Europe/Berlin",
		"tool": "bash", "playbook": "site.yml", "inventory_query": "host=web1", "path": "hosts.ini", "queue": "far",
		"enabled":           false,
		"require_signature": false,
		"sync_interval":     60, "depends_on": []any{"first"}, "content": "all:\n  hosts:\n    web1:\n", "format": "yaml",
		"known_hosts":     "web1 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPc6OdGcCcJyJPGz3cGEr4kfAH3kEzUfoC+XrSqfLrXl\n",
		"host_key_policy": "strict",
		"events":          []any{"push"}, "allow_overrides": []any{"limit"}, "allowed_vars": []any{"ansible_user"},
		"fail_on":           []any{"no_hosts"},
		"locks":             []any{"db"},
		"isolation_profile": "sealed",
		"answers":           object{"version": "v1"},
		"links":             []any{"https://example.org/a"}, "networks": []any{"192.0.2.0/24"},
		"email": "a@example.org", "username": "alex", "password": "a long enough password",
		"settings": object{"env_name": "A"}, "source": object{"engine": "env", "config": object{"name": "X"}},
		"notifications": []any{
			object{"kind": "webhook", "url": "https://hooks.example.org/plain", "key": "plain", "on_failure": true},
			object{"kind": "email", "to": "a@example.org"},
		},
		"survey": []any{
			object{
				"var": "version", "type": "text", "label": "Which?", "help": "v1", "required": true, "default": "v1",
				"min_length": 1, "max_length": 9, "pattern": "v[0-9]+",
			},
			object{"var": "count", "type": "int", "min": 0, "max": 9, "default": 0},
			object{"var": "where", "type": "choice", "choices": []any{"eu", "us"}},
		},
		"fields": []any{
			object{
				"name": "region", "label": "Region", "type": "choice", "required": true, "default": "eu",
				"choices": []any{"eu", "us"},
			},
			object{"name": "key", "type": "text", "secret": true},
		},
		"inject": object{
			"env": object{"A": "{{region}}"}, "extra_vars": object{"pager": "{{region}}"}, "files": object{"a.ini": "k={{key}}"},
		},
	}
}

// entry is an object that was made.
type entry struct {
	kind
	name, id string
	sent     object
}

// fill creates an object of every variant of the kinds, and checks that it reads back as sent, and that a PUT of the
// answer loses nothing.
func (w *fixture) fill(f *filler, kinds []kind) []entry {
	w.t.Helper()
	var out []entry
	for _, k := range kinds {
		for _, v := range k.variants {
			body := f.body(k.path, v)
			if _, has := body["name"]; has {
				body["name"] = strings.TrimSpace(strings.TrimPrefix(k.path, "/v1/") + " " + v.name)
			}
			made := w.want(http.StatusCreated, http.MethodPost, k.path, body)
			e := entry{kind: k, sent: body}
			e.id, _ = made["id"].(string)
			e.name, _ = body["name"].(string)
			for _, member := range k.unlike {
				delete(body, member)
			}
			at := k.path + "/" + e.id
			if k.path == "/v1/pipelines" {
				at = "/v1/runs/" + e.id
			}
			read := w.want(http.StatusOK, http.MethodGet, at, nil)
			for _, member := range lost("", body, read, false) {
				w.t.Errorf("%s %q loses %s", k.path, v.name, member)
			}
			if a := w.Do(http.MethodPut, at, read); a.Status != http.StatusMethodNotAllowed {
				if a.Status != http.StatusOK {
					w.t.Errorf("PUT %s %q of what GET returned: %d %s", k.path, v.name, a.Status, a.Body)
				}
				for _, member := range lost("", body, w.want(http.StatusOK, http.MethodGet, at, nil), false) {
					w.t.Errorf("PUT %s %q loses %s", k.path, v.name, member)
				}
			}
			for _, member := range v.unfiled {
				delete(body, member)
			}
			f.named(k.path, e.id)
			out = append(out, e)
		}
	}
	return out
}

// named makes an object available to later bodies.
func (f *filler) named(path, id string) {
	switch path {
	case "/v1/orgs":
		f.values["org_id"] = id
	case "/v1/users":
		f.values["user_id"], f.values["subject"], f.values["actors"] = id, "user:"+id, []any{"user:" + id}
	case "/v1/teams":
		f.values["approver_teams"] = []any{id}
	case "/v1/credential-types":
		f.values["type_id"] = id
		f.values["fields"] = object{"region": "us"}
	case "/v1/credentials":
		f.values["selectable_credential_ids"] = f.values["credential_ids"]
		f.values["credential_id"], f.values["credential_ids"] = id, []any{id}
	case "/v1/projects":
		f.values["project_id"], f.values["object"] = id, id
	case "/v1/inventories":
		if f.values["inventory_id"] == nil {
			f.values["inventory_id"] = id
		}
	case "/v1/templates":
		f.values["template_id"] = id
	}
}

// licensed are the flags of a server whose licence includes everything.
func licensed(t *testing.T) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "license.json")
	if err := os.WriteFile(file, harness.Licence(t, system.Team, time.Hour), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--license", file}
}

// TestNoMemberIsLost: every member that the API document lets a caller set survives a read, a PUT of the answer, and an
// export to another install, on each engine.
func TestNoMemberIsLost(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		one := newFixture(t, harness.Options{DB: dbURL, Flags: append(licensed(t), "--secret-env", "X")})
		site := one.repo("site", map[string]string{"site.yml": "- hosts: all\n", "hosts.ini": "web1\n"})
		f := newFiller(t, one.Client)
		f.values = constants(site)
		one.want(http.StatusOK, http.MethodPut, "/v1/auth/me/password", object{"new": f.values["password"]})
		one.fill(f, groups())
		made := one.fill(f, filed())
		one.fill(f, records())
		var paths []string
		for _, list := range [][]kind{groups(), filed(), records()} {
			for _, k := range list {
				paths = append(paths, k.path)
			}
		}
		f.whole(paths)

		dir, again := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
		one.must("export", dir)
		exported := tree(t, dir)
		other := harness.Options{Flags: append(licensed(t), "--local-projects", one.root, "--secret-env", "X")}
		if dbURL != "" {
			other.DB = harness.Postgres(t)
		}
		two := &fixture{t: t, root: one.root, Server: harness.Start(t, other)}
		g := newFiller(t, two.Client)
		g.values = constants(site)
		two.want(http.StatusOK, http.MethodPut, "/v1/auth/me/password", object{"new": g.values["password"]})
		two.fill(g, groups())
		ids := strings.NewReplacer(accounts(f, g)...)
		for name, text := range exported {
			text = ids.Replace(text)
			exported[name] = text
			// A mask has no meaning for another install.
			text = strings.ReplaceAll(text, "***", "plain")
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		two.must("apply", dir)
		for _, e := range made {
			read := two.named(e)
			for _, member := range lost("", e.sent, read, true) {
				t.Errorf("%s %q loses %s on its way through files", e.path, e.name, member)
			}
		}
		two.must("export", again)
		if d := cmp.Diff(exported, tree(t, again)); d != "" {
			t.Errorf("exported again:\n%s", d)
		}
	})
}

// accounts are the ids of accounts and teams in one install, each followed by that in another. In files they stay ids.
func accounts(one, two *filler) []string {
	id := func(f *filler, member string) string { return f.values[member].([]any)[0].(string) }
	return []string{one.values["user_id"].(string), two.values["user_id"].(string),
		id(one, "approver_teams"), id(two, "approver_teams")}
}

// named reads the object of an entry's name.
func (w *fixture) named(e entry) object {
	w.t.Helper()
	var list map[string]any
	a := w.Do(http.MethodGet, e.path, nil)
	a.JSON(w.t, &list)
	for _, rows := range list {
		rows, _ := rows.([]any)
		for _, row := range rows {
			if row, _ := row.(object); row["name"] == e.name {
				return w.want(http.StatusOK, http.MethodGet, e.path+"/"+row["id"].(string), nil)
			}
		}
	}
	w.t.Fatalf("there is no %q at %s", e.name, e.path)
	return nil
}
