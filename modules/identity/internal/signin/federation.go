package signin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/writ-automation/writ/modules/identity/internal/kernel"

	"github.com/writ-automation/writ/modules/identity/internal/account"
	"github.com/writ-automation/writ/modules/identity/internal/token"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
)

// admissions limits how often a sign-in is tried that raced with another one.
const admissions = 3

// RoleRule gives the users of a provider their role: the highest role of their Groups, else Default.
type RoleRule struct {
	// Groups maps the provider's groups to roles.
	Groups map[string]identity.Role
	// Default is the role of users in none of these groups. If it is empty they are refused.
	Default identity.Role
}

// role returns the role for groups; ok is false if there is none.
func (r RoleRule) role(groups []string) (role identity.Role, ok bool) {
	for _, g := range groups {
		if mapped := r.Groups[g]; mapped.Rank() > role.Rank() {
			role = mapped
		}
	}
	role = cmp.Or(role, r.Default)
	return role, role.Valid()
}

// Federation signs in the users of providers.
type Federation struct {
	Sessions
	rules    map[identity.Protocol]RoleRule
	readOnly bool
}

var _ identity.Federation = (*Federation)(nil)

// NewFederation makes a Federation. With readOnly it makes no accounts and changes no roles.
func NewFederation(s Sessions, rules map[identity.Protocol]RoleRule, readOnly bool) *Federation {
	return &Federation{Sessions: s, rules: rules, readOnly: readOnly}
}

// Admit sets the role of the account from its groups at every sign-in if the rule maps groups. If two first sign-ins of
// one user race, one of them makes the account and the other finds it.
func (f *Federation) Admit(ctx context.Context, e identity.External) (identity.Session, error) {
	if !account.FitsLink(e.Link) {
		return identity.Session{}, f.refuse(ctx, e, identity.BadSignIn.New("the provider does not name the user"))
	}
	made, err := f.admit(ctx, e)
	for n := 1; n < admissions && (identity.NameTaken.Is(err) || identity.LinkTaken.Is(err)); n++ {
		_, lost := f.Callers.UserByLink(ctx, e.Link)
		if fault.Is(lost, fault.NotFound) {
			break // no race: another account has the name
		}
		made, err = f.admit(ctx, e)
	}
	if err != nil {
		return identity.Session{}, f.refuse(ctx, e, err)
	}
	if made.refused != nil { // recorded with what it changed
		f.logRefusal(ctx, e, made.refused)
		return identity.Session{}, made.refused
	}
	f.Log.InfoContext(ctx, "signed in", "account", made.user.ID, "token_id", made.session.Token.ID, "provider",
		e.Link.Protocol, "address", actor.From(ctx).IP)
	return made.session, nil
}

// refuse logs and records that a user without an account was refused, without the provider's data about the user. Other
// errors are only logged. If the entry cannot be stored it returns that error.
func (f *Federation) refuse(ctx context.Context, e identity.External, err error) error {
	f.logRefusal(ctx, e, err)
	switch fault.KindOf(err) {
	case fault.Unauthenticated, fault.Forbidden, fault.Conflict:
	default:
		return err
	}
	return audit.Refuse(ctx, f.Unit, f.Recorder, audit.Entry{Action: audit.AuthLogin, Detail: method(e, err)}, err)
}

func (f *Federation) logRefusal(ctx context.Context, e identity.External, err error) {
	f.Log.WarnContext(ctx, refused, "provider", e.Link.Protocol, "issuer", e.Link.Issuer, "reason", reason(err),
		"address", actor.From(ctx).IP)
}

// method is the detail with the method of a sign-in, and the reason if it was refused.
func method(e identity.External, refused error) map[string]any {
	detail := map[string]any{"method": "unknown"}
	if e.Link.Protocol.Valid() {
		detail["method"] = string(e.Link.Protocol)
	}
	if refused != nil {
		detail["reason"] = reason(refused)
	}
	return detail
}

// outcome is the result of a sign-in in its unit. A refusal is committed too.
type outcome struct {
	user    identity.User
	session identity.Session
	refused error
	detail  map[string]any // more of the detail of the entry
	log     func()         // is called after the commit; may be nil
}

// admit makes or refuses a session, and records it with the changes of the account in one entry.
func (f *Federation) admit(ctx context.Context, e identity.External) (outcome, error) {
	var o outcome
	err := f.Unit.Do(ctx, func(ctx context.Context) error {
		o = outcome{}
		admins, err := f.Accounts.LockAdmins(ctx)
		if err != nil {
			return err
		}
		u, err := f.Callers.UserByLink(ctx, e.Link)
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
				Action: audit.AuthLogin, Object: kernel.User(u), Outcome: audit.Denied, Detail: detail,
			})
		}
		if err := f.Uses.ConfirmAccount(ctx, o.user.ID, f.Clock.Now()); err != nil {
			return fmt.Errorf("record that the provider confirmed the account: %w", err)
		}
		o.session, err = f.newSession(ctx, o.user, detail)
		return err
	})
	if err != nil {
		return outcome{}, err
	}
	if o.log != nil {
		o.log()
	}
	return o, nil
}

