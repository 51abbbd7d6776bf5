package submit

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/modules/runs/internal/guard"
	"github.com/writ-automation/writ/modules/runs/internal/lifecycle"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// gathered selects the hosts whose names a query lists, each with the inventory of the text after its @.
type gathered struct{ estate.HostQueries }

func (gathered) Check(query string) error {
	if query == "=" {
		return fault.BadField("q", "column 1: expected a key")
	}
	return nil
}

func (gathered) Select(_ context.Context, query string) (out []estate.SelectedHost, err error) {
	for _, part := range strings.Fields(query) {
		host, inventory, _ := strings.Cut(part, "@")
		if inventory != "" {
			inventory = "inv_" + inventory
		}
		out = append(out, estate.SelectedHost{Host: host, InventoryID: inventory})
	}
	return out, nil
}

// listing is knows with the hosts a, b and c in every inventory.
type listing struct{ knows }

func (listing) Hosts(context.Context, string, string) ([]string, error) {
	return []string{"a", "b", "c"}, nil
}

func choosing() *Submitter {
	known, may := knows{"inv_" + used: true, "inv_" + read: true, "inv_" + hidden: true}, levels{
		"inv_" + used: access.Use, "inv_" + read: access.Read, "queue:default": access.Use}
	return New(&lifecycle.Machine{}, nil, execution.Tools{"ansible": nil, "bash": nil}, listing{known}, nil, nil, nil, nil,
		guard.NewGate(may, nil)).WithHosts(gathered{})
}

func TestAQueryChoosesHosts(t *testing.T) {
	t.Parallel()
	const one, two, secret = "@" + used, "@" + read, "@" + hidden
	const gone = "the inventory of the hosts no longer exists; choose one with inventory_id"
	for _, c := range []struct {
		query, inventory string
		source           runs.Source
		hosts            string // or the message of the refusal
		at               string
	}{
		{"a" + one + " c" + one, "", "", "a c", ""},
		{"a" + one + " gone" + one, "", "", "a", ""},
		{"b" + two + " c", "inv_" + used, "", "b c", ""},
		{"a" + one, "inv_" + used, runs.FromSchedule, "a", ""},
		{"a" + one, "", runs.FromSchedule, "needs inventory_id where nobody is there to choose", "inventory_query"},
		{"a" + one, "", runs.FromTrigger, "needs inventory_id where nobody is there to choose", "inventory_query"},
		{"", "", "", "", ""},
		{" ", "", "", "no host fits", "inventory_query"},
		{"gone" + one, "", "", "no host fits", "inventory_query"},
		{"gone" + one, "inv_" + used, "", "no host fits", "inventory_query"},
		{"=", "", "", "column 1: expected a key", "inventory_query"},
		{"a" + one + " b", "", "", "was gathered without a stored inventory: b; choose an inventory with inventory_id",
			"inventory_query"},
		{"a" + one + " b" + two + " c" + secret, "", "", "the hosts are of several inventories: inv_" + used + ", inv_" +
			read + "; choose one with inventory_id", "inventory_query"},
		{"a" + secret, "", "", gone, "inventory_query"},
		{"a@" + absent, "", "", gone, "inventory_query"},
		{"a" + two, "", "", "this takes the right to use the inventory", "inventory_id"},
		{"a" + one, "inv_" + hidden, "", `no inventory "inv_` + hidden + `"`, "inventory_id"},
	} {
		q := playbook(func(s *runs.Submission) {
			s.InventoryQuery, s.InventoryID, s.Origin.Source = c.query, c.inventory, c.source
		})
		s := choosing()
		err := s.complete(t.Context(), &q, s.hosts.Choose)
		if c.at == "" {
			got := strings.Join(q.LimitHosts, " ")
			if err != nil || got != c.hosts || c.query != "" && q.InventoryID != "inv_"+used {
				t.Errorf("%q of %q: %q of %s, %v", c.query, c.inventory, got, q.InventoryID, err)
			}
			continue
		}
		if err == nil || !slices.Equal(locations(err), []string{c.at}) || err.Error() != c.at+": "+c.hosts {
			t.Errorf("%q of %q: %v", c.query, c.inventory, err)
		}
	}
}

