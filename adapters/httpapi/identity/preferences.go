package identity

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
)

// maxPreferences limits the body of a save. White space does not count among the preferences.
const maxPreferences = 2 * identity.MaxPreferences

// PreferencesInput is the request with new preferences.
type PreferencesInput struct {
	IfMatch httpapi.IfMatch `header:"If-Match"`
	Body    httpapi.Values
}

// TeamInput names a team.
type TeamInput struct {
	ID string `path:"id"`
}

// TeamPreferencesInput is the request with new preferences of a team.
type TeamPreferencesInput struct {
	TeamInput
	PreferencesInput
}

// preferencesOutput answers with preferences.
type preferencesOutput = httpapi.ObjectOutput[httpapi.Values]

func (h *handlers) readPreferences(ctx context.Context, _ *struct{}) (*preferencesOutput, error) {
	return showPreferences(h.Preferences.Preferences(ctx))
}

func (h *handlers) savePreferences(ctx context.Context, in *PreferencesInput) (*preferencesOutput, error) {
	document, err := in.document()
	if err != nil {
		return nil, err
	}
	return showPreferences(h.Preferences.SavePreferences(ctx, document, in.IfMatch.Revision()))
}

func (h *handlers) readTeamPreferences(ctx context.Context, in *TeamInput) (*preferencesOutput, error) {
	return showPreferences(h.Shared.Preferences(ctx, in.ID))
}

func (h *handlers) saveTeamPreferences(ctx context.Context, in *TeamPreferencesInput) (*preferencesOutput, error) {
	document, err := in.document()
	if err != nil {
		return nil, err
	}
	return showPreferences(h.Shared.SavePreferences(ctx, in.ID, document, in.IfMatch.Revision()))
}

// document returns the JSON of the body.
func (in *PreferencesInput) document() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(in.Body)
	return b.Bytes(), err
}

func showPreferences(p identity.Preferences, err error) (*preferencesOutput, error) {
	if err != nil {
		return nil, err
	}
	out := preferencesOutput{ETag: httpapi.ETag(p.Revision)}
	return &out, json.Unmarshal(p.Document, &out.Body)
}

func (h *handlers) preferenceRoutes(r *httpapi.Router) {
	example := httpapi.Values{"theme": "dark", "views": []any{map[string]any{"name": "Mine", "q": "actor:ada"}}}
	route := httpapi.Route{
		Method: http.MethodGet, Path: "/v1/auth/me/preferences", ID: "read-preferences", Tag: tag,
		Summary: "Read the preferences of the own account",
		Description: "A JSON object that clients keep for the account, such as its theme and its saved views. The server " +
			"does not interpret it. It is empty until it is saved.",
		Access: self("read"), Status: http.StatusOK, Example: example, Errors: []int{http.StatusForbidden},
	}
	httpapi.Handle(r, route, h.readPreferences)
	route.Method, route.ID, route.Access = http.MethodPut, "save-preferences", self("preferences")
	route.Summary = "Save the preferences of the own account"
	route.Description = "Replaces the whole object, of at most 32 KiB without white space. Clients that share " +
		"an account keep each other's changes by If-Match. The audit trail has an entry without the content. They are " +
		"deleted with the account."
	route.Action, route.Request, route.MaxBody = audit.UserPreferences, example, maxPreferences
	route.Errors = []int{http.StatusPreconditionFailed, http.StatusForbidden}
	httpapi.Handle(r, route, h.savePreferences)
	h.teamPreferenceRoutes(r)
}

func (h *handlers) teamPreferenceRoutes(r *httpapi.Router) {
	example := httpapi.Values{"run_views": []any{map[string]any{"name": "Nightly", "q": "label:job=nightly"}}}
	route := httpapi.Route{
		Method: http.MethodGet, Path: "/v1/teams/{id}/preferences", ID: "read-team-preferences", Tag: tag,
		Summary: "Read the preferences of a team",
		Description: "A JSON object that clients keep for all members of the team, such as views of runs that one of them " +
			"shared. For members and admins. The server does not interpret it. It is empty until it is saved.",
		Access: httpapi.Needs("team", "read"), Status: http.StatusOK, Example: example,
		Errors: []int{http.StatusForbidden, http.StatusNotFound},
	}
	httpapi.Handle(r, route, h.readTeamPreferences)
	route.Method, route.ID, route.Access = http.MethodPut, "save-team-preferences", httpapi.Needs("team", "preferences")
	route.Summary = "Save the preferences of a team"
	route.Description = "Replaces the whole object, of at most 32 KiB without white space. Every member may, so clients " +
		"keep each other's changes by If-Match. The audit trail has an entry without the content. They are deleted with " +
		"the team."
	route.Action, route.Request, route.MaxBody = audit.TeamPreferences, example, maxPreferences
	route.Errors = append(route.Errors, http.StatusPreconditionFailed)
	httpapi.Handle(r, route, h.saveTeamPreferences)
}
