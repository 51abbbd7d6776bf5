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

// Redeem trades a ticket for the account that minted it. It returns an Unauthenticated fault for a bad one.
type Redeem func(ctx context.Context, ticket, id string) (account string, err error)

// Access says who may call an operation. The zero value is no declaration, and nothing registers with it.
type Access struct {
	declared, public bool
	need             identity.Need
	redeem           Redeem
}

// Public lets everybody call.
func Public() Access { return Access{declared: true, public: true} }

// Needs asks for a caller who may do act to objects of kind.
func Needs(kind, act string) Access {
	return Access{declared: true, need: identity.Need{Kind: kind, Act: act}}
}

// OrTicket also admits the bearer of the query parameter "ticket" to the object {id} of the path.
func (a Access) OrTicket(redeem Redeem) Access {
	a.redeem = redeem
	return a
}

// String returns "public" or "kind:act", the form in the API document.
func (a Access) String() string {
	if a.public {
		return "public"
	}
	return a.need.Kind + ":" + a.need.Act
}

// accessKey is where an operation's metadata carries its Access.
const accessKey = "access"

// admit is the middleware that authenticates, then authorizes. An operation without a declaration is refused.
func (r *Router) admit(ctx huma.Context, next func(huma.Context)) {
	access, _ := ctx.Operation().Metadata[accessKey].(Access)
	req, _ := humago.Unwrap(ctx)
	st := requestOf(ctx.Context())
	c, err := r.caller(ctx, access, req, st)
	if err == nil {
		err = readable(ctx.Operation(), req)
	}
	if err != nil {
		r.refuse(ctx, err)
		return
	}
	next(huma.WithContext(ctx, c))
}

func (r *Router) refuse(ctx huma.Context, err error) {
	// What failed to be written was noted for the log already, and the client is gone.
	_ = huma.WriteErr(r.api, ctx, http.StatusInternalServerError, "", err)
}

// caller returns a context with the principal and the actor.
func (r *Router) caller(hctx huma.Context, access Access, req *http.Request, st *request) (context.Context, error) {
	ctx := hctx.Context()
	if access.public {
		return actor.With(ctx, actor.Actor{Type: actor.Anonymous, Name: "anonymous", IP: st.ip}), nil
	}
	if !access.declared {
		return nil, identity.NotAllowed.New("nobody may call this")
	}
	check, err := r.proof(hctx, access, req, st)
	if err != nil {
		return nil, err
	}
	p, err := check(ctx)
	st.account = p.User.ID
	if err != nil {
		return nil, err
	}
	st.recheck = func(ctx context.Context) error {
		_, err := check(ctx)
		return err
	}
	ctx = identity.With(ctx, p)
	return actor.With(ctx, actor.Actor{Type: actor.User, ID: p.User.ID, Name: p.User.Username, IP: st.ip}), nil
}

// proof returns what tells the caller and its right, now and again later: by the bearer token of the header, or by
// the account that a ticket names.
func (r *Router) proof(hctx huma.Context, access Access, req *http.Request, st *request) (func(context.Context) (identity.Principal, error), error) {
	if ticket := hctx.Query("ticket"); access.redeem != nil && ticket != "" {
		account, err := access.redeem(hctx.Context(), ticket, hctx.Param("id"))
		if err != nil {
			return nil, err
		}
		return r.ticketed(account, access.need, st), nil
	}
	token, err := bearer(req.Header)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (identity.Principal, error) {
		p, err := r.authn.Authenticate(ctx, token)
		if err != nil {
			return p, err
		}
		return p, r.authz.Authorize(ctx, p, access.need)
	}, nil
}

// ticketed asks about the account anew each time where it can, and bounds the stream where it cannot. An open install
// has no accounts to ask about.
func (r *Router) ticketed(account string, need identity.Need, st *request) func(context.Context) (identity.Principal, error) {
	if r.known == nil || r.config.Open {
		st.bounded = true
		return func(context.Context) (identity.Principal, error) {
			return identity.Principal{User: identity.User{ID: account}, Open: r.config.Open}, nil
		}
	}
	return func(ctx context.Context) (identity.Principal, error) {
		u, err := r.known.UserByID(ctx, account)
		p := identity.Principal{User: u}
		switch {
		case fault.Is(err, fault.NotFound):
			return p, identity.BadToken.New("the ticket's account is gone")
		case err != nil:
			return p, err
		}
		return p, r.authz.Authorize(ctx, p, need)
	}
}

// Recheck asks anew whether the caller of ctx may do what it is doing, for answers that take long.
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

// readable refuses what no database takes, a NUL or invalid UTF-8 in the path or in the query, and a parameter with two
// values of which one would be ignored.
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
