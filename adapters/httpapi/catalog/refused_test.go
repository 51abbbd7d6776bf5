package catalog_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	"github.com/writ-automation/writ/ports/catalog"
)

// canary is the value of every possible secret.
const canary = "c4n4ryS3cretValue"

// member is a member of a body with its accepted types, by the first letter of their names.
type member struct{ name, takes string }

// body is the request body of a route.
type body struct {
	valid   string // without the closing brace
	members []member
}

func members(takes, names string) []member {
	var out []member
	for _, n := range strings.Fields(names) {
		out = append(out, member{n, takes})
	}
	return out
}

func bodies() map[string]body {
	project := body{`{"name":"a","repo_url":"r"`,
		slices.Concat(members("s", "name repo_url branch credential_id org_id"), members("b", "install_deps"))}
	inventory := body{`{"name":"a","format":"ini","content":"h"`,
		slices.Concat(members("s", "name content queue org_id"), members("l", "credential_ids"),
			members("i", "max_concurrent"), members("", "format"))}
	source := body{`{"name":"a","kind":"project","inventory_id":"inv_1"`, slices.Concat(
		members("s", "name path project_id credential_id inventory_id org_id"), members("", "kind config"),
		members("b", "update_on_launch trusted"),
		members("i", "sync_interval"))}
	template := body{`{"name":"a"`, slices.Concat(
		members("s", "name tool playbook command inventory_id inventory project_id limit queue change org_id"),
		members("l", "tags skip_tags credential_ids selectable_credential_ids allowed_vars locks"),
		members("i", "shards forks verbosity timeout max_concurrent"),
		members("b", "diff_mode dry_run exclusive_hosts"), members("om", "extra_vars"), members("m", "labels"),
		members("", "notifications survey steps allow_overrides when_busy"))}
	launch := body{`{"answers":{}`, slices.Concat(members("s", "limit inventory_id change"),
		members("l", "credential_ids tags skip_tags"),
		members("i", "forks verbosity"), members("b", "dry_run diff_mode"), members("om", "answers extra_vars"),
		members("m", "labels"))}
	return map[string]body{
		"POST /v1/projects": project, "PUT /v1/projects/known": project, "POST /v1/inventories": inventory,
		"PUT /v1/inventories/known":  inventory,
		"POST /v1/inventory-sources": source, "PUT /v1/inventory-sources/known": source, "POST /v1/templates": template,
		"PUT /v1/templates/known": template, "POST /v1/templates/known/launch": launch,
	}
}

// without removes a member from a body.
func without(valid, name string) string {
	var out []string
	for _, m := range strings.Split(strings.TrimPrefix(valid, "{"), ",") {
		if !strings.HasPrefix(m, `"`+name+`":`) {
			out = append(out, m)
		}
	}
	return "{" + strings.Join(out, ",")
}

// TestEveryMemberIsChecked sets every member to a value of every type that it does not accept.
func TestEveryMemberIsChecked(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.fake.kind = catalog.ProjectSource
	for route, b := range bodies() {
		method, path, _ := strings.Cut(route, " ")
		send := func(member, value string) httpapitest.Answer {
			rest := without(b.valid, member)
			if rest != "{" {
				rest += ","
			}
			return f.Call(method, path, "operator", rest+`"`+member+`":`+value+`}`)
		}
		if a := f.Call(method, path, "operator", b.valid+"}"); a.Status > 201 {
			t.Fatalf("%s: %d %s", route, a.Status, a.Body)
		}
		for _, m := range b.members {
			for kind, value := range map[string]string{
				"s": `"` + canary + `"`, "i": `7`, "f": `1.5`, "h": `1e30`, "b": `true`, "l": `["` + canary + `"]`, "n": `[7]`,
				"m": `{"a":"` + canary + `"}`, "o": `{"a":7}`,
			} {
				a := send(m.name, value)
				if strings.Contains(m.takes, kind) {
					if a.Status > 201 {
						t.Errorf("%s %s of %s: %d %s", route, m.name, value, a.Status, a.Body)
					}
					continue
				}
				where := a.Problem(400, "invalid")
				if len(where) == 0 || !strings.HasPrefix(where[0], m.name) || strings.Contains(a.Body, canary) {
					t.Errorf("%s %s of %s: %v %s", route, m.name, value, where, a.Body)
				}
			}
			for _, value := range []string{`"` + canary + `\u0000"`, `"` + canary + `\ud800"`} {
				if where := send(m.name, value).Problem(400, "invalid"); !slices.Equal(where, []string{m.name}) {
					t.Errorf("%s %s of %s: %v", route, m.name, value, where)
				}
			}
		}
	}
	if strings.Contains(f.Log.String(), canary) {
		t.Error("a value is in the log")
	}
}

