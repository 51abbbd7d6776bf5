package submit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/modules/runs/internal/guard"
	"github.com/writ-automation/writ/modules/runs/internal/lifecycle"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
)

// levels is the level of the one caller on each object.
type levels map[string]access.Level

func (l levels) May(_ context.Context, want access.Level, objects ...string) (bool, error) {
	return !slices.ContainsFunc(objects, func(o string) bool { return !l[o].Covers(want) }), nil
}
func (levels) Scope(context.Context) (access.Scope, error) { return access.Scope{}, nil }

const (
	used, read, hidden = "00000000000000000000000001", "00000000000000000000000002", "00000000000000000000000003"
	absent             = "00000000000000000000000004"
)

// limited returns a submitter whose caller may use some objects, only read some, and neither use nor read others.
func limited() *Submitter {
	known, may := knows{}, levels{"queue:default": access.Use, "queue:read": access.Read}
	for _, kind := range []ids.Prefix{ids.Inventory, ids.Project, ids.Credential} {
		for suffix, level := range map[string]access.Level{used: access.Use, read: access.Read, hidden: access.None,
			absent: access.Use} {
			known[string(kind)+suffix] = suffix != absent
			may[string(kind)+suffix] = level
		}
	}
	return New(&lifecycle.Machine{}, nil, execution.Tools{"ansible": nil, "bash": nil}, known, vault{knows: known}, nil,
		nil, nil, guard.NewGate(may, nil))
}

// lacking is what a caller reads who may not use a queue.
func lacking(queue string) string {
	return fmt.Sprintf("the right to use the queue %q is missing: name another queue, or have an admin grant the level "+
		"use on queue:%s (writ grant create, or POST /v1/grants)", queue, queue)
}

func TestWhatIsNamedMustBeUsable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at, message string
		code        string
		change      func(*runs.Submission)
	}{
		{"queue", "queue: " + lacking("hidden"), "queue_not_found", func(s *runs.Submission) { s.Queue = "hidden" }},
		{"queue", "queue: " + lacking("read"), "use_required", func(s *runs.Submission) {
			s.Queue = "read"
		}},
		{"inventory_id", `inventory_id: no inventory "inv_` + hidden + `"`, "inventory_not_found", func(s *runs.Submission) {
			s.InventoryID = "inv_" + hidden
		}},
		{"inventory_id", `inventory_id: no inventory "inv_` + absent + `"`, "inventory_not_found", func(s *runs.Submission) {
			s.InventoryID = "inv_" + absent
		}},
		{"inventory_id", "inventory_id: this takes the right to use the inventory", "use_required", func(s *runs.Submission) {
			s.InventoryID = "inv_" + read
		}},
		{"project_id", `project_id: no project "prj_` + hidden + `"`, "project_not_found", func(s *runs.Submission) {
			s.ProjectID = "prj_" + hidden
		}},
		{"project_id", "project_id: this takes the right to use the project", "use_required", func(s *runs.Submission) {
			s.ProjectID = "prj_" + read
		}},
		{"credential_ids[1]", `credential_ids[1]: no credential "crd_` + hidden + `"`, "credential_not_found",
			func(s *runs.Submission) { s.CredentialIDs = []string{"crd_" + used, "crd_" + hidden} }},
		{"credential_ids[0]", "credential_ids[0]: this takes the right to use the credential", "use_required",
			func(s *runs.Submission) { s.CredentialIDs = []string{"crd_" + read} }},
		// Missing and hidden objects are reported in one order, so that a caller cannot distinguish them.
		{"project_id", `project_id: no project "prj_` + absent + `"`, "project_not_found",
			func(s *runs.Submission) { s.InventoryID, s.ProjectID = "inv_"+read, "prj_"+absent }},
		{"inventory_id", `inventory_id: no inventory "inv_` + hidden + `"`, "inventory_not_found",
			func(s *runs.Submission) { s.InventoryID, s.ProjectID = "inv_"+hidden, "prj_"+absent }},
		{"playbook", "playbook: is required for ansible", "invalid", func(s *runs.Submission) {
			s.Playbook, s.Queue = "", "hidden"
		}},
	} {
		q := playbook(c.change)
		err := limited().validate(t.Context(), &q)
		if err == nil || err.Error() != c.message || !cmp.Equal(locations(err), []string{c.at}) ||
			!(fault.Code{Name: c.code}).Is(err) {
			t.Errorf("got %v at %v, want %s (%s) at %s", err, locations(err), c.message, c.code, c.at)
		}
	}
	q := playbook(func(s *runs.Submission) {
		s.InventoryID, s.ProjectID, s.CredentialIDs = "inv_"+used, "prj_"+used, []string{"crd_" + used}
	})
	if err := limited().validate(t.Context(), &q); err != nil {
		t.Errorf("what may be used: %v", err)
	}
}

