package shell

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/platform/background"
)

// preferencesPath returns the address of the preferences of a team, or of the viewer for an empty id.
func preferencesPath(team string) string {
	if team == "" {
		return "/v1/auth/me/preferences"
	}
	return "/v1/teams/" + url.PathEscape(team) + "/preferences"
}

// Preferences are those of the viewer's account or of a team, by name. The interface shares the object with other
// clients.
type Preferences map[string]json.RawMessage

// Read decodes the preference of a name. One that is absent or has another form leaves the value as it is.
func (p Preferences) Read(name string, into any) {
	if raw, ok := p[name]; ok {
		_ = json.Unmarshal(raw, into) // another client may store anything
	}
}

// ReadPreferences reads the preferences of the viewer. They are empty for a visitor, and where the API has none.
func (r *Request) ReadPreferences() (Preferences, error) {
	p, _, err := r.preferences("")
	return p, err
}

func (r *Request) preferences(team string) (p Preferences, tag string, err error) {
	p = Preferences{}
	if !r.Viewer.SignedIn() || r.shell == nil {
		return p, "", nil
	}
	a := r.Call(httpapi.Call{Method: http.MethodGet, Path: preferencesPath(team)})
	if a.Status == http.StatusNotFound && team == "" {
		return p, "", nil
	}
	err = decode(a, &p)
	return p, a.Header.Get("ETag"), err
}

// SavePreference stores a value under a name and keeps all others, also those that another client stores meanwhile.
func (r *Request) SavePreference(name string, value any) error {
	return r.ChangePreference("", name, func(Preferences) (any, error) { return value, nil })
}

// A change of preferences is tried again after another client has saved some meanwhile, a few times: the store may
// refuse for a save that readers do not see yet.
const (
	changeTries = 6
	changePause = 10 * time.Millisecond
)

// ChangePreference stores the value that change makes of the present preferences under a name, and keeps all others.
// They are those of a team, or of the viewer for an empty id. It calls change again after another client has saved some
// meanwhile. An error of change stores nothing.
func (r *Request) ChangePreference(team, name string, change func(Preferences) (any, error)) error {
	for try := 1; ; try++ {
		err := r.changePreference(team, name, change)
		var refused *httpapi.Problem
		if !errors.As(err, &refused) || refused.Status != http.StatusPreconditionFailed || try == changeTries ||
			!background.Wait(r.Context(), time.Duration(try)*changePause) {
			return err
		}
	}
}

func (r *Request) changePreference(team, name string, change func(Preferences) (any, error)) error {
	p, tag, err := r.preferences(team)
	if err != nil {
		return err
	}
	value, err := change(p)
	if err != nil {
		return err
	}
	if p[name], err = json.Marshal(value); err != nil {
		return err //nolint:wrapcheck // a value of the interface
	}
	body, err := json.Marshal(p)
	if err != nil {
		return err //nolint:wrapcheck // read from JSON
	}
	c := httpapi.Call{Method: http.MethodPut, Path: preferencesPath(team), Header: http.Header{}, Body: body}
	if tag != "" {
		c.Header.Set("If-Match", tag)
	}
	var kept Preferences
	return decode(r.Call(c), &kept)
}
