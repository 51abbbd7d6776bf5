package mcp

import (
	"bytes"
	"context"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/writ-automation/writ/ports/identity"
)

// The limits of sessions over HTTP.
const (
	sessionTime        = 30 * time.Minute // without a request
	sessionsPerAccount = 16
	sessionsInAll      = 1024
)

// stateless is the first version of the protocol in which requests need no session.
const stateless = "2026-07-28"

// Refuse answers a request with an error.
type Refuse func(w http.ResponseWriter, r *http.Request, status int, reason, text string)

// Handler serves agents over streamable HTTP. Each message is a request with its answer as JSON; there are no streams
// and no batches. Its requests are authenticated before, and carry the caller in their context.
type Handler struct {
	refuse             Refuse
	server             *sdk.Server
	sessions           *sessions
	stateful, singular http.Handler
}

// NewHandler returns a handler. The context of requests to the API is that of the agent's own request; see RequestOf.
func NewHandler(c Config, refuse Refuse) *Handler {
	h := &Handler{refuse: refuse, server: newServer(c), sessions: newSessions()}
	serve := func(one bool) http.Handler {
		return auth.RequireBearerToken(known, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(
			sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return h.server }, &sdk.StreamableHTTPOptions{
				Stateless: one, JSONResponse: true, SessionTimeout: sessionTime, MaxRequestBodyBytes: MaxMessage,
				// A token protects from other sites; open installs check the host themselves.
				DisableLocalhostProtection: true, PropagateRequestCancellation: true,
			}))
	}
	h.stateful, h.singular = serve(false), serve(true)
	return h
}

// Close ends all sessions.
func (h *Handler) Close() {
	for s := range h.server.Sessions() {
		_ = s.Close()
	}
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p, ok := identity.From(r.Context())
	if !ok || !p.Open && r.Header.Get("Authorization") == "" {
		w.Header().Set("WWW-Authenticate", "Bearer")
		h.refuse(w, r, http.StatusUnauthorized, identity.BadToken.Name, "agents need a bearer token; a session is none")
		return
	}
	leave, ok := h.sessions.enter(p.User.ID)
	if !ok {
		w.Header().Set("Retry-After", "1")
		h.refuse(w, r, http.StatusTooManyRequests, "too_many_calls", "this account has too many calls at once")
		return
	}
	defer leave()
	if r.Method == http.MethodPost && batch(r) {
		h.refuse(w, r, http.StatusBadRequest, "invalid", "expected one message, not a batch")
		return
	}
	again := r.WithContext(context.WithValue(r.Context(), callerKey{}, caller{principal: p, request: r}))
	again.Header = r.Header.Clone()
	if p.Open {
		again.Header.Set("Authorization", "Bearer open")
	}
	switch {
	case r.Header.Get("MCP-Protocol-Version") >= stateless:
		h.singular.ServeHTTP(w, again)
	case r.Method == http.MethodPost && r.Header.Get(sessionHeader) == "":
		h.open(w, again, p.User.ID)
	default:
		h.stateful.ServeHTTP(w, again)
	}
}

const sessionHeader = "Mcp-Session-Id"

// open begins a session.
func (h *Handler) open(w http.ResponseWriter, r *http.Request, account string) {
	opened, ok := h.sessions.open(account, h.server.Sessions())
	if !ok {
		w.Header().Set("Retry-After", "60")
		h.refuse(w, r, http.StatusTooManyRequests, "too_many_sessions", "there are too many sessions of agents")
		return
	}
	defer func() { opened(w.Header().Get(sessionHeader)) }()
	h.stateful.ServeHTTP(w, r)
}

// batch reports whether the body is a list of messages, each of which would be a call of its own.
func batch(r *http.Request) bool {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return false // the reader after this one gets the same error
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("["))
}

// caller is who sent a request.
type caller struct {
	principal identity.Principal
	request   *http.Request
}

type callerKey struct{}

// callerName is the member of a TokenInfo that holds the caller.
const callerName = "caller"

// known tells the library whose session a session is: a token never continues a session of another one.
func known(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
	c, ok := ctx.Value(callerKey{}).(caller)
	if !ok {
		return nil, auth.ErrInvalidToken
	}
	return &auth.TokenInfo{
		UserID: c.principal.User.ID + "/" + c.principal.TokenID, Extra: map[string]any{callerName: c},
	}, nil
}

// RequestOf returns the request over HTTP in which an agent calls a tool, nil for another way.
func RequestOf(ctx context.Context) *http.Request {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c.request
}

// callContext returns the context of a call: that of its own request over HTTP, and not that of the request that began
// the session. It also ends when the agent cancels the call, and after callTime.
func callContext(ctx context.Context, req *sdk.CallToolRequest) (context.Context, context.CancelFunc) {
	if req.Extra == nil || req.Extra.TokenInfo == nil {
		return context.WithTimeout(ctx, callTime)
	}
	c, _ := req.Extra.TokenInfo.Extra[callerName].(caller)
	if c.request == nil {
		return context.WithTimeout(ctx, callTime)
	}
	own, cancel := context.WithTimeout(context.WithValue(c.request.Context(), callerKey{}, c), callTime)
	stop := context.AfterFunc(ctx, cancel)
	return own, func() {
		stop()
		cancel()
	}
}

// sessions counts the sessions and the calls of accounts.
type sessions struct {
	mu      sync.Mutex
	owner   map[string]string // account by session
	opening map[string]int    // by account
	calls   map[string]int    // by account
}

func newSessions() *sessions {
	return &sessions{owner: map[string]string{}, opening: map[string]int{}, calls: map[string]int{}}
}

// enter admits one more call of an account.
func (s *sessions) enter(account string) (leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls[account] >= maxCalls {
		return nil, false
	}
	s.calls[account]++
	return func() { s.release(s.calls, account) }, true
}

// open admits one more session of an account, unless the account or all of them have too many that live. The returned
// function takes the id of the session, empty if none began.
func (s *sessions) open(account string, live iter.Seq[*sdk.ServerSession]) (opened func(id string), ok bool) {
	lives := map[string]bool{}
	for one := range live {
		lives[one.ID()] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	mine, all := s.opening[account], 0
	for _, n := range s.opening {
		all += n
	}
	for id, owner := range s.owner {
		if !lives[id] {
			delete(s.owner, id)
			continue
		}
		all++
		if owner == account {
			mine++
		}
	}
	if mine >= sessionsPerAccount || all >= sessionsInAll {
		return nil, false
	}
	s.opening[account]++
	return func(id string) {
		s.release(s.opening, account)
		if id = strings.TrimSpace(id); id != "" {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.owner[id] = account
		}
	}, true
}

func (s *sessions) release(counts map[string]int, account string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if counts[account]--; counts[account] == 0 {
		delete(counts, account)
	}
}
