package secrets_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// parked is a run with credentials on a queue without executors.
func parked(credentials ...string) obj {
	return obj{"tool": "bash", "command": "true", "queue": "parked", "credential_ids": credentials}
}

// TestTogether uses credentials together that are compatible, and such that are not.
func TestTogether(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, harness.Options{DB: dbURL})
		pass := func() obj { return obj{"password": fresh(8)} }
		vault := func(id string) string { return w.credential("vault_password", pass(), obj{"vault_id": id}) }
		token := func() string { return w.credential("token", obj{"token": fresh(8)}, nil) }
		cty := func() string {
			return w.id("/v1/credential-types", obj{"name": fresh(8),
				"fields": []obj{{"name": "a", "type": "text", "secret": true}}})
		}
		custom := func(of string) string {
			return w.id("/v1/credentials", obj{"name": fresh(8), "type_id": of, "fields": obj{"a": fresh(8)}})
		}
		one, other := cty(), cty()
		shell := w.credential("token", nil, nil)
		held := token()
		inv := w.inventory("hosts", "h\n", held)
		for name, c := range map[string]struct {
			ids       []string
			inventory string
			reason    string
		}{
			"two tokens": {[]string{token(), token()}, "", "credentials_clash"},
			"two ways to become": {[]string{w.credential("become", pass(), nil),
				w.credential("become_password", pass(), nil)}, "", "credentials_clash"},
			"one vault id twice":           {[]string{vault("a"), vault("a")}, "", "credentials_clash"},
			"the default one twice":        {[]string{vault(""), vault("default")}, "", "credentials_clash"},
			"two vault ids":                {[]string{vault("a"), vault("b"), vault("")}, "", ""},
			"two of one type":              {[]string{custom(one), custom(one)}, "", "credentials_clash"},
			"two types":                    {[]string{custom(one), custom(other)}, "", ""},
			"one that the inventory names": {[]string{held}, inv, ""},
			"another than the inventory's": {[]string{token()}, inv, "credentials_clash"},
			"a shell":                      {[]string{shell}, "", "credential_without_secret"},
		} {
			body := parked(c.ids...)
			body["inventory_id"] = c.inventory
			a := w.Do(http.MethodPost, "/v1/runs", body)
			if c.reason == "" {
				if a.Status != http.StatusCreated {
					t.Errorf("%s: %d %s", name, a.Status, a.Body)
				}
				continue
			}
			sentence := w.refused(http.StatusConflict, c.reason, a)
			for _, id := range c.ids {
				if !strings.Contains(sentence, id) {
					t.Errorf("%s: %s does not name %s", name, sentence, id)
				}
			}
		}
		step := func(ids ...string) obj {
			return obj{"name": fresh(5), "tool": "bash", "command": "true", "credential_ids": ids}
		}
		pipe := obj{"queue": "parked", "steps": []obj{step(token()), step(token(), token())}}
		if a := w.Do(http.MethodPost, "/v1/pipelines",
			pipe); !strings.Contains(w.refused(http.StatusConflict, "credentials_clash", a), "steps[1].credential_ids") {
			t.Errorf("a step: %s", a.Body)
		}
		tpl := w.id("/v1/templates", obj{
			"name": "t", "tool": "bash", "command": "true", "queue": "parked", "credential_ids": []string{token()},
			"selectable_credential_ids": []string{held},
		})
		w.refused(http.StatusConflict, "credentials_clash",
			w.Do(http.MethodPost, "/v1/templates/"+tpl+"/launch", obj{"credential_ids": []string{held}}))
		w.want(http.StatusOK, http.MethodPut, "/v1/credentials/"+shell,
			obj{"name": "filled", "kind": "token", "secret": obj{"token": fresh(8)}})
		w.want(http.StatusCreated, http.MethodPost, "/v1/runs", parked(shell))
	})
}

