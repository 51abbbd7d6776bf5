package catalog

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestStepsLaunchTemplates runs a pipeline whose steps launch templates, after success, after a failure and in any
// case. The caller may use the templates and not the credential that one of them names.
func TestStepsLaunchTemplates(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, harness.Options{DB: dbURL})
		crd := w.id("/v1/credentials", harness.Body{"name": "deploy", "kind": "token",
			"secret": harness.Body{"token": "s3cr3t"}})
		script := func(name, command string, more harness.Body) string {
			body := harness.Body{"name": name, "tool": "bash", "command": command}
			for k, v := range more {
				body[k] = v
			}
			return w.id("/v1/templates", body)
		}
		deploy := script("Deploy", `echo "version $WRIT_VAR_VERSION stage $WRIT_VAR_STAGE base $WRIT_VAR_BASE built $WRIT_VAR_BUILT"; exit 3`,
			harness.Body{"credential_ids": []string{crd}, "extra_vars": harness.Body{"stage": "production"},
				"survey": []harness.Body{{"var": "version", "type": "text", "required": true, "pattern": "v[0-9]+"}}})
		rollback := script("Roll back", "echo rolled back", nil)
		workflow := w.id("/v1/templates", harness.Body{"name": "Workflow", "steps": []any{
			harness.Body{"name": "a", "template_id": rollback}}})
		me, token := w.somebody("deployer", "operator")
		for _, object := range []string{deploy, rollback, workflow} {
			w.id("/v1/grants", harness.Body{"subject": "user:" + me, "object": object, "level": "use"})
		}
		owner, _ := w.somebody("owner", "operator")
		w.id("/v1/grants", harness.Body{"subject": "user:" + owner, "object": crd, "level": "use"})
		step := func(name string, more harness.Body) harness.Body {
			more["name"] = name
			return more
		}
		body := harness.Body{"name": "release", "extra_vars": harness.Body{"base": "b", "version": "v9", "stage": "test"},
			"steps": []any{
				step("build", harness.Body{"tool": "bash",
					"command": `echo '{"built": "yes", "version": "v8"}' > "$WRIT_OUTPUTS"`}),
				step("deploy", harness.Body{"template_id": deploy, "answers": harness.Body{"version": "v2"},
					"depends_on": []string{"build"}}),
				step("announce", harness.Body{"tool": "bash", "command": "true", "depends_on": []string{"deploy"}}),
				step("back", harness.Body{"template_id": rollback, "depends_on": []string{"deploy"}, "on": "failure"}),
				step("clean", harness.Body{"tool": "bash", "command": "true", "depends_on": []string{"announce", "back"},
					"on": "always"}),
			}}
		c := w.As(token)
		var made harness.Run
		a := c.Do(http.MethodPost, "/v1/pipelines", body)
		if a.Status != http.StatusCreated {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		a.JSON(t, &made)
		if r := w.Await(made.ID); r.Status != "failed" {
			t.Errorf("the pipeline %s: %s", r.Status, r.Error)
		}
		record := w.want(http.StatusOK, http.MethodGet, "/v1/runs/"+made.ID, nil)
		got, ids := map[string]string{}, map[string]string{}
		for _, x := range record["steps"].([]any) {
			s := x.(map[string]any)
			got[s["name"].(string)] = s["status"].(string)
			ids[s["name"].(string)], _ = s["run_id"].(string)
		}
		want := map[string]string{"build": "succeeded", "deploy": "failed", "announce": "skipped", "back": "succeeded",
			"clean": "succeeded"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if out := w.log(ids["deploy"]); out != "version v2 stage production base  built yes\n" {
			t.Errorf("the template's step printed %q", out)
		}
		if id := w.want(http.StatusOK, http.MethodGet, "/v1/runs/"+ids["deploy"], nil)["template_id"]; id != deploy {
			t.Errorf("the run of the step is of template %v", id)
		}
		w.refusedSteps(c, deploy, workflow, crd)
		w.refusedChains(workflow, rollback)
	})
}

// refusedChains saves workflows that would reach themselves, directly or over the template that they launch, and makes
// workflows of templates that are steps.
func (w *fixture) refusedChains(workflow, launched string) {
	w.t.Helper()
	plain := w.id("/v1/templates", harness.Body{"name": "Plain", "tool": "bash", "command": "true"})
	step := harness.Body{"name": "a", "tool": "bash", "command": "true"}
	for _, c := range []struct {
		id   string
		step harness.Body
		at   string
	}{
		{workflow, harness.Body{"name": "a", "template_id": workflow}, "steps[0].template_id"},
		{launched, harness.Body{"name": "a", "template_id": workflow}, "steps[0].template_id"},
		{plain, harness.Body{"name": "a", "template_id": plain}, "steps[0].template_id"},
		{launched, step, "steps"},
	} {
		a := w.Do(http.MethodPut, "/v1/templates/"+c.id, harness.Body{"name": "Chain", "steps": []any{c.step}})
		var problem struct {
			Errors []struct{ Location, Message string }
		}
		if a.JSON(w.t, &problem); a.Status != http.StatusBadRequest || len(problem.Errors) == 0 ||
			problem.Errors[0].Location != c.at ||
			c.at == "steps" && !strings.Contains(problem.Errors[0].Message, workflow) {
			w.t.Errorf("a workflow that reaches itself, or a step that becomes one: %d %s", a.Status, a.Body)
		}
	}
	w.want(http.StatusOK, http.MethodPut, "/v1/templates/"+plain, harness.Body{"name": "Plain", "steps": []any{step}})
}

// refusedSteps has the bad input of steps that launch templates.
func (w *fixture) refusedSteps(c harness.Client, deploy, workflow, crd string) {
	w.t.Helper()
	good := harness.Body{"version": "v2"}
	for name, x := range map[string]struct {
		step   harness.Body
		status int
		at     string
	}{
		"an answer that the survey refuses": {harness.Body{"template_id": deploy, "answers": harness.Body{"version": "2"}},
			400, "steps[0].answers.version"},
		"no answer":           {harness.Body{"template_id": deploy}, 400, "steps[0].answers.version"},
		"a tool":              {harness.Body{"template_id": deploy, "answers": good, "tool": "bash"}, 400, "steps[0].tool"},
		"a workflow":          {harness.Body{"template_id": workflow}, 400, "steps[0].template_id"},
		"answers to nothing":  {harness.Body{"tool": "bash", "command": "true", "answers": good}, 400, "steps[0].answers"},
		"an unknown template": {harness.Body{"template_id": "tpl_00000000000000000000000000"}, 404, "steps[0].template_id"},
		"the credential of the template": {harness.Body{"tool": "bash", "command": "true",
			"credential_ids": []string{crd}}, 404, "steps[0].credential_ids[0]"},
		"a failure of nothing": {harness.Body{"tool": "bash", "command": "true", "on": "failure"}, 400, "steps[0].on"},
	} {
		x.step["name"] = "a"
		steps := []any{x.step, harness.Body{"name": "b", "template_id": deploy, "answers": good}}
		a := c.Do(http.MethodPost, "/v1/pipelines", harness.Body{"steps": steps})
		var problem struct{ Errors []struct{ Location string } }
		a.JSON(w.t, &problem)
		if a.Status != x.status || len(problem.Errors) == 0 || problem.Errors[0].Location != x.at {
			w.t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
}
