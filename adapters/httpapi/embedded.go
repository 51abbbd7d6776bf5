package httpapi

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
)

// Enter authenticates and authorizes the caller of a page's request, as admission does for operations of the API. The
// returned request has a context that names the caller. Errors are those of the authenticator and the authorizer, and
// CrossOrigin for a write with a cookie that no page of this server sent.
func (r *Router) Enter(req *http.Request, need identity.Need) (*http.Request, error) {
	st := requestOf(req.Context())
	token, cookie, err := r.presented(req, st)
	if err != nil {
		return nil, err
	}
	ctx := actor.With(req.Context(), anonymous(st))
	p, err := r.authenticate(req, token)(ctx)
	if err != nil {
		return nil, err
	}
	st.account = p.User.ID
	if cookie {
		if err := r.origins.check(req, st.jar); err != nil {
			return nil, err
		}
	}
	if err := r.authz.Authorize(ctx, p, need); err != nil {
		return nil, err
	}
	known := actor.Actor{Type: actor.User, ID: p.User.ID, Name: p.User.Username, IP: st.ip, Token: p.TokenID}
	ctx = actor.With(identity.With(ctx, p), known)
	return req.WithContext(actor.WithRequest(ctx, actor.Request{
		ID: st.id, Method: req.Method, Path: req.URL.Path, Agent: agentOf(req),
	})), nil
}

// SameOrigin returns CrossOrigin unless a page of this server sent the write: for forms of visitors who have no cookie.
func (r *Router) SameOrigin(req *http.Request) error {
	return r.origins.check(req, requestOf(req.Context()).jar)
}

// Call is a request to an operation of the API that a page makes for its caller.
type Call struct {
	// Method and Path name the operation; Path has the query, if any.
	Method, Path string
	// Header holds If-Match, Idempotency-Key and alike.
	Header http.Header
	// Body is JSON, empty for none.
	Body []byte
}

// Answer is the API's answer to a Call.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// OK reports whether the operation succeeded.
func (a Answer) OK() bool { return a.Status >= http.StatusOK && a.Status < http.StatusMultipleChoices }

// maxAnswer bounds the answer of a Call. Operations that stream are no Calls.
const maxAnswer = 16 << 20

// Call makes a request to the API in this process, with the credentials of the page's request: the operation
// authenticates, authorizes, validates and records as for any client.
func (r *Router) Call(req *http.Request, c Call) Answer {
	outer := requestOf(req.Context())
	inner := &request{id: outer.id, ip: outer.ip, jar: outer.jar, hasSession: outer.hasSession}
	ctx, receipt := audit.WithCollector(context.WithValue(req.Context(), requestKey{}, inner))
	again := req.Clone(ctx)
	again.Method, again.Pattern, again.Header = c.Method, "", http.Header{}
	for _, name := range []string{
		"Authorization", "Cookie", "Origin", "Sec-Fetch-Site", "User-Agent", "X-Forwarded-For", "X-Forwarded-Proto",
	} {
		if values := req.Header.Values(name); len(values) > 0 {
			again.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	for name, values := range c.Header {
		again.Header[name] = values
	}
	again.Header.Set("Content-Type", "application/json")
	path, query, _ := strings.Cut(c.Path, "?")
	unescaped, err := url.PathUnescape(path)
	if err != nil {
		unescaped = path
	}
	again.URL = &url.URL{Path: unescaped, RawPath: path, RawQuery: query}
	again.RequestURI = c.Path
	again.Body, again.ContentLength = http.NoBody, int64(len(c.Body))
	if len(c.Body) > 0 {
		again.Body = bodyOf(c.Body)
	}
	w := &memory{header: http.Header{}}
	r.dispatch.ServeHTTP(&recorder{ResponseWriter: w, receipt: receipt}, again)
	return Answer{Status: max(w.status, http.StatusOK), Header: w.header, Body: w.body.Bytes()}
}

type readBytes struct{ *bytes.Reader }

func (readBytes) Close() error { return nil }

func bodyOf(b []byte) readBytes { return readBytes{bytes.NewReader(b)} }

// memory keeps an answer.
type memory struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (m *memory) Header() http.Header { return m.header }

func (m *memory) WriteHeader(code int) {
	if m.status == 0 {
		m.status = code
	}
}

func (m *memory) Write(p []byte) (int, error) {
	m.WriteHeader(http.StatusOK)
	if m.body.Len()+len(p) > maxAnswer {
		return 0, http.ErrContentLength
	}
	return m.body.Write(p) //nolint:wrapcheck // a buffer in memory
}