// TestALostKey removes the key: sealed texts are reported as lost, and everything else works.
// Keeps T22.
func TestALostKey(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, harness.Options{DB: dbURL, Flags: []string{"--queue", "default", "--queue", "later"}})
		value := fresh(16)
		id := w.credential("token", obj{"token": value}, nil)
		waits := w.Submit(obj{"tool": "bash", "command": "echo it ran", "credential_ids": []string{id},
			"require_approval": true})
		path := filepath.Join(w.dataDir(), "encryption.key")
		key := read(t, path)
		w.Stop()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		w = w.again()
		if sentence := w.refused(http.StatusConflict, "key_lost",
			w.Do(http.MethodPost, "/v1/runs", parked(id))); !strings.Contains(sentence, id) {
			t.Errorf("the credential is not named: %s", sentence)
		}
		w.refused(http.StatusConflict, "key_lost",
			w.Do(http.MethodPost, "/v1/credentials", obj{"name": "new", "kind": "token", "secret": obj{"token": "abcdef"}}))
		if doctor := string(w.Do(http.MethodGet, "/v1/doctor", nil).Body); !strings.Contains(doctor, id) {
			t.Errorf("the doctor does not tell: %s", doctor)
		}
		w.want(http.StatusOK, http.MethodGet, "/v1/credentials/"+id, nil)
		w.want(http.StatusOK, http.MethodGet, "/v1/credentials", nil)
		w.scriptOutput("true")
		w.want(http.StatusOK, http.MethodPost, "/v1/runs/"+waits.ID+"/approve", obj{})
		if r, log := w.ends(waits.ID, "failed"); !strings.Contains(r.Error, id) || strings.Contains(log, "it ran") {
			t.Errorf("a run that waited for its secret: %s %s", r.Error, log)
		}
		if exists(path) {
			t.Error("another key was made although secrets exist")
		}
		w.Stop()
		save(t, path, strings.Split(key, "\n")[0]+"\nMDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n")
		w = w.again()
		w.refused(http.StatusConflict, "key_lost", w.Do(http.MethodPost, "/v1/runs", parked(id)))
		if stdout := w.scriptOutput("rev <<< $TOKEN",
			w.credential("token", obj{"token": "of the new key"}, nil)); stdout != reversed("of the new key")+"\n" {
			t.Errorf("under another key: %q", stdout)
		}
		save(t, path, key+"MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n")
		if stdout := w.scriptOutput("rev <<< $TOKEN", id); stdout != reversed(value)+"\n" {
			t.Errorf("with the key back beside the other one: %q", stdout)
		}
		w.Intact()
	})
}

// TestWhoMayUse checks each level of permission on a credential, and the use of credentials through other objects.
// Keeps T52.
func TestWhoMayUse(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, harness.Options{DB: dbURL})
		id := w.credential("token", obj{"token": fresh(12)}, nil)
		inv := w.inventory("hosts", "h\n", id)
		tpl := w.id("/v1/templates", obj{"name": "t", "tool": "bash", "command": `test -n "$TOKEN"`,
			"credential_ids": []string{id}})
		choice := w.id("/v1/templates", obj{"name": "c", "tool": "bash", "command": `test -n "$TOKEN"`,
			"selectable_credential_ids": []string{id}})
		accounts := map[string]*fixture{"admin": w}
		for name, level := range map[string]string{"none": "", "reader": "read", "user": "use", "manager": "manage"} {
			user, s := w.somebody(name, "operator")
			if accounts[name] = s; level != "" {
				w.grant(user, id, level)
			}
		}
		viewer, s := w.somebody("viewer", "viewer")
		accounts["viewer"] = s
		w.grant(viewer, id, "manage")
		for name, want := range map[string]struct{ get, run, put, launch, choose int }{
			"none": {404, 404, 404, 201, 404}, "reader": {200, 403, 403, 201, 403}, "user": {200, 201, 403, 201, 201},
			"manager": {200, 201, 200, 201, 201}, "viewer": {200, 403, 403, 403, 403}, "admin": {200, 201, 200, 201, 201},
		} {
			p := accounts[name]
			tokens := 0.0
			if want.get == 200 {
				tokens = 1
			}
			if list := p.want(http.StatusOK, http.MethodGet, "/v1/credentials", nil); list["total"] != tokens {
				t.Errorf("%s lists %v", name, list["total"])
			}
			for what, got := range map[string][2]int{
				"get": {p.Do(http.MethodGet, "/v1/credentials/"+id, nil).Status, want.get},
				"run": {p.Do(http.MethodPost, "/v1/runs", parked(id)).Status, want.run},
				"put": {p.Do(http.MethodPut, "/v1/credentials/"+id, obj{"name": "of " + name, "kind": "token"}).
					Status, want.put},
				"launch": {p.Do(http.MethodPost, "/v1/templates/"+tpl+"/launch", obj{}).Status, want.launch},
				"launch and choose": {p.Do(http.MethodPost, "/v1/templates/"+choice+"/launch",
					obj{"credential_ids": []string{id}}).Status, want.choose},
				"run with the inventory": {p.Do(http.MethodPost, "/v1/runs",
					obj{"tool": "bash", "command": `test -n "$TOKEN"`, "inventory_id": inv}).Status, want.launch},
			} {
				if got[0] != got[1] {
					t.Errorf("%s: %s answers %d, want %d", name, what, got[0], got[1])
				}
			}
		}
		list, total := w.Runs("limit=1000")
		for _, r := range list {
			if r.Source == "template" {
				w.ends(r.ID, "succeeded") // with the credential of the template
			}
		}
		if total != 16 {
			t.Errorf("%d runs", total)
		}
	})
}

