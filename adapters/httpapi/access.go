package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

// Redeem trades a ticket for the account that minted it and the token by which it did. It returns an Unauthenticated
// fault for a bad one.
type Redeem func(ctx context.Context, ticket, id string) (account, token string, err error)

// Access declares which callers an operation accepts. The zero value is not a declaration and cannot be registered.
type Access struct {
	declared, public, worker bool
	need                     identity.Need
	redeem                   Redeem
}

// Public accepts every caller.
func Public() Access { return Access{declared: true, public: true} }

// Worker accepts only callers that present the worker token of the install; no account and no session will do. An
// install without a worker token answers that the relay is disabled.
func Worker() Access { return Access{declared: true, worker: true} }

// Needs accepts callers whose role may do act to objects of kind.
func Needs(kind, act string) Access {
	return Access{declared: true, need: identity.Need{Kind: kind, Act: act}}
}

// OrTicket also admits the bearer of the query parameter "ticket" to the object {id} of the path.
func (a Access) OrTicket(redeem Redeem) Access {
	a.redeem = redeem
	return a
}

// String returns "public", "worker" or "kind:act", the form in the API document.
func (a Access) String() string {
	switch {
	case a.public:
		return "public"
	case a.worker:
		return "worker"
	}
	return a.need.Kind + ":" + a.need.Act
}

// complete reports whether the declaration is set.
func (a Access) complete() bool {
	return a.declared && (a.public || a.worker || a.need.Kind != "" && a.need.Act != "")
}

// security returns the security schemes of the document that are accepted.
func (a Access) security() []map[string][]string {
	switch {
	case a.public:
		return []map[string][]string{}
	case a.worker:
		return []map[string][]string{{"worker": {}}}
	}
	return []map[string][]string{{"bearer": {}}, {"session": {}}}
}

// refusals returns the status codes with which a caller can be refused. Changes add 429, for callers that were refused
// too often.
func (a Access) refusals(change bool) []int {
	switch {
	case a.public:
		return nil
	case a.worker:
		return []int{http.StatusUnauthorized, http.StatusNotFound}
	case change:
		return []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests}
	}
	return []int{http.StatusUnauthorized, http.StatusForbidden}
}

// The members of an operation's metadata that carry its Access and whether it changes something.
const (
	accessKey  = "access"
	mutatesKey = "mutates"
)

// admit is the middleware that authenticates, then authorizes. An operation without a declaration is refused.
func (r *Router) admit(ctx huma.Context, next func(huma.Context)) {
	access, _ := ctx.Operation().Metadata[accessKey].(Access)
	req, _ := humago.Unwrap(ctx)
	st := requestOf(ctx.Context())
	c, err := r.caller(ctx, access, req, st)
	if err == nil {
		err = r.writable(ctx.Operation())
	}
	if err == nil {
		oneIfMatch(req.Header)
		err = readable(ctx.Operation(), req)
	}
	if err != nil {
		r.refuse(ctx, err)
		return
	}
	next(huma.WithContext(ctx, acting(c, ctx.Operation(), req)))
}

func (r *Router) refuse(ctx huma.Context, err error) {
	// A failed write was already noted for the log, and the client is gone.
	_ = huma.WriteErr(r.api, ctx, http.StatusInternalServerError, "", err)
}

