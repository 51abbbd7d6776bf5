package cli

import (
	"net/http"
	"strings"
	"testing"
)

// TestTokensByName revokes a token by its name, and accounts are found by names and ids.
func TestTokensByName(t *testing.T) {
	t.Parallel()
	id := func(last string) string { return "tok_" + strings.Repeat("0", 25) + last }
	users := obj{"users": []obj{{"id": "usr_1", "username": "alice"}}, "total": 1}
	f := newFakeServer(t, obj{}).with(map[string]any{
		"GET /v1/tokens": obj{"tokens": []obj{{"id": id("1"), "name": "ci", "username": "alice"},
			{"id": id("2"), "name": "twice", "username": "alice"},
			{"id": id("3"), "name": "twice", "username": "bob"}}, "total": 3},
		"DELETE /v1/tokens/{id}": obj{}, "GET /v1/users": users, "DELETE /v1/users/{id}": obj{},
	})
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"token revoke -y ci", "revoked " + id("1") + "\n", exitDone},
		{"token revoke -y " + id("9"), "revoked " + id("9") + "\n", exitDone},
		{"token revoke -y other", "writ: there is no token \"other\"; there are ci, twice, twice\n", exitFailed},
		{"token revoke -y twice", "writ: several are named \"twice\"; give one of the ids: " + id("2") + " (of alice), " +
			id("3") + " (of bob)\n", exitFailed},
		{"user delete -y usr_1", "deleted alice (usr_1)\n", exitDone},
		{"user delete -y alcie", "writ: there is no user \"alcie\"; did you mean alice?\n", exitFailed},
		{"token new --user alcie", "writ: --user: there is no user \"alcie\"; did you mean alice?\n", exitFailed},
	} {
		if code, out, errs := call(t, f, strings.Fields(c.args)...); code != c.code || out+errs != c.want {
			t.Errorf("%s: %d %q %q", c.args, code, out, errs)
		}
	}
	f.asked(t, "DELETE /v1/tokens/"+id("1")+" ")
	f.asked(t, "DELETE /v1/tokens/"+id("9")+" ")
}

// TestAuditByNames finds entries by the names of actors and objects.
func TestAuditByNames(t *testing.T) {
	t.Parallel()
	const alice, deploy = "usr_01k0a0000vtx5zk9w2m4n6p8rs", "tpl_01k0a0000vtx5zk9w2m4n6p8rs"
	f := newFakeServer(t, obj{}).with(map[string]any{
		"GET /v1/audit":     obj{"entries": []obj{}},
		"GET /v1/users":     obj{"users": []obj{{"id": alice, "username": "alice"}}, "total": 1},
		"GET /v1/triggers":  obj{"triggers": []obj{{"id": "trg_1", "name": "push"}}, "total": 1},
		"GET /v1/templates": obj{"templates": []obj{{"id": deploy, "name": "deploy"}}, "total": 1},
	})
	for given, want := range map[string]string{
		"--actor alice": "actor=" + alice, "--actor user:alice": "actor=" + alice, "--actor " + alice: "actor=" + alice,
		"--actor system": "actor=system", "--actor cli": "actor=cli", "--actor trigger:push": "actor=trg_1",
		"--object template:deploy": "object=" + deploy, "--object template/deploy": "object=" + deploy,
		"--object queue/web": "object=queue%2Fweb",
	} {
		code, _, errs := call(t, f, append([]string{"audit", "list", "--limit", "1"}, strings.Fields(given)...)...)
		if code != exitDone {
			t.Errorf("%s: %d %s", given, code, errs)
		}
		f.mu.Lock()
		last := f.requests[len(f.requests)-1]
		f.mu.Unlock()
		if !strings.Contains(last, want+"&") && !strings.Contains(last, want+" ") {
			t.Errorf("%s: asked %s", given, last)
		}
	}
	if code, _, errs := call(t, f, "audit", "list", "--actor", "alcie"); code != exitFailed ||
		errs != "writ: there is no user \"alcie\"; did you mean alice?\n" {
		t.Errorf("%d %q", code, errs)
	}
}

