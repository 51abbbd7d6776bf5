package catalog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/e2e/harness"
)

// workflowFiles have steps with every form of a dependency: after success, failure and any end, and after several.
const workflowFiles = `
kind: Template
name: deploy
spec:
  tool: bash
  command: |
    echo "deploys $WRIT_VAR_VERSION"
    test "$WRIT_VAR_VERSION" != v0
  survey: [{var: version, type: text, required: true}]
---
kind: Template
name: release
spec:
  steps:
    - {name: build, tool: bash, command: "true"}
    - {name: test, tool: bash, command: "true", retries: 1}
    - {name: lint, tool: bash, command: "false", continue_on_failure: true}
    - {name: deploy, template: deploy, answers: {version: THE-VERSION}, depends_on: [build, test, lint]}
    - {name: announce, tool: bash, command: "true", depends_on: [deploy], on: success}
    - {name: back, tool: bash, command: "true", depends_on: [deploy], on: failure}
    - {name: clean, tool: bash, command: "true", depends_on: [announce, back], on: always}
`

// TestWorkflowFromAFile applies a workflow and runs it to its end, with a step that succeeds and one that fails. A
// caller who may not use the template of a step is refused, and the refusal names the step.
func TestWorkflowFromAFile(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, harness.Options{DB: dbURL})
		file := filepath.Join(t.TempDir(), "flow.yaml")
		apply := func(version string) {
			if err := os.WriteFile(file, []byte(strings.ReplaceAll(workflowFiles, "THE-VERSION", version)), 0o600); err != nil {
				t.Fatal(err)
			}
			w.must("apply", file)
			w.must("apply", file, "--check")
		}
		for version, want := range map[string]map[string]string{
			"v1": {"deploy": "succeeded", "announce": "succeeded", "back": "skipped"},
			"v0": {"deploy": "failed", "announce": "skipped", "back": "succeeded"},
		} {
			apply(version)
			want["build"], want["test"], want["lint"], want["clean"] = "succeeded", "succeeded", "failed", "succeeded"
			record, log := w.ended(w.must("launch", "release", "--json", "--jq", ".id"))
			if diff := cmp.Diff(want, record); diff != "" || !strings.Contains(log, "deploys "+version) {
				t.Errorf("%s: %s %s", version, diff, log)
			}
		}
		export := filepath.Join(t.TempDir(), "out")
		w.must("export", export)
		w.must("apply", export, "--check")
		w.somebody("owner", "operator")
		_, token := w.somebody("launcher", "operator")
		grants := filepath.Join(t.TempDir(), "grants.yaml")
		grant := func(subject, object string) string {
			return "{kind: Grant, spec: {subject: 'user:" + subject + "', object: 'template:" + object + "', level: use}}\n---\n"
		}
		write := func(text string) {
			if err := os.WriteFile(grants, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			w.must("apply", grants)
		}
		admin := w.Token
		write(grant("owner", "deploy") + grant("launcher", "release"))
		w.Token = token
		out, code := w.cli("launch", "release")
		if code != 1 || !strings.Contains(out, "steps[3]") {
			t.Errorf("without use: %d\n%s", code, out)
		}
		w.Token = admin
		write(grant("launcher", "deploy"))
		w.Token = token
		id := strings.TrimSpace(w.must("launch", "release", "--json", "--jq", ".id"))
		w.Token = admin
		w.Await(strings.Trim(id, `"`))
	})
}

// ended waits for a pipeline and returns what became of its steps, and the log of the one named deploy.
func (w *fixture) ended(id string) (steps map[string]string, log string) {
	w.t.Helper()
	id = strings.Trim(strings.TrimSpace(id), `"`)
	w.Await(id)
	steps = map[string]string{}
	for _, x := range w.want(200, "GET", "/v1/runs/"+id, nil)["steps"].([]any) {
		s := x.(map[string]any)
		steps[s["name"].(string)] = s["status"].(string)
		if run, _ := s["run_id"].(string); s["name"] == "deploy" && run != "" {
			log = w.log(run)
		}
	}
	return steps, log
}
