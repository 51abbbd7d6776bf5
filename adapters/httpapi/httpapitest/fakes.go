package httpapitest

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/tx"
)

var (
	_ identity.Authenticator = Guard{}
	_ identity.Authorizer    = Guard{}
	_ audit.Recorder         = (*Recorder)(nil)
	_ tx.Unit                = Unit{}
	_ ids.Generator          = IDs{}
	_ io.Writer              = (*Log)(nil)
)

// Guard authenticates tokens that are named like roles and decides by the global rules of the matrix. An open Guard
// treats every caller as the administrator, like an install without sign-in.
type Guard struct{ Open bool }

// Authenticate returns the account of a role, or identity.BadToken if the token is not the name of a role.
func (g Guard) Authenticate(ctx context.Context, token string) (identity.Principal, error) {
	if r := identity.Role(token); !g.Open && !r.Valid() {
		return identity.Principal{}, identity.BadToken.New("the token is missing, unknown, expired or revoked")
	}
	return g.Account(ctx, "usr_"+token, "")
}

// Account returns the account of an id, which is usr_ and its role.
func (g Guard) Account(_ context.Context, id, _ string) (identity.Principal, error) {
	if g.Open {
		return identity.Principal{User: identity.User{ID: "usr_admin", Username: "admin", Role: identity.Admin}, Open: true},
			nil
	}
	name := strings.TrimPrefix(id, "usr_")
	return identity.Principal{User: identity.User{ID: id, Username: name, Role: identity.Role(name)},
		TokenID: "tok_" + name}, nil
}

// Authorize returns identity.NotAllowed unless the role alone grants the right.
func (Guard) Authorize(_ context.Context, p identity.Principal, n identity.Need) error {
	fits := func(r identity.Rule) bool {
		return r.Via == identity.ViaRole && p.User.Role.Rank() >= r.Role.Rank() &&
			(r.Kind == n.Kind || r.Kind == identity.Any) && (r.Act == n.Act || r.Act == identity.Any)
	}
	if !slices.ContainsFunc(identity.Matrix(), fits) {
		return identity.NotAllowed.New("this takes another role")
	}
	return nil
}

// Scope hides nothing.
func (Guard) Scope(context.Context, identity.Principal) (access.Scope, error) {
	return access.Everything(), nil
}

// Recorder keeps the entries that it is given. The zero value is ready, and it is safe for concurrent use.
type Recorder struct {
	mu      sync.Mutex
	entries []audit.Entry
}

// Record keeps an entry and never fails.
func (r *Recorder) Record(_ context.Context, e audit.Entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = append(r.entries, e)
	return nil
}

// Entries returns a copy of the recorded entries, the oldest first; it is never nil.
func (r *Recorder) Entries() []audit.Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]audit.Entry{}, r.entries...)
}

// Unit is a unit of work whose commits run the registered hooks.
type Unit struct{}

// Do returns the error of fn or of a hook before the commit; hooks after the commit run only without an error.
func (Unit) Do(ctx context.Context, fn func(context.Context) error) error {
	ctx, hooks := tx.WithHooks(ctx)
	if err := fn(ctx); err != nil {
		return err
	}
	if err := hooks.Finish(ctx); err != nil {
		return err
	}
	hooks.Run()
	return nil
}

// IDs gives every object the same id.
type IDs struct{}

// New returns the prefix and 1.
func (IDs) New(p ids.Prefix) string { return string(p) + "1" }

// Log stores the lines written to it. The zero value is ready, and it is safe for concurrent use.
type Log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write keeps p and never fails.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String returns everything that was written.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
