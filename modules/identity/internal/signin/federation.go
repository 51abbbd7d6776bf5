package signin

import (
	"context"
	"fmt"
	"maps"

	"github.com/writ-automation/writ/modules/identity/internal/account"
	"github.com/writ-automation/writ/modules/identity/internal/check"
	"github.com/writ-automation/writ/modules/identity/internal/trail"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
)

// admissions bounds how often one that raced against another is tried.
const admissions = 3

// RoleRule says which role somebody has whom a provider vouches for.
type RoleRule struct {
	// Groups maps the provider's groups to roles; of several the highest counts.
	Groups map[string]identity.Role
	// Default is the role of who is in none of these groups. Empty refuses them.
	Default identity.Role
}

// role returns the role that the groups give; ok is false where they give none.
func (r RoleRule) role(groups []string) (role identity.Role, ok bool) {
	for _, g := range groups {
		if mapped := r.Groups[g]; mapped.Rank() > role.Rank() {
			role = mapped
		}
	}
	if role == "" {
		role = r.Default
	}
	return role, role.Valid()
}

// Federation signs in whom a provider vouches for.
type Federation struct {
	Kernel
	accounts identity.AccountStore
	callers  identity.CallerStore
	tokens   identity.TokenStore
	rules    map[identity.Protocol]RoleRule
	readOnly bool
}

var _ identity.Federation = (*Federation)(nil)

// NewFederation makes a Federation. One that is readOnly makes no accounts and changes no roles.
func NewFederation(k Kernel, a identity.AccountStore, c identity.CallerStore, t identity.TokenStore,
	rules map[identity.Protocol]RoleRule, readOnly bool) *Federation {
	return &Federation{Kernel: k, accounts: a, callers: c, tokens: t, rules: rules, readOnly: readOnly}
}

// The role of an account follows its groups at every sign-in where the rule maps groups, and stays as it is where it
// maps none. Of two first sign-ins of one person at once, one makes the account and the other finds it.
func (f *Federation) Admit(ctx context.Context, e identity.External) (identity.Session, error) {
	if !account.FitsLink(e.Link) {
		return identity.Session{}, f.refuse(ctx, e, identity.BadSignIn.New("the provider does not say who it vouches for"))
	}
	made, err := f.admit(ctx, e)
	for n := 1; n < admissions && (identity.NameTaken.Is(err) || identity.LinkTaken.Is(err)); n++ {
		_, lost := f.callers.UserByLink(ctx, e.Link)
		if fault.Is(lost, fault.NotFound) {
			break // nobody was quicker: the name is another account's
		}
		made, err = f.admit(ctx, e)
	}
	if err != nil {
		return identity.Session{}, f.refuse(ctx, e, err)
	}
	if made.refused != nil { // recorded with what it changed
		f.tellRefusal(ctx, e, made.refused)
		return identity.Session{}, made.refused
	}
	f.Log.InfoContext(ctx, "signed in", "account", made.user.ID, "token_id", made.session.Token.ID, "provider", e.Link.Protocol,
		"address", actor.From(ctx).IP)
	return made.session, nil
}

// refuse logs and records that somebody without an account was not let in, and nothing that the provider tells of
// them. What nobody judged is no refusal and only logged. Unrecorded where there can be no entry.
func (f *Federation) refuse(ctx context.Context, e identity.External, err error) error {
	f.tellRefusal(ctx, e, err)
	switch fault.KindOf(err) {
	case fault.Unauthenticated, fault.Forbidden, fault.Conflict:
	default:
		return err
	}
	if lost := audit.Deny(ctx, f.Unit, f.Recorder, audit.Entry{Action: audit.AuthLogin, Detail: method(e, err)}); lost != nil {
		return lost
	}
	return err
}

func (f *Federation) tellRefusal(ctx context.Context, e identity.External, err error) {
	f.Log.WarnContext(ctx, refused, "provider", e.Link.Protocol, "issuer", e.Link.Issuer, "reason", trail.Reason(err),
		"address", actor.From(ctx).IP)
}

// method tells how somebody signed in, and why they were refused.
func method(e identity.External, refused error) map[string]any {
	detail := map[string]any{"method": "unknown"}
	if e.Link.Protocol.Valid() {
		detail["method"] = string(e.Link.Protocol)
	}
	if refused != nil {
		detail["reason"] = trail.Reason(refused)
	}
	return detail
}

// outcome is what became of a sign-in in its unit. What is refused is committed all the same.
type outcome struct {
	user    identity.User
	session identity.Session
	refused error
	detail  map[string]any // what the entry of the sign-in tells beside the way
	tell    func()         // what is to be logged once it is committed; nil for nothing
}

