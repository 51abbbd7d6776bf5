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
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// vault has the credentials of a table. It counts the calls of Validate, and answers with the result for the list.
type vault struct {
	knows   knows
	results map[string]error
	asked   map[string]int
}

func (v vault) Exists(_ context.Context, id string) (bool, error) {
	if v.asked != nil {
		v.asked[id]++
	}
	return v.knows[id], nil
}

func (v vault) Validate(_ context.Context, list []string) error {
	if v.asked != nil {
		v.asked[short(list)]++
	}
	return v.results[short(list)]
}

func (vault) Versions(context.Context, []string) (map[string]int64, error) { return nil, nil }

func (vault) Stored(context.Context, []string) ([]secret.Text, error) { return nil, nil }

// padded makes an id of a name.
func padded(kind ids.Prefix, name string) string {
	return string(kind) + strings.Repeat("0", 26-len(name)) + name
}

// crds makes the ids of credentials of their names, nil of "-".
func crds(names string) []string {
	if names == "-" {
		return nil
	}
	out := []string{}
	for _, name := range strings.Fields(names) {
		out = append(out, padded(ids.Credential, name))
	}
	return out
}

// short returns the names of credentials, or "-" for nil.
func short(list []string) string {
	if list == nil {
		return "-"
	}
	out := []string{}
	for _, id := range list {
		out = append(out, strings.TrimLeft(strings.TrimPrefix(id, "crd_"), "0"))
	}
	return strings.Join(out, " ")
}

// inventories holds the credentials that each inventory adds.
type inventories map[string]string

func (e inventories) id(name string) string {
	if name == "" {
		return ""
	}
	return padded(ids.Inventory, name)
}

// submitterOver returns a submitter over inventories that add credentials. All credentials exist. The caller may use
// everything except the objects in not.
func submitterOver(e inventories, results map[string]error, not ...string) *Submitter {
	refs, may := withDefaults{knows{}, map[string][]string{}},
		levels{"queue:default": access.Use, "prj_" + used: access.Use}
	v := vault{knows: knows{}, results: results, asked: map[string]int{}}
	for name, list := range e {
		refs.knows[e.id(name)], refs.of[e.id(name)], may[e.id(name)] = true, crds(list), access.Use
	}
	for _, name := range strings.Split("abcdefghxyz", "") {
		id := crds(name)[0]
		v.knows[id], may[id] = true, access.Use
	}
	for _, name := range not {
		may[crds(name)[0]] = access.None
	}
	tools := execution.Tools{"ansible": nil, "bash": nil}
	return New(&lifecycle.Machine{}, nil, tools, refs, v, nil, nil, nil, guard.NewGate(may, nil))
}

type withDefaults struct {
	knows
	of map[string][]string
}

func (l withDefaults) Defaults(_ context.Context, id string) (string, []string, error) {
	return "", l.of[id], nil
}

// TestARunHasTheCredentialsOfItsInventory checks that a run's own credentials come first, then those of its
// inventory, each once.
func TestARunHasTheCredentialsOfItsInventory(t *testing.T) {
	t.Parallel()
	s := submitterOver(inventories{"ab": "a b", "none": ""}, nil)
	for _, c := range []struct{ requested, inventory, want string }{
		{"-", "", "-"}, {"", "", ""}, {"c", "", "c"}, {"c d c", "", "c d"}, {"-", "none", ""}, {"-", "ab", "a b"},
		{"c", "ab", "c a b"},
		{"b c", "ab", "b c a"}, {"a b", "ab", "a b"}, {"b b", "ab", "b a"},
	} {
		q := playbook(func(x *runs.Submission) {
			x.CredentialIDs, x.InventoryID = crds(c.requested), inventories{}.id(c.inventory)
		})
		requested := slices.Clone(q.CredentialIDs)
		named := q.CredentialIDs
		if err := s.complete(t.Context(), &q, s.hosts.Choose); err != nil || short(q.CredentialIDs) != c.want {
			t.Errorf("%+v: %s, %v", c, short(q.CredentialIDs), err)
		}
		if !slices.Equal(requested, named) {
			t.Errorf("%+v: the caller's list was changed", c)
		}
	}
}

// stepCase is a step with its inventory, its own list, and the credentials of its run.
type stepCase struct{ inventory, own, want string }