// TestWhatATemplateNamesIsVouchedFor launches with objects that only the template's owner may use. Objects that the
// caller names need the caller's right.
func TestWhatATemplateNamesIsVouchedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change  func(*runs.Submission)
		message string
	}{
		"all of it":      {func(s *runs.Submission) { s.Queue = "read" }, ""},
		"a hidden queue": {func(s *runs.Submission) { s.Queue = "hidden" }, "queue: this takes the right to read"},
		"not by a template": {func(s *runs.Submission) { s.Queue, s.Vouched = "read", s.Vouched[1:] },
			"queue: the right to use the queue"},
		"what is hidden": {func(s *runs.Submission) {
			s.ProjectID = "prj_" + hidden
			s.Vouched = append(s.Vouched, "prj_"+hidden)
		}, "project_id: this takes the right to read"},
		"what is absent": {func(s *runs.Submission) {
			s.ProjectID = "prj_" + absent
			s.Vouched = append(s.Vouched, "prj_"+absent)
		}, "project_id: no project"},
		"its own": {func(s *runs.Submission) { s.InventoryID = "inv_" + hidden }, "inventory_id: no inventory"},
		"a credential": {func(s *runs.Submission) { s.CredentialIDs = []string{"crd_" + read} },
			"credential_ids[0]: this takes"},
	} {
		q := playbook(func(s *runs.Submission) {
			s.InventoryID, s.ProjectID = "inv_"+read, "prj_"+read
			s.Vouched = []string{"tpl_1", "inv_" + read, "prj_" + read}
			c.change(s)
		})
		err := limited().validate(t.Context(), &q)
		if (err == nil) != (c.message == "") || err != nil && !strings.HasPrefix(err.Error(), c.message) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheDefaultQueueMustBeUsable(t *testing.T) {
	t.Parallel()
	s := limited()
	s.gate = guard.NewGate(levels{}, nil)
	q := playbook(func(*runs.Submission) {})
	if err := s.validate(t.Context(), &q); !runs.QueueNotFound.Is(err) || !cmp.Equal(locations(err), []string{"queue"}) {
		t.Errorf("got %v", err)
	}
}

func TestWhatStepsNameMustBeUsable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at, message string
		change      func(*runs.StepSpec)
	}{
		{"steps[1].queue", "steps[1].queue: " + lacking("hidden"), func(s *runs.StepSpec) { s.Queue = "hidden" }},
		{"steps[1].queue", "steps[1].queue: " + lacking("read"), func(s *runs.StepSpec) {
			s.Queue = "read"
		}},
		{"steps[1].inventory_id", `steps[1].inventory_id: no inventory "inv_` + hidden + `"`, func(s *runs.StepSpec) {
			s.InventoryID = "inv_" + hidden
		}},
		{"steps[1].credential_ids[0]", "steps[1].credential_ids[0]: this takes the right to use the credential",
			func(s *runs.StepSpec) { s.CredentialIDs = []string{"crd_" + read} }},
	} {
		steps := []runs.StepSpec{{Name: "a", Tool: "bash", Command: "true"}, {Name: "b", Tool: "bash", Command: "true"}}
		c.change(&steps[1])
		r := &runs.Run{}
		normalise(&r.Spec)
		_, err := limited().validatePipeline(t.Context(), r, &runs.PipelineSubmission{Steps: steps}, nil, nil)
		if err == nil || err.Error() != c.message || !cmp.Equal(locations(err), []string{c.at}) {
			t.Errorf("got %v at %v, want %s", err, locations(err), c.message)
		}
	}
}

