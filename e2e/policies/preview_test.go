package policies

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// preview is what a held run's record shows of its dry run.
type preview struct {
	RunID        string `json:"run_id"`
	Digest       string
	Stale        bool
	Status       string
	Changes      int
	ChangedHosts []string `json:"changed_hosts"`
	ChangedTasks []struct {
		Task  string
		Hosts int
	} `json:"changed_tasks"`
}

// refreshed holds a run over an inventory with a source that is refreshed before it: nobody decides before the refresh
// has ended, and the run executes on the hosts of that time.
func (w *fixture) refreshed() {
	w.policy("fresh", "require_approval", nil)
	inventory := w.inventory("fresh")
	say := func(hosts string) {
		w.write("hosts.json", `{"web": {"hosts": [`+hosts+`]}, "_meta": {"hostvars": {}}}`)
	}
	say(`"x", "y", "z"`)
	w.made("/v1/inventory-sources", harness.Body{"name": "fresh", "kind": "script", "inventory_id": inventory,
		"update_on_launch": true, "config": harness.Body{
			"content": "#!/bin/sh\n" + waitFor(w.file("ready")) + "\ncat " + w.file("hosts.json") + "\n"}})
	body := w.script("fresh", harness.Body{"inventory_id": inventory, "command": "cat $WRIT_INVENTORY"})
	var h held
	w.want(http.StatusCreated, w.Client, "POST", "/v1/runs", body).JSON(w.t, &h)
	if h.Status != "pending_approval" || !h.Approvals.Refreshing || h.Digest != "" {
		w.t.Fatalf("%+v", h)
	}
	for _, verb := range []string{"approve", "reject", "preview"} {
		w.decided(w.accounts["bob"].Do("POST", "/v1/runs/"+h.ID+"/"+verb, nil), http.StatusConflict, "run_refreshing")
	}
	if code, out := w.writ("vic", "runs", h.ID); code != 0 || !strings.Contains(out, "inventory are refreshed") {
		w.t.Errorf("writ runs: %d %s", code, out)
	}
	w.write("ready", "")
	harness.Eventually(w.t, 2*time.Minute, "the refresh", func() bool {
		h, _ = w.look(h.ID)
		return !h.Approvals.Refreshing
	})
	say(`"later"`)
	now, tag := w.look(h.ID)
	if now.Digest == "" || len(now.Changed) != 0 {
		w.t.Errorf("%+v", now)
	}
	w.decided(w.decide("bob", "approve", h.ID, "If-Match", tag), http.StatusOK, "")
	if r := w.Await(h.ID); r.Status != "succeeded" || !strings.Contains(w.Log(h.ID), `"y"`) ||
		strings.Contains(w.Log(h.ID), "later") {
		w.t.Errorf("%s %s: %s", r.Status, r.Error, w.Log(h.ID))
	}
}

// writes is a play that writes one file for each host.
const writes = `
- hosts: all
  gather_facts: false
  tasks:
    - name: write
      ansible.builtin.copy: {content: "x\n", dest: "FILE-{{ inventory_hostname }}"}
    - name: look
      ansible.builtin.debug: {msg: unchanged}
`

// previews makes dry runs of a held run: they change nothing, name what would change, and are stale after an edit.
func (w *fixture) previews() {
	w.policy("preview", "require_approval", harness.Body{"exclude_dry_run": true})
	inventory := w.inventory("preview")
	body := harness.Body{"playbook": w.write("preview.yml", strings.ReplaceAll(writes, "FILE", w.file("written"))),
		"inventory_id": inventory, "labels": harness.Body{"case": "preview"}}
	var h held
	w.want(http.StatusCreated, w.accounts["oto"], "POST", "/v1/runs", body).JSON(w.t, &h)
	reached, _ := w.look(h.ID)
	if x := reached.Approvals.Hosts; x.Count != 2 || !slices.Equal(x.Names, []string{"a", "b"}) || x.Unknown {
		w.t.Errorf("the run would reach %+v", x)
	}
	path := "/v1/runs/" + h.ID + "/preview"
	for who, status := range map[string]int{"nobody": 401, "vic": 403, "eve": 403} {
		w.want(status, w.accounts[who], "POST", path, nil)
	}
	release := w.blocked()
	var p, again harness.Run
	w.want(http.StatusCreated, w.accounts["oto"], "POST", path, nil).JSON(w.t, &p)
	if a := w.want(http.StatusCreated, w.accounts["bob"], "POST", path, nil); a.Header.Get("Idempotent-Replay") != "true" {
		w.t.Errorf("a second preview: %v", a.Header)
	} else if a.JSON(w.t, &again); again.ID != p.ID {
		w.t.Errorf("%s after %s", again.ID, p.ID)
	}
	release()
	if r := w.Until(p.ID, 2*time.Minute, harness.Run.Ended); r.Status != "succeeded" || w.exists("written-a") {
		w.t.Fatalf("%s: %s\n%s", r.Status, r.Error, w.Log(p.ID))
	}
	look := func() preview {
		w.t.Helper()
		var out struct{ Preview preview }
		w.want(http.StatusOK, w.Client, "GET", "/v1/runs/"+h.ID, nil).JSON(w.t, &out)
		return out.Preview
	}
	got := look()
	if got.RunID != p.ID || got.Digest != h.Digest || got.Stale || got.Status != "succeeded" || got.Changes != 2 ||
		!slices.Equal(got.ChangedHosts, []string{"a", "b"}) || len(got.ChangedTasks) != 1 ||
		got.ChangedTasks[0].Task != "write" || got.ChangedTasks[0].Hosts != 2 {
		w.t.Errorf("%+v", got)
	}
	w.edit(inventory, "preview", "a\n")
	if got = look(); !got.Stale {
		w.t.Errorf("after an edit: %+v", got)
	}
	now, tag := w.look(h.ID)
	w.want(http.StatusCreated, w.Client, "POST", path, nil).JSON(w.t, &p)
	w.Until(p.ID, 2*time.Minute, harness.Run.Ended)
	if got = look(); got.Stale || got.Digest != now.Digest || !slices.Equal(got.ChangedHosts, []string{"a"}) {
		w.t.Errorf("the preview of what it would execute now: %+v", got)
	}
	if code, out := w.writ("vic", "runs", h.ID); code != 0 || !strings.Contains(out, "1 host would change") ||
		!strings.Contains(out, "1 host: a") {
		w.t.Errorf("writ runs: %d %s", code, out)
	}
	w.decided(w.decide("bob", "approve", h.ID, "If-Match", tag), http.StatusOK, "")
	if r := w.Until(h.ID, 2*time.Minute, harness.Run.Ended); r.Status != "succeeded" || !w.exists("written-a") ||
		w.exists("written-b") {
		w.t.Errorf("%s: %s", r.Status, r.Error)
	}
	w.decided(w.Do("POST", path, nil), http.StatusConflict, "run_not_held")
}