// TestAStepHasTheCredentialsOfWhereItRuns checks that a step has those of its inventory beside its own list or the
// pipeline's, and none of another inventory.
func TestAStepHasTheCredentialsOfWhereItRuns(t *testing.T) {
	t.Parallel()
	e := inventories{"ab": "a b", "c": "c", "none": ""}
	for _, c := range []struct {
		requested, inventory, record string
		steps                        []stepCase
	}{
		{"-", "", "-", []stepCase{{"", "-", "-"}, {"", "x", "x"}, {"", "x x", "x"}, {"ab", "-", "a b"}, {"ab", "x", "x a b"},
			{"none", "-", "-"}}},
		{"x", "", "x", []stepCase{{"", "-", "x"}, {"", "", ""}, {"", "y", "y"}, {"ab", "-", "x a b"}, {"ab", "", "a b"},
			{"ab", "y b", "y b a"}}},
		{"-", "ab", "-", []stepCase{{"", "-", "a b"}, {"", "x", "x a b"}, {"", "", "a b"}, {"c", "-", "c"}, {"c", "x", "x c"},
			{"none", "-", "-"}, {"none", "x", "x"}}},
		{"x a x", "ab", "x a", []stepCase{{"", "-", "x a b"}, {"", "y", "y a b"}, {"c", "-", "x a c"}, {"none", "-", "x a"},
			{"none", "", ""}}},
	} {
		q := runs.PipelineSubmission{CredentialIDs: crds(c.requested), InventoryID: e.id(c.inventory)}
		for i, x := range c.steps {
			q.Steps = append(q.Steps, runs.StepSpec{
				Name: fmt.Sprint(i), Tool: "bash", Command: "true", InventoryID: e.id(x.inventory), CredentialIDs: crds(x.own),
			})
		}
		was := slices.Clone(q.Steps)
		steps, r := q.Steps, &runs.Run{}
		if err := submitterOver(e, nil).completePipeline(t.Context(), r, &q, nil, nil); err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		if short(r.Spec.CredentialIDs) != c.record {
			t.Errorf("%+v: the record has %s", c, short(r.Spec.CredentialIDs))
		}
		for i, x := range c.steps {
			if got := short(carried(r, i)); got != x.want {
				t.Errorf("%s over %q, %+v: %s", c.requested, c.inventory, x, got)
			}
		}
		if d := cmp.Diff(was, steps); d != "" {
			t.Errorf("the caller's steps were changed: %s", d)
		}
	}
}