// TestATemplateVouchesForItsStepAlone launches a template in a step, and names what it names in another step.
func TestATemplateVouchesForItsStepAlone(t *testing.T) {
	t.Parallel()
	one := runs.Vars{"n": []byte("1")}
	for name, c := range map[string]struct {
		step    runs.StepSpec
		vouched []string
		message string
	}{
		"usable": {step: runs.StepSpec{TemplateID: "tpl_" + used, Answers: one}},
		"readable": {step: runs.StepSpec{TemplateID: "tpl_" + read},
			message: "steps[1].template_id: this takes"},
		"readable in a template": {step: runs.StepSpec{TemplateID: "tpl_" + read}, vouched: []string{"tpl_" + read}},
		"hidden": {step: runs.StepSpec{TemplateID: "tpl_" + hidden},
			message: "steps[1].template_id: no template"},
		"a workflow": {step: runs.StepSpec{TemplateID: "tpl_" + absent},
			message: "steps[1].template_id: is a workflow"},
		"a tool of its own": {step: runs.StepSpec{TemplateID: "tpl_" + used, Tool: "bash"},
			message: "steps[1].tool: must be empty"},
		"credentials of its own": {step: runs.StepSpec{TemplateID: "tpl_" + used, CredentialIDs: []string{}},
			message: "steps[1].credential_ids: must be empty"},
		"answers without a template": {step: runs.StepSpec{Command: "true", Answers: one},
			message: "steps[1].answers: must"},
	} {
		s, may := limited(), levels{"queue:default": access.Use}
		for suffix, level := range map[string]access.Level{used: access.Use, read: access.Read, hidden: access.None,
			absent: access.Use} {
			may["tpl_"+suffix], may["crd_"+suffix], may["prj_"+suffix] = level, level, level
			s.refs.(knows)["tpl_"+suffix] = true
		}
		s.gate = guard.NewGate(may, nil)
		c.step.Name = "b"
		q := runs.PipelineSubmission{Vouched: c.vouched,
			Steps: []runs.StepSpec{{Name: "a", Tool: "bash", Command: "true"}, c.step}}
		r := &runs.Run{}
		err := s.completePipeline(t.Context(), r, &q, nil, nil)
		if (err == nil) != (c.message == "") || err != nil && !strings.HasPrefix(err.Error(), c.message) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		got := r.Graph.Steps[1].Of(&r.Spec)
		if got.Forks != 7 || got.ProjectID != "prj_"+read || !cmp.Equal(r.Graph.Steps[1].ExtraVars, c.step.Answers) {
			t.Errorf("%s: %+v", name, got)
		}
		q.Steps[0].CredentialIDs = []string{"crd_" + read}
		q.Steps[1] = c.step
		if err := s.completePipeline(t.Context(), &runs.Run{}, &q, nil, nil); !runs.UseRequired.Is(err) ||
			!cmp.Equal(locations(err), []string{"steps[0].credential_ids[0]"}) {
			t.Errorf("%s: another step that names the credential: %v", name, err)
		}
	}
}

func TestARunMadeOfAnotherKeepsItsObjects(t *testing.T) {
	t.Parallel()
	of := &runs.Run{Lineage: "tpl_1", Objects: []string{"inv_1", "queue:gpu", "tpl_1"}}
	r := &runs.Run{Spec: runs.Spec{Queue: "gpu", InventoryID: "inv_1"}}
	descend(r, of, nil)
	if diff := cmp.Diff([]string{"inv_1", "queue:gpu", "tpl_1"}, r.Objects); diff != "" || r.Lineage != "tpl_1" {
		t.Errorf("lineage %s, objects %s", r.Lineage, diff)
	}
	fresh := &runs.Run{Origin: runs.Origin{Source: runs.FromSchedule, SourceID: "sch_2"},
		Spec: runs.Spec{ProjectID: "prj_1", TemplateID: "tpl_2"},
		Graph: &runs.Graph{Steps: []runs.StepState{{StepSpec: runs.StepSpec{Queue: "gpu", InventoryID: "inv_2"}},
			{StepSpec: runs.StepSpec{Queue: "gpu"}}}}}
	descend(fresh, nil, nil)
	if diff := cmp.Diff([]string{"inv_2", "prj_1", "queue:default", "queue:gpu", "tpl_2"}, fresh.Objects); diff != "" {
		t.Error(diff)
	}
}
