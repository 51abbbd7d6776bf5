// Package hostquery chooses the hosts of requests that select them by their facts.
package hostquery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-automation/writ/modules/runs/internal/guard"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/runs"
)

// maxNamed is how many hosts or inventories a refusal names.
const maxNamed = 5

// Query is the query of a request, with the origin of that.
type Query struct {
	Text   string
	Origin runs.Origin
}

// Chooser sets the inventory and the hosts that a query selects. It does nothing for an empty one.
type Chooser func(ctx context.Context, q Query, inventory *string, hosts *[]string) error

// Hosts chooses. Without Queries every query is refused.
type Hosts struct {
	Queries     estate.HostQueries
	Inventories catalog.References
	Gate        *guard.Gate
}

func badQuery(format string, args ...any) error {
	return fault.BadField("inventory_query", format, args...)
}

// Check is a Chooser that checks a request that is not submitted, and selects nothing.
func (s *Hosts) Check(_ context.Context, q Query, _ *string, _ *[]string) error {
	switch {
	case q.Text == "":
		return nil
	case s.Queries == nil:
		return badQuery("is not taken here")
	default:
		return asQuery(s.Queries.Check(q.Text))
	}
}

// asQuery names the member of a request that holds the query.
func asQuery(err error) error {
	var f *fault.Error
	if errors.As(err, &f) && f.Kind == fault.Invalid && len(f.Fields) > 0 {
		return badQuery("%s", f.Fields[0].Message)
	}
	return err
}

// Choose is a Chooser that selects the hosts of one stored inventory: of the named one, else of the only one with which
// the hosts were gathered. Nobody checks the rights of a schedule or a trigger on an inventory that a query chooses, so
// these have to name one.
func (s *Hosts) Choose(ctx context.Context, q Query, inventory *string, hosts *[]string) error {
	if err := s.Check(ctx, q, inventory, hosts); err != nil || q.Text == "" {
		return err
	}
	unattended := q.Origin.Source == runs.FromSchedule || q.Origin.Source == runs.FromTrigger
	if *inventory == "" && unattended {
		return badQuery("needs inventory_id where nobody is there to choose")
	}
	list, err := s.Queries.Select(ctx, q.Text)
	if err != nil {
		return asQuery(err)
	}
	named := *inventory != ""
	if !named {
		if *inventory, err = s.common(ctx, list); err != nil {
			return err
		}
	}
	*hosts, err = s.within(ctx, *inventory, list)
	switch {
	case !named && fault.Is(err, fault.NotFound):
		return badQuery("the inventory of the hosts no longer exists; choose one with inventory_id")
	case err != nil:
		return err
	}
	if len(*hosts) == 0 {
		return badQuery("no host fits")
	}
	return nil
}

// common returns the inventory with which all hosts were gathered.
func (s *Hosts) common(ctx context.Context, list []estate.SelectedHost) (string, error) {
	var found, loose []string
	for _, h := range list {
		if h.InventoryID == "" {
			loose = append(loose, h.Host)
		}
		found = append(found, h.InventoryID)
	}
	found = slices.Compact(slices.Sorted(slices.Values(found)))
	switch {
	case len(list) == 0:
		return "", badQuery("no host fits")
	case len(loose) > 0:
		return "", badQuery("was gathered without a stored inventory: %s; choose an inventory with inventory_id", some(loose))
	case len(found) == 1:
		return found[0], nil
	}
	var readable []string
	for _, id := range found {
		if len(readable) > maxNamed {
			break
		}
		may, err := s.Gate.May(ctx, access.Read, id)
		if err != nil {
			return "", err
		}
		if may {
			readable = append(readable, id)
		}
	}
	return "", badQuery("the hosts are of several inventories: %s; choose one with inventory_id", some(readable))
}

func some(list []string) string {
	if len(list) > maxNamed {
		return strings.Join(list[:maxNamed], ", ") + " and others"
	}
	return strings.Join(list, ", ")
}

// within returns the names of the selected hosts that an inventory has now.
func (s *Hosts) within(ctx context.Context, inventory string, list []estate.SelectedHost) ([]string, error) {
	known := s.Inventories != nil && ids.Valid(ids.Inventory, inventory)
	var err error
	if known {
		known, err = s.Inventories.Exists(ctx, ids.Inventory, inventory)
	}
	if err == nil && known {
		known, err = s.Gate.May(ctx, access.Read, inventory)
	}
	if err != nil {
		return nil, err
	}
	if !known {
		return nil, object.Reference{Field: "inventory_id", Kind: ids.Inventory, ID: inventory}.Missing()
	}
	names, err := s.Inventories.Hosts(ctx, inventory, "")
	if err != nil {
		return nil, err
	}
	selected := make(map[string]bool, len(list))
	for _, h := range list {
		selected[h.Host] = true
	}
	return slices.DeleteFunc(names, func(name string) bool { return !selected[name] }), nil
}

// Steps selects the hosts of each step. A step without an inventory has that of the pipeline, unless it launches a
// template.
func Steps(ctx context.Context, q *runs.PipelineSubmission, choose Chooser) error {
	for i := range q.Steps {
		x := &q.Steps[i]
		if x.InventoryQuery == "" {
			continue
		}
		if x.Preset == nil {
			x.InventoryID = cmp.Or(x.InventoryID, q.InventoryID)
		}
		x.LimitHosts = nil
		if err := choose(ctx, Query{Text: x.InventoryQuery, Origin: q.Origin}, &x.InventoryID, &x.LimitHosts); err != nil {
			return fault.Below(fmt.Sprintf("steps[%d]", i), err)
		}
	}
	return nil
}