// TestAQueryIsCheckedAndKept states that a request which is not submitted selects nothing, and that a run which is made
// from another one keeps its hosts.
func TestAQueryIsCheckedAndKept(t *testing.T) {
	t.Parallel()
	s := choosing()
	query := func(text string) runs.Submission {
		return playbook(func(x *runs.Submission) { x.InventoryQuery = text }).Submission
	}
	if err := s.Check(t.Context(), query("gone@"+used)); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		at     string
		change func(*runs.Submission)
	}{
		{"inventory_query", func(s *runs.Submission) { s.InventoryQuery = "=" }},
		{"inventory_query", func(s *runs.Submission) { s.Tool, s.Command = "bash", "true" }},
		{"inventory", func(s *runs.Submission) { s.Inventory = "hosts" }},
	} {
		sub := query("a@" + used)
		c.change(&sub)
		if err := s.Check(t.Context(), sub); !slices.Equal(locations(err), []string{c.at}) {
			t.Errorf("%s: %v", c.at, err)
		}
	}
	if err := subject().Check(t.Context(), query("a")); !slices.Equal(locations(err), []string{"inventory_query"}) {
		t.Error(err)
	}
	again := Request{Submission: query("b@" + used), Of: &runs.Run{}}
	again.InventoryID, again.LimitHosts = "inv_"+used, []string{"gone"}
	if err := s.complete(t.Context(), &again, s.hosts.Choose); err != nil ||
		!slices.Equal(again.LimitHosts, []string{"gone"}) {
		t.Errorf("%v, %v", again.LimitHosts, err)
	}
}

// TestStepsChooseHosts selects the hosts of each step, and leaves those of a pipeline that is made again.
func TestStepsChooseHosts(t *testing.T) {
	t.Parallel()
	s := choosing()
	submit := func(of *runs.Run, source runs.Source, steps ...runs.StepSpec) (*runs.Run, error) {
		r := &runs.Run{}
		return r, s.completePipeline(t.Context(), r, &runs.PipelineSubmission{InventoryID: "inv_" + used, Steps: steps,
			Origin: runs.Origin{Source: source}}, of, s.hosts.Choose)
	}
	step := runs.StepSpec{Name: "one", Playbook: "site.yml", InventoryQuery: "a b gone", LimitHosts: []string{"z"}}
	for _, source := range []runs.Source{runs.FromAPI, runs.FromSchedule} {
		r, err := submit(nil, source, step, runs.StepSpec{Name: "two", Playbook: "site.yml"})
		if err != nil {
			t.Fatal(err)
		}
		got := r.Graph.Steps[0].Of(&r.Spec)
		if diff := cmp.Diff([]string{"a", "b"}, got.LimitHosts); diff != "" || got.InventoryQuery != step.InventoryQuery ||
			got.InventoryID != "inv_"+used || r.Graph.Steps[1].LimitHosts != nil {
			t.Errorf("%+v: %s", got, diff)
		}
	}
	r, err := submit(&runs.Run{}, runs.FromRerun, step)
	if err != nil || !slices.Equal(r.Graph.Steps[0].LimitHosts, []string{"z"}) {
		t.Errorf("%+v, %v", r.Graph, err)
	}
	step.InventoryQuery = "gone"
	if _, err := submit(nil, runs.FromAPI, step); !slices.Equal(locations(err), []string{"steps[0].inventory_query"}) {
		t.Error(err)
	}
	step = runs.StepSpec{Name: "one", TemplateID: "tpl_" + used, InventoryQuery: "a"}
	if _, err := submit(nil, runs.FromAPI, step); !slices.Equal(locations(err), []string{"steps[0].inventory_query"}) {
		t.Error(err)
	}
}