// TestWhatIsInUseStays deletes credentials that are referenced.
func TestWhatIsInUseStays(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, harness.Options{DB: dbURL, Flags: []string{"--local-projects", t.TempDir()}})
		inv := w.inventory("plain", "h\n")
		run := func(ids []string) obj {
			return obj{"name": fresh(8), "cron": "0 0 1 1 *",
				"run": obj{"tool": "bash", "command": "true", "credential_ids": ids}}
		}
		for name, c := range map[string]struct {
			path string
			body func(id string) obj
		}{
			"template": {"/v1/templates", func(id string) obj {
				return obj{"name": fresh(8), "playbook": "x.yml", "credential_ids": []string{id}}
			}},
			"selectable template": {"/v1/templates", func(id string) obj {
				return obj{"name": fresh(8), "playbook": "x.yml", "selectable_credential_ids": []string{id}}
			}},
			"inventory": {"/v1/inventories", func(id string) obj {
				return obj{"name": fresh(8), "content": "h\n", "credential_ids": []string{id}}
			}},
			"project": {"/v1/projects", func(id string) obj {
				return obj{"name": fresh(8), "repo_url": "https://example.com/x", "credential_id": id}
			}},
			"source": {"/v1/inventory-sources", func(id string) obj {
				return obj{"name": fresh(8), "kind": "script", "config": obj{"content": "#!/bin/sh\n"}, "inventory_id": inv,
					"credential_id": id}
			}},
			"schedule": {"/v1/schedules", func(id string) obj { return run([]string{id}) }},
			"pipeline schedule": {"/v1/schedules", func(id string) obj {
				step := obj{"name": "a", "tool": "bash", "command": "true", "credential_ids": []string{id}}
				return obj{"name": fresh(8), "cron": "0 0 1 1 *", "pipeline": obj{"steps": []obj{step}}}
			}},
			"live run": {"/v1/runs", func(id string) obj { return parked(id) }},
		} {
			id := w.credential("token", obj{"token": fresh(8)}, nil)
			by := w.id(c.path, c.body(id))
			a := w.Do(http.MethodDelete, "/v1/credentials/"+id, nil)
			if w.refused(http.StatusConflict, "in_use", a); !strings.Contains(string(a.Body), by) {
				t.Errorf("used by a %s: %s", name, a.Body)
			}
			w.refused(http.StatusBadRequest, "invalid",
				w.Do(http.MethodPut, "/v1/credentials/"+id, obj{"name": fresh(8), "kind": "env"}))
			w.want(http.StatusOK, http.MethodPut, "/v1/credentials/"+id,
				obj{"name": fresh(8), "kind": "token", "settings": obj{"env_name": "OTHER"}})
			if c.path == "/v1/runs" {
				w.want(http.StatusOK, http.MethodPost, "/v1/runs/"+by+"/cancel", nil)
			} else {
				w.want(http.StatusNoContent, http.MethodDelete, c.path+"/"+by, nil)
			}
			w.want(http.StatusNoContent, http.MethodDelete, "/v1/credentials/"+id, nil)
			w.want(http.StatusNotFound, http.MethodGet, "/v1/credentials/"+id, nil)
		}
	})
}

