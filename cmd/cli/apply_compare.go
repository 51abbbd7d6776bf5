package cli

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/writ-automation/writ/cmd/cli/internal/manifest"
)

// settleSecrets drops the changes of members that the server shows masked and reports as equal. If the server does not
// report that, the changes stay.
func (p *plan) settleSecrets(ctx context.Context, s *planStep) error {
	kind, _ := manifest.KindOf(s.key.Kind)
	old := p.held.spec(s.was)
	masked := manifest.Masked(kind, old)
	differs := func(c manifest.Change) bool { return slices.Contains(masked, c.Member) }
	if !slices.ContainsFunc(s.change, differs) {
		return nil
	}
	body, err := p.body(s, old)
	if err != nil {
		return nil //nolint:nilerr // the name is one that this plan creates
	}
	answer, _, err := p.held.c.exchange(ctx, http.MethodPost, objectPath(s.key.Kind, s.was.id)+"/compare", "", body)
	var api *apiError
	if errors.As(err, &api) {
		return nil
	}
	if err != nil {
		return err
	}
	changed, known := answer["changed"].([]any)
	s.change = slices.DeleteFunc(s.change, func(c manifest.Change) bool {
		return known && differs(c) && !slices.Contains(changed, any(c.Member))
	})
	return nil
}

// body returns the request body of a step.
func (p *plan) body(s *planStep, old map[string]any) (map[string]any, error) {
	body, err := manifest.ToAPI(s.doc, old, p.held.id)
	if err != nil {
		return nil, err
	}
	if id, _ := p.held.orgID(s.key.Org); id != "" {
		body["org_id"] = id
	}
	return body, nil
}