// TestTargetsByName finds the targets of drift by templates and playbooks.
func TestTargetsByName(t *testing.T) {
	t.Parallel()
	const deploy, idle = "tpl_01k0a0000vtx5zk9w2m4n6p8rs", "tpl_01k0a0000vtx5zk9w2m4n6p8rt"
	rows := []obj{{"host": "web-1", "target_id": "tgt_1", "template_id": deploy, "playbook": "site.yml"},
		{"host": "web-1", "target_id": "tgt_1", "template_id": deploy, "playbook": "site.yml"},
		{"host": "web-1", "target_id": "tgt_2", "playbook": "base.yml", "inventory_id": "inv_1"},
		{"host": "web-1", "target_id": "tgt_3", "playbook": "base.yml", "inventory_id": "inv_2"}}
	f := newFakeServer(t, obj{}).with(map[string]any{
		"GET /v1/drift": obj{"resources": rows, "hosts": 0},
		"GET /v1/templates": obj{"templates": []obj{{"id": deploy, "name": "deploy"}, {"id": idle, "name": "idle"}},
			"total": 2},
		"POST /v1/drift/reconcile": obj{"id": "run_1", "status": "pending_approval",
			"warnings": []obj{{"code": "queue_unserved", "message": "no executor serves the queue"}}},
	})
	for _, c := range []struct {
		args, asked, errs string
		code              int
	}{
		{"drift --target deploy", "target=tgt_1", "", exitDone}, {"drift --target site.yml", "target=tgt_1", "", exitDone},
		{"drift list --target " + deploy, "target=tgt_1", "", exitDone},
		{"drift --target tgt_9", "target=tgt_9", "", exitDone},
		{"drift show --target deploy", "target=tgt_1", "", exitDone},
		{"drift --target idle", "target=" + idle, "writ: no host is known to drift from \"idle\"\n", exitDone},
		{"drift --target deplyo", "", "writ: there is no target \"deplyo\"; did you mean deploy?\n", exitFailed},
		{"drift --target base.yml", "", "writ: several targets are named \"base.yml\"; give one of the ids: " +
			"tgt_2 (base.yml, inv_1), tgt_3 (base.yml, inv_2)\n", exitFailed},
		{"drift reconcile web-1 --target idle", "", "writ: the host \"web-1\" does not drift from \"idle\"\n", exitFailed},
		{"drift reconcile web-1 --target deploy", "", "writ: warning: no executor serves the queue\n", exitDone},
	} {
		code, _, errs := call(t, f, strings.Fields(c.args)...)
		if code != c.code || c.errs != "" && errs != c.errs { // a table in place of which are other tests
			t.Errorf("%s: %d %q", c.args, code, errs)
		}
		f.mu.Lock()
		last := f.requests[len(f.requests)-1]
		f.mu.Unlock()
		if c.asked != "" && !strings.Contains(last, c.asked) {
			t.Errorf("%s: asked %s", c.args, last)
		}
	}
	if got := f.sent(t, "POST /v1/drift/reconcile "); got != `{"host":"web-1","target":"tgt_1"}` {
		t.Errorf("sent %s", got)
	}
	refuses := newFakeServer(t, obj{}).with(map[string]any{"GET /v1/drift": obj{"resources": rows, "hosts": 1},
		"GET /v1/templates": obj{"templates": []obj{{"id": deploy, "name": "deploy"}}, "total": 1}})
	inner := refuses.Config.Handler
	refuses.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			refuses.answer(w, http.StatusBadRequest, obj{"error": "target: the host drifts from several targets"})
			return
		}
		inner.ServeHTTP(w, r)
	})
	if code, _, errs := call(t, refuses, "drift", "reconcile", "web-1"); code != exitFailed || errs !=
		"writ: target: the host drifts from several targets\n  give --target with one of tgt_1 (deploy, no stored "+
			"inventory), tgt_2 (base.yml, inv_1), tgt_3 (base.yml, inv_2)\n" {
		t.Errorf("%d %q", code, errs)
	}
}