// caller returns a context with the principal and the actor.
func (r *Router) caller(hctx huma.Context, access Access, req *http.Request, st *request) (context.Context, error) {
	ctx := hctx.Context()
	if access.public {
		st.presented = func() (string, error) {
			token, cookie, err := r.presented(req, st)
			if err == nil && cookie {
				err = r.origins.check(req, st.jar)
			}
			return token, err
		}
		return actor.With(ctx, anonymous(st)), nil
	}
	if access.worker {
		return r.worker(ctx, req, st)
	}
	if !access.declared {
		return nil, identity.NotAllowed.New("no role may call this")
	}
	who, cookie, err := r.proof(hctx, access, req, st)
	if err != nil {
		return nil, err
	}
	ctx = actor.With(ctx, anonymous(st))
	p, err := who(ctx)
	st.account = p.User.ID
	known := actor.Actor{Type: actor.User, ID: p.User.ID, Name: p.User.Username, IP: st.ip, Token: p.TokenID}
	if err == nil {
		ctx = r.watch(ctx, hctx.Operation(), req, st, known)
	}
	if err == nil && cookie {
		err = r.origins.check(req, st.jar)
	}
	if err == nil {
		err = r.authz.Authorize(ctx, p, access.need)
	}
	if err != nil {
		return nil, err
	}
	st.recheck = func(ctx context.Context) error {
		again, err := who(ctx)
		switch {
		case err != nil:
			return err
		case again.User.Role != p.User.Role:
			return identity.NotAllowed.New("the account's role has changed")
		}
		return r.authz.Authorize(ctx, again, access.need)
	}
	return actor.With(identity.With(ctx, p), known), nil
}

// anonymous is the actor of a request until its caller is known.
func anonymous(st *request) actor.Actor {
	return actor.Actor{Type: actor.Anonymous, Name: "anonymous", IP: st.ip}
}

// proof returns a function that identifies the caller, now and on later checks: by the token of the request, or by the
// account and the token that a ticket names. cookie reports that a browser sent the proof by itself.
func (r *Router) proof(hctx huma.Context, access Access, req *http.Request, st *request) (
	who func(context.Context) (identity.Principal, error), cookie bool, err error,
) {
	if ticket := hctx.Query("ticket"); access.redeem != nil && ticket != "" {
		account, token, err := access.redeem(hctx.Context(), ticket, hctx.Param("id"))
		return func(ctx context.Context) (identity.Principal, error) {
			return r.authn.Account(ctx, account, token)
		}, false, err
	}
	token, cookie, err := r.presented(req, st)
	return r.authenticate(req, token), cookie, err
}

// writable refuses a change on a read-only install.
func (r *Router) writable(op *huma.Operation) error {
	if mutates, _ := op.Metadata[mutatesKey].(bool); mutates && r.config.ReadOnly {
		return ReadOnly.New("this install is read-only")
	}
	return nil
}

// Recheck authenticates and authorizes the caller of ctx again, for answers that take long: its token and its account
// must still be valid, with the same role. It also gives the authorizer the current version of rights, so that later
// decisions for the same ctx use the current rights too.
func Recheck(ctx context.Context) error {
	if again := requestOf(ctx).recheck; again != nil {
		return again(ctx)
	}
	return nil
}

// bearer reads the token; an absent header is an empty token, which an open install accepts.
func bearer(h http.Header) (string, error) {
	switch values := h.Values("Authorization"); len(values) {
	case 0:
		return "", nil
	case 1:
		scheme, token, _ := strings.Cut(values[0], " ")
		if strings.EqualFold(scheme, "bearer") {
			return strings.TrimSpace(token), nil
		}
	}
	return "", identity.BadToken.New("the Authorization header holds no bearer token")
}

// readable refuses a NUL or invalid UTF-8 in the path or in the query, which no database accepts, and a parameter with
// two values, one of which would be ignored.
func readable(op *huma.Operation, r *http.Request) error {
	if !plainText(r.URL.Path) {
		return fault.BadField("path", "holds a NUL character or is not UTF-8")
	}
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return fault.BadField("query", "is not a query string")
	}
	for _, p := range op.Parameters {
		if p.In == "query" && len(q[p.Name]) > 1 && (p.Schema == nil || p.Schema.Type != huma.TypeArray) {
			return fault.BadField(p.Name, "is given twice")
		}
	}
	for name, values := range q {
		for _, v := range values {
			if !plainText(name) || !plainText(v) {
				return fault.BadField("query", "holds a NUL character or is not UTF-8")
			}
		}
	}
	return nil
}

func plainText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