// TestBodiesAreStrict sends ambiguous JSON and unknown members.
func TestBodiesAreStrict(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for route, b := range bodies() {
		method, path, _ := strings.Cut(route, " ")
		first := b.members[0].name
		for suffix, where := range map[string]string{
			`,"nope":"` + canary + `"}`: "nope", `,"id":"x"}`: "id", `,"created_at":"x"}`: "created_at", `,"Name":"x"}`: "Name",
			`,"` + first + `":"x","` + first + `":"x"}`: first, `} {}`: "body", `}]`: "body",
			`,"queues":{"a":1,"a":2}}`: "queues.a",
		} {
			a := f.Call(method, path, "operator", b.valid+suffix)
			if got := a.Problem(400, "invalid"); !slices.Equal(got, []string{where}) || strings.Contains(a.Body, canary) {
				t.Errorf("%s %s: %v %s", route, suffix, got, a.Body)
			}
		}
		for _, text := range []string{"[]", "7", `"x"`, b.valid, "\xff"} {
			f.Call(method, path, "operator", text).Problem(400, "invalid")
		}
		f.Call(method, path, "operator", b.valid+"}", "Content-Type", "text/plain").Problem(415, "unsupported_media_type")
		for _, name := range []string{"name", "repo_url", "kind", "inventory_id", "content"} {
			// The member is required in this body; only an update may omit the content of an inventory.
			if !strings.Contains(b.valid, `"`+name+`":`) || name == "content" && method == "PUT" {
				continue
			}
			if got := f.Call(method, path, "operator", without(b.valid, name)+"}").
				Problem(400, "invalid"); !slices.Equal(got, []string{name}) {
				t.Errorf("%s without %s: %v", route, name, got)
			}
		}
		if path != "/v1/templates/known/launch" {
			f.Call(method, path, "operator", "").Problem(400, "invalid")
		}
	}
}

// TestNoSecretInFailures makes every call behind the routes fail.
func TestNoSecretInFailures(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.fake.answer(errors.New("the database is gone"))
	for route, text := range map[string]string{
		"POST /v1/inventory-sources": `{"name":"a","kind":"http","inventory_id":"i","config":{"url":"https://` + canary +
			`","headers":{"X":"` + canary + `"}}}`,
		"POST /v1/templates": `{"name":"a","extra_vars":{"password":"` + canary +
			`"},"notifications":[{"kind":"webhook","url":"https://` + canary + `"}]}`,
		"POST /v1/templates/known/launch": `{"answers":{"password":"` + canary + `"},"extra_vars":{"token":"` +
			canary + `"}}`,
		"PUT /v1/inventories/known": `{"name":"a","format":"ini","content":"h ansible_password=` + canary + `"}`,
		"POST /v1/projects":         `{"name":"a","repo_url":"https://x:` + canary + `@git.test/a"}`,
	} {
		method, path, _ := strings.Cut(route, " ")
		a := f.Call(method, path, "operator", text)
		a.Problem(500, "internal")
		if strings.Contains(a.Body, canary) {
			t.Errorf("%s: %s", route, a.Body)
		}
	}
	if log := f.Log.String(); strings.Contains(log, canary) || !strings.Contains(log, "the database is gone") {
		t.Errorf("log: %s", log)
	}
}
