package policies

import (
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// The credential types and inventories of these tests.
const (
	hostVars = "[all:vars]\nansible_connection=local\nansible_python_interpreter={{ ansible_playbook_python }}\n"
	content  = "a\nb\n"
)

func (w *fixture) inventory(name string) string {
	w.t.Helper()
	return w.made("/v1/inventories", harness.Body{"name": name, "content": content + hostVars, "format": "ini"})
}

func (w *fixture) edit(id, name, hosts string) {
	w.t.Helper()
	w.want(http.StatusOK, w.Client, "PUT", "/v1/inventories/"+id,
		harness.Body{"name": name, "content": hosts + hostVars, "format": "ini"})
}

func (w *fixture) credential(name, secret string) string {
	w.t.Helper()
	kind := w.made("/v1/credential-types", harness.Body{"name": "of " + name,
		"fields": []harness.Body{{"name": "token", "type": "text", "secret": true, "required": true}},
		"inject": harness.Body{"env": harness.Body{"THE_TOKEN": "{{token}}"}}})
	return w.made("/v1/credentials", harness.Body{"name": name, "type_id": kind, "fields": harness.Body{"token": secret}})
}

// secret replaces the secret of a credential.
func (w *fixture) secret(id, name, secret string) {
	w.t.Helper()
	var was struct {
		TypeID string `json:"type_id"`
	}
	w.want(http.StatusOK, w.Client, "GET", "/v1/credentials/"+id, nil).JSON(w.t, &was)
	w.want(http.StatusOK, w.Client, "PUT", "/v1/credentials/"+id,
		harness.Body{"name": name, "type_id": was.TypeID, "fields": harness.Body{"token": secret}})
}

func (w *fixture) read(label string) string {
	w.t.Helper()
	text, err := os.ReadFile(w.file(label))
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	return string(text)
}

// approved submits a run that is held and approves it.
func (w *fixture) approved(path string, body harness.Body) string {
	w.t.Helper()
	h := w.hold(path, body)
	w.decided(w.decide("bob", "approve", h.ID), http.StatusOK, "")
	return h.ID
}

// fails waits for the failure of an approved run of which something was changed.
func (w *fixture) fails(id, what string) {
	w.t.Helper()
	r := w.Await(id)
	if r.Status != "failed" || !strings.Contains(r.Error, "the "+what+" ") ||
		!strings.Contains(r.Error, "was changed after the run was approved") {
		w.t.Errorf("%s: %s %q, want a change of the %s", id, r.Status, r.Error, what)
	}
}

// changes has a run whose inventory and one whose credential is edited after the approval, and one that stays.
func (w *fixture) changes(label, queue string) (inventory, credential, same string) {
	w.t.Helper()
	w.policy(label, "require_approval", nil)
	invA, invB, cred := w.inventory(label+" a"), w.inventory(label+" b"), w.credential(label, "first")
	body := func(more harness.Body) harness.Body {
		more["queue"] = queue
		return w.script(label, more)
	}
	inventory = w.approved("/v1/runs", body(harness.Body{"inventory_id": invA}))
	credential = w.approved("/v1/runs", body(harness.Body{"credential_ids": []string{cred}}))
	same = w.approved("/v1/runs", body(harness.Body{"inventory_id": invB, "limit": "a"}))
	w.edit(invA, label+" a", "a\n")
	w.secret(cred, label, "second")
	return inventory, credential, same
}

// changed checks how the runs of changes ended.
func (w *fixture) changed(label, inventory, credential, same string) {
	w.t.Helper()
	w.fails(inventory, "inventory")
	w.fails(credential, "credential")
	if r := w.Await(same); r.Status != "succeeded" || w.read(label) != "ran\n" {
		w.t.Errorf("the run of which nothing was changed: %s %q; executed %q", r.Status, r.Error, w.read(label))
	}
}

// pinned edits after the approval and before the execution.
func (w *fixture) pinned() {
	release := w.blocked()
	inventory, credential, same := w.changes("pinned", "")
	release()
	w.changed("pinned", inventory, credential, same)
}

// pinnedAtAWorker is pinned for a worker over the relay.
func (w *fixture) pinnedAtAWorker() {
	inventory, credential, same := w.changes("remote", "remote")
	harness.StartWorker(w.t, harness.WorkerOptions{Server: w.URL, Flags: []string{"--queue", "remote"}})
	w.changed("remote", inventory, credential, same)
}

// pinnedPipeline edits an inventory while the first step of an approved pipeline is executed. The policy matches only
// the second step, and holds the pipeline whole.
func (w *fixture) pinnedPipeline() {
	w.policy("pipeline", "require_approval", harness.Body{"match": harness.Body{"tools": []string{"python"},
		"labels": harness.Body{"case": "pipeline"}}})
	inventory := w.inventory("pipeline")
	id := w.approved("/v1/pipelines", harness.Body{"name": "p", "labels": harness.Body{"case": "pipeline"},
		"inventory_id": inventory, "steps": []harness.Body{
			{"name": "one", "tool": "bash", "command": "touch " + w.file("one") + "; " + waitFor(w.file("two"))},
			{"name": "two", "tool": "python", "command": "open('" + w.file("three") + "', 'w')"},
		}})
	harness.Eventually(w.t, time.Minute, "the first step runs", func() bool { return w.exists("one") })
	w.edit(inventory, "pipeline", "a\n")
	w.write("two", "")
	p := w.Await(id)
	if p.Status != "failed" || len(p.Steps) != 2 || p.Steps[0].Status != "succeeded" || w.exists("three") {
		w.t.Fatalf("%s: %+v", p.Status, p.Steps)
	}
	w.fails(p.Steps[1].RunID, "inventory")
}

// play fails on each host, once it may end.
const play = `
- hosts: all
  gather_facts: false
  tasks:
    - name: wait
      ansible.builtin.raw: 'echo {{ inventory_hostname }} >> FILE; until test -e FILE.go; do sleep 0.1; done'
    - ansible.builtin.fail: {}
`

// pinnedSplit edits an inventory while the first shard of an approved split is executed.
func (w *fixture) pinnedSplit() {
	w.policy("split", "require_approval", nil)
	inventory := w.inventory("split")
	file := w.file("split")
	id := w.approved("/v1/runs", harness.Body{"playbook": w.write("split.yml", strings.ReplaceAll(play, "FILE", file)),
		"inventory_id": inventory, "shards": 2, "labels": harness.Body{"case": "split"}})
	harness.Eventually(w.t, 2*time.Minute, "the first shard runs", func() bool { return w.exists("split") })
	w.edit(inventory, "split", "a\nb\nc\n")
	w.write("split.go", "")
	if r := w.Await(id); r.Status != "failed" || len(strings.Fields(w.read("split"))) != 1 {
		w.t.Fatalf("%s %s: executed on %q", r.Status, r.Error, w.read("split"))
	}
	var list struct{ Shards []harness.Run }
	w.want(http.StatusOK, w.Client, "GET", "/v1/runs/"+id+"/shards", nil).JSON(w.t, &list)
	if len(list.Shards) != 2 || list.Shards[0].Hosts["failed"]+list.Shards[1].Hosts["failed"] != 1 {
		w.t.Fatalf("%+v", list.Shards)
	}
	for _, s := range list.Shards {
		if s.Hosts["failed"] == 0 {
			w.fails(s.ID, "inventory")
		}
	}
	w.ids["split"] = id
}