// admit makes a session, or refuses one, with the one entry that tells of it and of what it changed in the account.
func (f *Federation) admit(ctx context.Context, e identity.External) (outcome, error) {
	var o outcome
	err := f.Unit.Do(ctx, func(ctx context.Context) error {
		o = outcome{}
		admins, err := f.accounts.LockAdmins(ctx)
		if err != nil {
			return err
		}
		u, err := f.callers.UserByLink(ctx, e.Link)
		switch {
		case fault.Is(err, fault.NotFound):
			o, err = f.createAccount(ctx, e)
		case err == nil:
			o, err = f.applyRole(ctx, e, u, admins)
		}
		if err != nil {
			return err
		}
		detail := method(e, o.refused)
		maps.Copy(detail, o.detail)
		if o.refused != nil {
			return f.Recorder.Record(ctx, audit.Entry{
				Action: audit.AuthLogin, Object: trail.User(u), Outcome: audit.Denied, Detail: detail,
			})
		}
		o.session, err = session(ctx, f.Kernel, f.tokens, o.user, detail)
		return err
	})
	if err != nil {
		return outcome{}, err
	}
	if o.tell != nil {
		o.tell()
	}
	return o, nil
}

// createAccount makes the account of somebody who signs in for the first time.
func (f *Federation) createAccount(ctx context.Context, e identity.External) (outcome, error) {
	role, ok := f.rules[e.Link.Protocol].role(e.Groups)
	if !ok {
		return outcome{}, noRole()
	}
	if f.readOnly {
		return outcome{}, identity.NotAllowed.New("this server is read-only and makes no accounts")
	}
	name := account.Reduce(e.Username)
	if name == "" {
		return outcome{}, identity.BadSignIn.New("the provider gives no user name that can be used")
	}
	now := f.Issuer.Clock.Now()
	a := identity.Account{
		User:       identity.User{ID: f.Issuer.IDs.New(ids.User), Username: name, Role: role, CreatedAt: now},
		Identities: []identity.Link{e.Link}, UpdatedAt: now, Revision: 1,
	}
	if account.FitsLine(e.FullName) {
		a.Profile.FullName = e.FullName
	}
	if account.FitsLine(e.Email) {
		a.Profile.Email = e.Email
	}
	if err := f.accounts.InsertAccount(ctx, a, ""); err != nil {
		return outcome{}, check.Naming(err, identity.NameTaken, "username", "another account has the user name")
	}
	detail := map[string]any{"account_created": true, "role": string(role)}
	return outcome{user: a.User, detail: detail, tell: func() {
		f.Log.InfoContext(ctx, "account created", "account", a.ID, "role", role, "by", e.Link.Protocol)
	}}, nil
}

// applyRole gives an account the role that its groups give, but never takes the last admin's: that one signs in,
// whatever the groups say. An account that is to have no role keeps its record as it is, for an admin to look at, and
// its tokens for programs; its sessions end.
func (f *Federation) applyRole(ctx context.Context, e identity.External, u identity.User, admins []string) (outcome, error) {
	rule := f.rules[e.Link.Protocol]
	role, ok := rule.role(e.Groups)
	warn := func(text string) func() {
		return func() { f.Log.WarnContext(ctx, text, "account", u.ID, "provider", e.Link.Protocol) }
	}
	switch {
	case len(rule.Groups) == 0 || ok && role == u.Role:
		return outcome{user: u}, nil
	case len(admins) == 1 && admins[0] == u.ID:
		return outcome{user: u, tell: warn("the only admin keeps the role, whatever the provider's groups say")}, nil
	case !ok:
		ended, err := f.tokens.DeleteSessions(ctx, u.ID, "")
		if err != nil {
			return outcome{}, fmt.Errorf("end the sessions of who has no role any more: %w", err)
		}
		return outcome{refused: noRole(), detail: map[string]any{"sessions_ended": ended}, tell: warn("the provider's groups give no role any more: the account's sessions are ended")}, nil
	case f.readOnly:
		return outcome{user: u, tell: warn("this server is read-only: the role stays, whatever the provider's groups say")}, nil
	}
	return f.change(ctx, e, u, role)
}

// change gives an account another role, which ends its sessions.
func (f *Federation) change(ctx context.Context, e identity.External, u identity.User, role identity.Role) (outcome, error) {
	a, err := f.accounts.AccountByID(ctx, u.ID)
	if err != nil {
		return outcome{}, fmt.Errorf("read the account: %w", err)
	}
	a.Role, a.UpdatedAt, a.Revision = role, f.Issuer.Clock.Now(), a.Revision+1
	if err := f.accounts.UpdateAccount(ctx, a); err != nil {
		return outcome{}, fmt.Errorf("change the role: %w", err)
	}
	ended, err := f.tokens.DeleteSessions(ctx, u.ID, "")
	if err != nil {
		return outcome{}, fmt.Errorf("end the sessions of the former role: %w", err)
	}
	detail := map[string]any{"role": string(role), "former_role": string(u.Role), "sessions_ended": ended}
	return outcome{user: a.User, detail: detail, tell: func() {
		f.Log.InfoContext(ctx, "account changed", "account", a.ID, "revision", a.Revision, "role", role, "new_role", true,
			"new_password", false, "by", e.Link.Protocol)
	}}, nil
}

func noRole() error { return identity.NoRole.New("the provider's groups give no role here") }