// TestWhatChangedMeanwhile sends outdated revisions, and checks that omitted secrets stay.
func TestWhatChangedMeanwhile(t *testing.T) {
	t.Parallel()
	w := newFixture(t, harness.Options{})
	value := fresh(12)
	id := w.credential("aws", obj{"secret_access_key": value, "session_token": fresh(12)}, nil)
	path := "/v1/credentials/" + id
	old := w.Do(http.MethodGet, path, nil).Header.Get("ETag")
	body := obj{"name": "renamed", "kind": "aws", "secret": obj{"session_token": ""}, "settings": obj{"region": "eu"}}
	w.want(http.StatusOK, http.MethodPut, path, body, "If-Match", old)
	for _, method := range []string{http.MethodPut, http.MethodDelete} {
		var b any
		if method == http.MethodPut {
			b = body
		}
		if a := w.Do(method, path, b, "If-Match", old); a.Status != http.StatusPreconditionFailed {
			t.Errorf("%s: %d %s", method, a.Status, a.Body)
		}
	}
	if stdout := w.scriptOutput(`rev <<< "$AWS_SECRET_ACCESS_KEY"; echo "${AWS_SESSION_TOKEN-none} $AWS_REGION"`,
		id); stdout != reversed(value)+"\nnone eu\n" {
		t.Errorf("what was omitted, and what was cleared: %q", stdout)
	}
	w.want(http.StatusNoContent, http.MethodDelete, path, nil, "If-Match",
		w.Do(http.MethodGet, path, nil).Header.Get("ETag"))
}

// TestATypeInUse changes a type that has a credential.
func TestATypeInUse(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, harness.Options{DB: dbURL})
		fields := func(more ...obj) []obj {
			return append([]obj{{"name": "a", "type": "text", "secret": true, "required": true}, {"name": "b", "type": "text"}},
				more...)
		}
		cty := w.id("/v1/credential-types", obj{"name": "t", "fields": fields(), "inject": obj{"env": obj{"A": "{{a}}"}}})
		value := fresh(12)
		id := w.id("/v1/credentials", obj{"name": "c", "type_id": cty, "fields": obj{"a": value, "b": "plain"}})
		for name, list := range map[string][]obj{
			"loses one":         {fields()[0]},
			"another type":      {{"name": "a", "type": "multiline", "secret": true, "required": true}, fields()[1]},
			"tells a secret":    {{"name": "a", "type": "text", "required": true}, fields()[1]},
			"hides one":         {fields()[0], {"name": "b", "type": "text", "secret": true}},
			"asks for more":     fields(obj{"name": "c", "type": "text", "required": true}),
			"requires one more": {fields()[0], {"name": "b", "type": "text", "required": true}},
		} {
			a := w.Do(http.MethodPut, "/v1/credential-types/"+cty, obj{"name": "t", "fields": list})
			if w.refused(http.StatusConflict, "credential_type_in_use", a); t.Failed() {
				t.Fatal(name)
			}
		}
		w.refused(http.StatusConflict, "in_use", w.Do(http.MethodDelete, "/v1/credential-types/"+cty, nil))
		w.want(http.StatusOK, http.MethodPut, "/v1/credential-types/"+cty, obj{
			"name": "t2", "fields": fields(obj{"name": "c", "type": "text", "default": "d", "required": true}),
			"inject": obj{"env": obj{"B": "{{a}}{{b}}{{c}}"}},
		})
		if stdout := w.scriptOutput(`rev <<< "$B"; echo "${A-none}"`, id); stdout != reversed(value+"plaind")+"\nnone\n" {
			t.Errorf("after a change: %q", stdout)
		}
		if a := w.Do(http.MethodPost, "/v1/credential-types",
			obj{"name": "x", "fields": fields(), "inject": obj{"env": obj{"A": "{{z}}"}}}); a.Status != http.StatusBadRequest {
			t.Errorf("an injector of no field: %d %s", a.Status, a.Body)
		}
		w.want(http.StatusNoContent, http.MethodDelete, "/v1/credentials/"+id, nil)
		w.want(http.StatusNoContent, http.MethodDelete, "/v1/credential-types/"+cty, nil)
	})
}
