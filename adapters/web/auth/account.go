package auth

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

const accountPath = "/ui/account"

// accountView is what the page of the account shows.
type accountView struct {
	me     identity.Me
	tokens []identity.Token // own API tokens, for administrators
	listed bool             // the viewer may list tokens
}

func (h *handlers) account(r *shell.Request) (*shell.Page, error) {
	me, err := h.Self.Me(r.Context())
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	v := accountView{me: me, listed: r.May("token", "read") && r.May("token", "revoke")}
	if v.listed {
		all, _, err := h.Tokens.List(r.Context(), page.Window{})
		if err != nil {
			return nil, err //nolint:wrapcheck // a fault
		}
		for _, t := range all {
			if t.UserID == me.User.ID {
				v.tokens = append(v.tokens, t)
			}
		}
	}
	return &shell.Page{Title: accountTitle, Class: "account", Body: accountPage(v)}, nil
}

// appearance refuses a zone that does not exist, and stores the others.
func (h *handlers) appearance(r *shell.Request) (*shell.Page, error) {
	form, err := r.Form()
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	if _, err := time.LoadLocation(form.Get("zone")); err != nil || form.Get("zone") == "Local" {
		return nil, r.Again("appearance", shell.Invalid("zone", zoneWrong))
	}
	return r.Appear() //nolint:wrapcheck // a fault
}

// mint creates a token and shows its secret, once.
func (h *handlers) mint(r *shell.Request) (*shell.Page, error) {
	form, err := r.Form()
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	if form.Has("_copy") {
		return r.Do(tokenForm, nil) //nolint:wrapcheck // a fault
	}
	body, p := shell.Body(form)
	if p != nil {
		return nil, r.Again(tokenForm, p)
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err //nolint:wrapcheck // it was made of JSON
	}
	a := r.Call(httpapi.Call{Method: http.MethodPost, Path: "/v1/tokens", Body: raw})
	if !a.OK() {
		return nil, r.Again(tokenForm, shell.Problem(a))
	}
	var made struct{ Name, Token string }
	if err := json.Unmarshal(a.Body, &made); err != nil {
		return nil, err //nolint:wrapcheck // an answer of the API
	}
	return &shell.Page{Title: tokenOnceTitle, Status: http.StatusCreated, Body: secretPage(made.Name, made.Token)}, nil
}

func teamNames(m identity.Me) (out []string) {
	for _, t := range m.Teams {
		out = append(out, t.Name)
	}
	return out
}

func orgNames(m identity.Me) (out []string) {
	for _, o := range m.Orgs {
		out = append(out, o.Name+" ("+string(o.Role)+")")
	}
	return out
}