// TestCredentialsAreInheritedFromTheInventoryAlone checks that a caller who may use an inventory needs no right to
// its credentials in runs over it, and needs one elsewhere.
func TestCredentialsAreInheritedFromTheInventoryAlone(t *testing.T) {
	t.Parallel()
	e := inventories{"a": "a", "b": "b", "none": ""}
	for name, c := range map[string]struct {
		requested, inventory, vouched string
		message                       string
	}{
		"lent":           {requested: "-", inventory: "a"},
		"lent and named": {requested: "x a", inventory: "a"},
		"named and not lent": {requested: "a", inventory: "b",
			message: `credential_ids[0]: no credential "` + crds("a")[0] + `"`},
		"named without an inventory": {requested: "x a",
			message: `credential_ids[1]: no credential "` + crds("a")[0] + `"`},
		"vouched for, and not readable": {requested: "a", inventory: "none", vouched: "a"},
		"another is vouched for": {requested: "a", vouched: "b",
			message: `credential_ids[0]: no credential "` + crds("a")[0] + `"`},
	} {
		q := playbook(func(x *runs.Submission) {
			x.CredentialIDs, x.InventoryID = crds(c.requested), e.id(c.inventory)
			if c.vouched != "" {
				x.Vouched = append([]string{"tpl_1"}, crds(c.vouched)...)
			}
		})
		s := submitterOver(e, nil, "a", "b")
		if c.vouched != "" { // the queue is the template's own, which has to be readable
			s.gate = guard.NewGate(levels{e.id("none"): access.Use, "queue:default": access.Read}, nil)
		}
		if err := s.complete(t.Context(), &q, nil); message(err) != c.message {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestStepsInheritWhatTheirInventoryHas checks that a pipeline does not pass credentials of its inventory to steps
// over another one.
func TestStepsInheritWhatTheirInventoryHas(t *testing.T) {
	t.Parallel()
	e := inventories{"a": "a", "b": "b", "none": ""}
	missing := func(path, name string) string { return path + `: no credential "` + crds(name)[0] + `"` }
	for name, c := range map[string]struct {
		requested, inventory string
		step                 stepCase
		message              string
	}{
		"of the pipeline's":  {requested: "-", inventory: "a", step: stepCase{"", "-", "a"}},
		"beside its own":     {requested: "-", inventory: "a", step: stepCase{"", "x", "x a"}},
		"named by the step":  {requested: "-", inventory: "a", step: stepCase{"", "a", "a"}},
		"of its own":         {requested: "-", inventory: "a", step: stepCase{"b", "-", "b"}},
		"named over its own": {requested: "-", inventory: "a", step: stepCase{"b", "b", "b"}},
		"of the pipeline's over another": {requested: "-", inventory: "a", step: stepCase{"b", "a", ""},
			message: missing("steps[0].credential_ids[0]", "a")},
		"for all steps": {requested: "a", inventory: "a", step: stepCase{"b", "-", ""},
			message: missing("credential_ids[0]", "a")},
		"for all, though none takes it": {requested: "b", inventory: "a", step: stepCase{"b", "x", ""},
			message: missing("credential_ids[0]", "b")},
	} {
		q := runs.PipelineSubmission{CredentialIDs: crds(c.requested), InventoryID: e.id(c.inventory), Steps: []runs.StepSpec{
			{Name: "s", Tool: "bash", Command: "true", InventoryID: e.id(c.step.inventory), CredentialIDs: crds(c.step.own)},
		}}
		r := &runs.Run{}
		err := submitterOver(e, nil, "a", "b").completePipeline(t.Context(), r, &q, nil, nil)
		if message(err) != c.message {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && short(carried(r, 0)) != c.step.want {
			t.Errorf("%s: %s", name, short(carried(r, 0)))
		}
	}
}

// TestWhatIsInheritedMustExist checks that a missing credential of an inventory is reported under the path of the
// inventory.
func TestWhatIsInheritedMustExist(t *testing.T) {
	t.Parallel()
	e := inventories{"gone": "q"}
	q := playbook(func(x *runs.Submission) { x.InventoryID = e.id("gone") })
	err := submitterOver(e, nil).complete(t.Context(), &q, nil)
	if !secrets.CredentialNotFound.Is(err) || !cmp.Equal(locations(err), []string{"inventory_id"}) {
		t.Error(err, locations(err))
	}
	p := runs.PipelineSubmission{Steps: []runs.StepSpec{
		{Name: "a", Tool: "bash", Command: "true"}, {Name: "b", Tool: "bash", Command: "true", InventoryID: e.id("gone")},
	}}
	err = submitterOver(e, nil).completePipeline(t.Context(), &runs.Run{}, &p, nil, nil)
	if !secrets.CredentialNotFound.Is(err) || !cmp.Equal(locations(err), []string{"steps[1].inventory_id"}) {
		t.Error(err, locations(err))
	}
	s := submitterOver(inventories{"ab": "a b"}, nil)
	s.credentials = nil // there is no source of credentials
	q = playbook(func(x *runs.Submission) { x.InventoryID = inventories{}.id("ab") })
	if err := s.complete(t.Context(), &q, nil); !secrets.CredentialNotFound.Is(err) {
		t.Error(err)
	}
}

// TestCredentialsAreValidatedLast checks that each list of a request is validated once, after all other checks, and
// that a refusal names the path of the list.
func TestCredentialsAreValidatedLast(t *testing.T) {
	t.Parallel()
	e := inventories{"ab": "a b"}
	clash := secrets.Clash.New("two of one kind")
	results := map[string]error{"a b": clash, "x a b": secrets.SecretMissing.New("x has none"),
		"y": secrets.KeyLost.New("y is lost"), "z": context.Canceled}
	for _, c := range []struct {
		requested, inventory string
		want                 error
	}{
		{"x", "", nil}, {"-", "ab", clash}, {"b a", "ab", nil}, {"x", "ab", results["x a b"]}, {"y", "", results["y"]},
		{"z", "", context.Canceled},
	} {
		q := playbook(func(x *runs.Submission) { x.CredentialIDs, x.InventoryID = crds(c.requested), e.id(c.inventory) })
		err := submitterOver(e, results).complete(t.Context(), &q, nil)
		if want := c.want; want == nil && err != nil || want == context.Canceled && err != want ||
			want != nil && want != context.Canceled &&
				(message(err) != "credential_ids: "+want.Error() || !fault.Is(err, fault.Conflict)) {
			t.Errorf("%+v: %v", c, err)
		}
		hidden := playbook(func(x *runs.Submission) {
			x.CredentialIDs, x.InventoryID, x.ProjectID = crds(c.requested), e.id(c.inventory), "prj_"+absent
		})
		if err := submitterOver(e, results).complete(t.Context(), &hidden, nil); !fault.Is(err, fault.NotFound) {
			t.Errorf("%+v comes before what is missing: %v", c, err)
		}
	}
	step := func(name, inventory, own string) runs.StepSpec {
		return runs.StepSpec{Name: name, Tool: "bash", Command: "true", InventoryID: e.id(inventory),
			CredentialIDs: crds(own)}
	}
	for at, c := range map[string]runs.PipelineSubmission{
		"credential_ids": {CredentialIDs: crds("y"), Steps: []runs.StepSpec{step("a", "", "x"), step("b", "", "-")}},
		"steps[1].credential_ids": {CredentialIDs: crds("y"),
			Steps: []runs.StepSpec{step("a", "", "x"), step("b", "ab", "x")}},
		"steps[0].credential_ids": {InventoryID: e.id("ab"), Steps: []runs.StepSpec{step("a", "", "-")}},
		"": {CredentialIDs: crds("y"),
			Steps: []runs.StepSpec{step("a", "", "x"), step("b", "", "x"), step("c", "", "")}},
	} {
		s := submitterOver(e, results)
		err := s.completePipeline(t.Context(), &runs.Run{}, &c, nil, nil)
		if at == "" && err != nil || at != "" &&
			(!fault.Is(err, fault.Conflict) || !cmp.Equal(locations(err), []string{at})) {
			t.Errorf("%s: %v", at, err)
		}
		if n := s.credentials.(vault).asked["x"]; n > 1 {
			t.Errorf("%s: one list was judged %d times", at, n)
		}
	}
}
