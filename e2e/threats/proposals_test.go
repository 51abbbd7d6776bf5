package threats

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestProposedValuesAreData: a template in a variable that a model proposed is printed and never evaluated, and so it
// is by a rerun, which is held like the proposal.
// Keeps T17, T34.
func TestProposedValuesAreData(t *testing.T) {
	t.Parallel()
	m := harness.NewModel(t)
	w := newTrap(t, harness.Options{Flags: m.Flags()})
	play := w.file("play.yml", "- hosts: all\n  connection: local\n  gather_facts: false\n  tasks:\n"+
		"    - ansible.builtin.debug: {msg: \"{{ release }} {{ deep.list[0] }}\"}\n")
	evil := "{{ lookup('pipe', '" + w.evil + "') }}"
	raw, err := json.Marshal(harness.Body{"playbook": play, "inventory_id": w.id("/v1/inventories", harness.Body{
		"name": "one", "content": "h\n", "format": "ini"}), "extra_vars": harness.Body{"release": evil,
		"deep": harness.Body{"list": []string{evil}}}})
	if err != nil {
		t.Fatal(err)
	}
	m.Say(string(raw))
	id := w.id("/v1/ai/propose-run", harness.Body{"request": "Release it."})
	for _, what := range []string{"the proposal", "its rerun"} {
		if r := w.Get(id); r.Status != "pending_approval" {
			t.Fatalf("%s is %s and not held", what, r.Status)
		}
		if a := w.Do(http.MethodPost, "/v1/runs/"+id+"/approve", harness.Body{}); a.Status != http.StatusOK {
			t.Fatalf("approve %s: %d %s", what, a.Status, a.Body)
		}
		r := w.Await(id)
		if log := w.Log(id); r.Status != "succeeded" || strings.Count(log, "lookup(") < 2 {
			t.Errorf("%s %s (%s): %s", what, r.Status, r.Error, log)
		}
		id = w.id("/v1/runs/"+id+"/rerun", nil)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "canary")); err == nil {
		t.Error("a value was evaluated")
	}
}
