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

// preferencesOutput answers with preferences.
type preferencesOutput = httpapi.ObjectOutput[httpapi.Values]

func (h *handlers) readPreferences(ctx context.Context, _ *struct{}) (*preferencesOutput, error) {
	return showPreferences(h.Preferences.Preferences(ctx))
}

func (h *handlers) savePreferences(ctx context.Context, in *PreferencesInput) (*preferencesOutput, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(in.Body); err != nil {
		return nil, err
	}
	return showPreferences(h.Preferences.SavePreferences(ctx, b.Bytes(), in.IfMatch.Revision()))
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
}
