package notify

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/estate"
)

// TestNewDriftIsAnnounced tells the targets of a template and of the server once for each message in the outbox.
func TestNewDriftIsAnnounced(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		in := newSink(t, nil)
		w := newFixture(t, harness.Options{DB: dbURL, Flags: []string{"--notify-slack", in.URL + "/slack",
			"--public-url", "https://writ.example.com/"}})
		tpl := w.id("/v1/templates", obj{"name": "Site", "tool": "bash", "command": "true", "dry_run": true,
			"notifications": []obj{{"kind": "webhook", "url": in.URL + "/tpl", "key": key}, failing(hook(in.URL + "/failures")),
				{"kind": "pagerduty", "key": "routing"}}})
		id := w.id("/v1/templates/"+tpl+"/launch", obj{})
		w.ends(id, "succeeded")
		ended := []string{"run.finished run pagerduty skipped 0", "run.finished run webhook delivered 1",
			"run.finished run webhook skipped 0", "run.finished server slack delivered 1"}
		same(t, "the end", w.summary(id, 4), ended...)
		drift := []string{"drift.found run pagerduty skipped 0", "drift.found run webhook delivered 1",
			"drift.found run webhook skipped 0", "drift.found server slack delivered 1"}
		w.drifts("msg_1", id)
		same(t, "drift", w.summary(id, 8), append(slices.Clone(drift), ended...)...)
		w.drifts("msg_1", id) // delivered again
		w.drifts("msg_2", id)
		drift = slices.Sorted(slices.Values(append(drift, drift...)))
		same(t, "more drift", w.summary(id, 12), append(drift, ended...)...)

		list := in.await("/tpl", 3)
		for _, l := range list[1:] {
			got := decoded(t, l.body)
			found, _ := got["drift"].(map[string]any)
			if l.header.Get("Writ-Event") != "drift.found" || got["event"] != "drift.found" || got["id"] != id ||
				found["target_id"] != "a1" || found["new"] != json.Number("3") || !l.signed(key) {
				t.Errorf("%v %s", l.header, l.body)
			}
		}
		texts := 0
		for _, l := range in.at("/slack") {
			text := string(l.body)
			if strings.Contains(text, "Site found new drift") && strings.Contains(text, "3 resources on 2 hosts") &&
				strings.Contains(text, "web1, web2") && strings.Contains(text, "https://writ.example.com/ui/drift?target=a1") {
				texts++
			}
		}
		if texts != 2 || len(list) != 3 || len(in.at("/failures")) != 0 {
			t.Errorf("%d announcements, %d letters, %d failures", texts, len(list), len(in.at("/failures")))
		}
	})
}

// drifts writes the message that a run found new drift to the outbox, and submits a run so that the outbox is read.
func (w *fixture) drifts(message, run string) {
	w.t.Helper()
	e := estate.DriftFound{RunID: run, TargetID: "a1", Playbook: "site.yml", New: 3, HostCount: 2,
		Hosts: []string{"web1", "web2"}}
	data, err := json.Marshal(e)
	if err != nil {
		w.t.Fatal(err)
	}
	w.Alter("INSERT INTO outbox (subscriber, id, name, version, at, data) VALUES ('notify', ?, ?, ?, ?, ?)", message,
		e.EventName(), e.EventVersion(), time.Duration(0), string(data))
	w.Submit(obj{"tool": "bash", "command": "true"})
}

// TestADryRunAnnouncesWhatIsNew tells a target of drift when a dry run finds it, and not again.
func TestADryRunAnnouncesWhatIsNew(t *testing.T) {
	t.Parallel()
	in := newSink(t, nil)
	w := newFixture(t, harness.Options{})
	dir := harness.Shared(t)
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	hosts := write("hosts", "web1 ansible_connection=local ansible_python_interpreter=/usr/bin/python3\n")
	playbook := filepath.Join(dir, "site.yml")
	look := func(tasks string) string {
		write("site.yml", "- hosts: all\n  gather_facts: false\n  tasks:\n"+tasks)
		id := w.Submit(obj{"playbook": playbook, "inventory": hosts, "dry_run": true,
			"notifications": []obj{hook(in.URL + "/drift")}}).ID
		w.ends(id, "succeeded")
		harness.Eventually(t, awhile, "what the dry run tells", func() bool {
			list, _ := w.want(http.StatusOK, http.MethodGet, "/v1/drift", nil)["resources"].([]any)
			for _, x := range list {
				row, _ := x.(map[string]any)
				if row["run_id"] != id {
					return false
				}
			}
			return len(list) == strings.Count(tasks, "copy")
		})
		return id
	}
	one := "    - copy: {content: x, dest: '" + dir + "/a'}\n"
	first := look(one)
	second := look(one)
	third := look(one + "    - copy: {content: x, dest: '" + dir + "/b'}\n")
	var got []string
	for _, l := range in.await("/drift", 5) { // three of ends, and two of drift
		text := decoded(t, l.body)
		if found, ok := text["drift"].(map[string]any); ok {
			got = append(got, fmt.Sprint(text["event"], " ", text["id"], " ", found["new"], " ", found["hosts"]))
		}
	}
	same(t, "announcements, not of "+second, got, "drift.found "+first+" 1 [web1]", "drift.found "+third+" 1 [web1]")
}