// createAccount makes the account of a user who signs in for the first time.
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
		return outcome{}, identity.BadSignIn.New("the provider sends no usable user name")
	}
	now := f.Clock.Now()
	a := identity.Account{
		User:       identity.User{ID: f.IDs.New(ids.User), Username: name, Role: role, CreatedAt: now},
		Identities: []identity.Link{e.Link}, UpdatedAt: now, Revision: 1,
	}
	if account.FitsLine(e.FullName) {
		a.Profile.FullName = e.FullName
	}
	if account.FitsLine(e.Email) {
		a.Profile.Email = e.Email
	}
	if err := f.Accounts.InsertAccount(ctx, a, ""); err != nil {
		return outcome{}, kernel.Naming(err, identity.NameTaken, "username", "another account has the user name")
	}
	detail := map[string]any{"account_created": true, "role": string(role)}
	return outcome{user: a.User, detail: detail, log: func() {
		f.Log.InfoContext(ctx, "account created", "account", a.ID, "role", role, "by", e.Link.Protocol)
	}}, nil
}

// applyRole gives an account the role of its groups. The only admin keeps the role and signs in with any groups. If the
// groups give no role, the account's sessions and the tokens that it made for itself end; its record and the tokens
// that an admin made for it are an admin's to delete.
func (f *Federation) applyRole(
	ctx context.Context, e identity.External, u identity.User, admins []string,
) (outcome, error) {
	rule := f.rules[e.Link.Protocol]
	role, ok := rule.role(e.Groups)
	warn := func(text string) func() {
		return func() { f.Log.WarnContext(ctx, text, "account", u.ID, "provider", e.Link.Protocol) }
	}
	switch {
	case len(rule.Groups) == 0 || ok && role == u.Role:
		return outcome{user: u}, nil
	case len(admins) == 1 && admins[0] == u.ID:
		return outcome{user: u, log: warn("the only admin keeps the role; the provider's groups give another")}, nil
	case !ok:
		detail := map[string]any{}
		if err := f.endTokens(ctx, u.ID, identity.OwnTokens, detail); err != nil {
			return outcome{}, err
		}
		return outcome{refused: noRole(), detail: detail,
			log: warn("the provider's groups give no role any more; the account's sessions and own tokens were ended")}, nil
	case f.readOnly:
		return outcome{user: u, log: warn("this server is read-only; the provider's groups give another role")}, nil
	}
	return f.change(ctx, e, u, role)
}

// endTokens ends tokens of an account and adds their number to the detail of an entry.
func (f *Federation) endTokens(
	ctx context.Context, userID string, s identity.TokenSet, detail map[string]any,
) error {
	ended, err := f.Tokens.DeleteTokens(ctx, userID, s, "")
	if err != nil {
		return fmt.Errorf("end the tokens of the former role: %w", err)
	}
	token.AddEnded(detail, ended)
	return nil
}

// change gives an account another role and ends its sessions, and with a lower role all of its tokens.
func (f *Federation) change(
	ctx context.Context, e identity.External, u identity.User, role identity.Role,
) (outcome, error) {
	a, err := f.Accounts.AccountByID(ctx, u.ID)
	if err != nil {
		return outcome{}, fmt.Errorf("read the account: %w", err)
	}
	a.Role, a.UpdatedAt, a.Revision = role, f.Clock.Now(), a.Revision+1
	if err := f.Accounts.UpdateAccount(ctx, a); err != nil {
		return outcome{}, fmt.Errorf("change the role: %w", err)
	}
	set := identity.Sessions
	if role.Rank() < u.Role.Rank() {
		set = identity.AllTokens
	}
	detail := map[string]any{"role": string(role), "former_role": string(u.Role)}
	if err := f.endTokens(ctx, u.ID, set, detail); err != nil {
		return outcome{}, err
	}
	return outcome{user: a.User, detail: detail, log: func() {
		f.Log.InfoContext(ctx, "account changed", "account", a.ID, "revision", a.Revision, "role", role, "new_role", true,
			"new_password", false, "by", e.Link.Protocol)
	}}, nil
}

// reason is the code of a refusal in logs and entries.
func reason(err error) string {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Reason()
	}
	return fault.Internal.String()
}

func noRole() error { return identity.NoRole.New("the provider's groups give no role") }
