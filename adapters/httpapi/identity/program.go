package identity

import (
	"context"
	"net/http"
	"strconv"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/lazyregexp"
)

// portForm is a port as digits alone: no sign, no zero in front, no name of a host.
var portForm = lazyregexp.New(`^[1-9][0-9]{0,4}$`)

// program reads which program waits for the sign-in that a request begins; ok is false if none does.
func program(r *http.Request) (l identity.Loopback, ok bool, err error) {
	if !r.URL.Query().Has("cli") {
		return l, false, nil
	}
	q, err := single(r.URL.RawQuery)
	if err != nil {
		return l, false, fault.BadField("cli", "%s", err.Error())
	}
	port, err := strconv.ParseUint(q.Get("cli"), 10, 16)
	if err != nil || !portForm.Get().MatchString(q.Get("cli")) {
		return l, false, fault.BadField("cli", "expected a port, from 1 to 65535")
	}
	return identity.Loopback{Port: uint16(port), Challenge: q.Get("challenge"), State: q.Get("state")}, true, nil
}

// ExchangeBody is a code of a sign-in with its verifier. Both print as "***".
type ExchangeBody struct {
	Code     identity.Password `json:"code" minLength:"1" maxLength:"128" doc:"From the address that the browser was sent to."`
	Verifier identity.Password `json:"verifier" minLength:"1" maxLength:"128" doc:"The text whose S256 challenge the sign-in began with (RFC 7636)."`
}

// ExchangeInput is the request with an ExchangeBody.
type ExchangeInput struct{ Body ExchangeBody }

func (h *handlers) exchange(ctx context.Context, in *ExchangeInput) (*httpapi.Output[SessionBody], error) {
	if !h.Providers.ready(h.Providers.OIDC) && !h.Providers.ready(h.Providers.SAML) {
		return nil, disabled()
	}
	return httpapi.Show(sessionBody)(h.Providers.Programs.Exchange(ctx, string(in.Body.Code), string(in.Body.Verifier)))
}

func (h *handlers) programRoutes(r *httpapi.Router) {
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: "/v1/auth/exchange", ID: "exchange-code", Action: audit.AuthLogin, Tag: tag,
		Summary: "Exchange the code of a sign-in in the browser",
		Description: "A program that listens on 127.0.0.1 opens /auth/oidc/login or /auth/saml/login in the browser with " +
			"its port as cli, the S256 challenge of a verifier as challenge, and a state. The browser is sent back to the " +
			"program with the state and a code, which works once, within a minute, and with the verifier only.",
		Access: httpapi.Public(), Session: true, Status: http.StatusOK, Example: exampleSession(),
		Request: map[string]string{"code": "<CODE>", "verifier": "<VERIFIER>"}, MaxBody: maxLogin,
		Errors: []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusConflict,
			http.StatusTooManyRequests, http.StatusServiceUnavailable},
	}, h.exchange)
}
