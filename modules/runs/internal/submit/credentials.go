package submit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/writ-automation/writ/modules/runs/internal/record"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
)

// union returns the ids of the lists in their order, each once. It returns nil only if all lists are nil: a step with
// an empty list has no credentials, a step without a list has those of its pipeline.
func union(lists ...[]string) []string {
	var out []string
	seen := make(map[string]bool)
	for _, list := range lists {
		if list != nil && out == nil {
			out = make([]string, 0, len(list))
		}
		for _, id := range list {
			if !seen[id] {
				seen[id] = true
				out = append(out, id)
			}
		}
	}
	return out
}

// markInherited marks the references to credentials that the inventory adds too: a caller who may use the inventory
// needs no right to them. It appends those that the request does not name, under the path of the inventory.
func markInherited(list []reference, inventory string, inherited []string) []reference {
	from := make(map[string]bool, len(inherited)) // whether the request names it too
	for _, id := range inherited {
		from[id] = false
	}
	for i := range list {
		if _, ok := from[list[i].id]; ok && list[i].kind == ids.Credential {
			list[i].inherited, from[list[i].id] = true, true
		}
	}
	for _, id := range inherited {
		if !from[id] {
			list = append(list, reference{path: inventory, kind: ids.Credential, id: id, inherited: true})
		}
	}
	return list
}

// total checks the number of a run's credentials together with those of its inventory. Another check reports a list
// that is too long by itself.
func (c checks) total(requested, all []string) {
	if len(requested) <= maxItems && len(all) > maxItems {
		c.bad("credential_ids", "has more than %d members together with those of the inventory", maxItems)
	}
}

// compatible refuses credentials that a run cannot have together or cannot use in their current state. It follows all
// checks of rights.
func (s *Submitter) compatible(ctx context.Context, path string, credentials []string) error {
	if s.credentials == nil || len(credentials) == 0 {
		return nil
	}
	err := s.credentials.Validate(ctx, credentials)
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Conflict {
		return err
	}
	at := *f
	at.Message = path + ": " + f.Message
	at.Fields = []fault.Field{{Location: path, Message: f.Message}}
	return &at
}

// hide lists the hidden texts of a new run: those that contain a stored secret of its credentials, and those that the
// original run hides. Secrets of engines are known only at the claim.
func (s *Submitter) hide(ctx context.Context, r, of *runs.Run) error {
	r.Hidden.Submitted = runs.AddHidden(nil, record.Inherited(r, of))
	lists := [][]string{r.Spec.CredentialIDs}
	if r.Graph != nil {
		for i := range r.Graph.Steps {
			lists = append(lists, r.Graph.Steps[i].CredentialIDs)
		}
	}
	all := union(lists...)
	if s.credentials == nil || len(all) == 0 {
		return nil
	}
	known, err := s.credentials.Stored(ctx, all)
	if err != nil {
		return err
	}
	r.Hidden.Submitted = runs.AddHidden(r.Hidden.Submitted, record.Holding(r, known))
	return nil
}

// compatibleSteps does the same for the credentials of each step of a pipeline.
func (s *Submitter) compatibleSteps(ctx context.Context, of *runs.Spec, g *runs.Graph) error {
	checked := make(map[string]bool)
	for i := range g.Steps {
		path, x := "credential_ids", &g.Steps[i].StepSpec
		if x.CredentialIDs != nil {
			path = fmt.Sprintf("steps[%d].credential_ids", i)
		}
		list := x.Of(of).CredentialIDs
		key := strings.Join(list, "\x00")
		if checked[key] {
			continue
		}
		checked[key] = true
		if err := s.compatible(ctx, path, list); err != nil {
			return err
		}
	}
	return nil
}
