package signin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/writ-automation/writ/modules/identity/internal/account"
	"github.com/writ-automation/writ/modules/identity/internal/caller"
	"github.com/writ-automation/writ/modules/identity/internal/throttle"
	"github.com/writ-automation/writ/modules/identity/internal/token"
	"github.com/writ-automation/writ/modules/identity/internal/trail"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/tx"
)

// sessionName is the name of the token of a session.
const sessionName = "session"

// byPassword is the method of a sign-in by password, as its entry tells. Others have the name of their protocol.
const byPassword = "password"

// refused is the one line that tells of a sign-in that came to nothing.
const refused = "sign-in refused"

// Kernel is what the package needs of the process.
type Kernel struct {
	Unit   tx.Unit
	Issuer token.Issuer
	TTL    time.Duration // how long a session lasts
	Log    *slog.Logger
	// Recorder records who signed in and out together with it, and who tried to.
	Recorder audit.Recorder
}

// SignIn signs in by password.
type SignIn struct {
	Kernel
	accounts identity.AccountStore
	callers  identity.CallerStore
	tokens   identity.TokenStore
	hasher   identity.Hasher
	throttle *throttle.Throttle
}

var _ identity.SignIn = (*SignIn)(nil)

// New makes a SignIn.
func New(k Kernel, a identity.AccountStore, c identity.CallerStore, t identity.TokenStore, h identity.Hasher, th *throttle.Throttle) *SignIn {
	return &SignIn{Kernel: k, accounts: a, callers: c, tokens: t, hasher: h, throttle: th}
}

// badLogin is the same whatever was wrong.
func badLogin() error { return identity.BadLogin.New("the user name or the password is wrong") }

// errChanged says that an account's password is another one than that which was judged.
var errChanged = errors.New("the password was changed meanwhile")

func (s *SignIn) Login(ctx context.Context, username string, p identity.Password) (identity.Session, error) {
	if !account.Name(username) {
		username = "" // nobody's, and looked up like any other
	}
	var made identity.Session
	denied := func(u identity.User) audit.Entry {
		return audit.Entry{Action: audit.AuthLogin, Object: trail.User(u), Detail: map[string]any{"method": byPassword}}
	}
	err := s.attempt(ctx, username, p, denied, func(v verification) (err error) {
		made, err = s.open(ctx, v, p)
		return err
	})
	if err != nil {
		return identity.Session{}, err
	}
	s.Log.InfoContext(ctx, "signed in", "account", made.User.ID, "token_id", made.Token.ID, "address", actor.From(ctx).IP)
	return made, nil
}

// verification is an account whose password was proved, with the hash that it was proved by.
type verification struct {
	user     identity.User
	hash     string
	outdated bool
}

// attempt judges a password within the bounds of the throttle, and then calls accepted. What ends without a judgement
// is no failure, but for a caller that goes away: else going away in time would make guessing free. Of a failure,
// denied makes the entry, for whoever has the name.
func (s *SignIn) attempt(
	ctx context.Context, username string, p identity.Password, denied func(identity.User) audit.Entry, accepted func(verification) error,
) error {
	address := actor.From(ctx).IP
	try, first, err := s.throttle.Begin(username, address)
	if err != nil {
		if first {
			s.Log.WarnContext(ctx, refused, "reason", identity.TooManyAttempts.Name, "address", address)
		}
		return err
	}
	v, ok, err := s.verifyPassword(ctx, username, p)
	if err == nil && !ok {
		return s.fail(ctx, v.user, denied)
	}
	if err == nil {
		err = accepted(v)
	}
	switch {
	case err == nil:
		try.Succeed()
		return nil
	case errors.Is(err, errChanged):
		return s.fail(ctx, v.user, denied)
	case ctx.Err() == nil:
		try.TakeBack()
	}
	return err
}

// fail records a failure and answers it. Whether there is such an account makes no difference to what is done: there
// is one entry either way. Unrecorded where there can be none; the failure counts all the same.
func (s *SignIn) fail(ctx context.Context, u identity.User, denied func(identity.User) audit.Entry) error {
	s.Log.WarnContext(ctx, refused, "reason", identity.BadLogin.Name, "account", u.ID, "address", actor.From(ctx).IP)
	err := badLogin()
	e := denied(u)
	e.Detail["reason"] = trail.Reason(err)
	if lost := audit.Deny(ctx, s.Unit, s.Recorder, e); lost != nil {
		return lost
	}
	return err
}

// verifyPassword reports whether the password is the account's. Whether there is such an account, and whether it has a
// password, makes no difference to what is done.
func (s *SignIn) verifyPassword(ctx context.Context, username string, p identity.Password) (v verification, ok bool, err error) {
	v.user, v.hash, err = s.callers.UserByName(ctx, username)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return v, false, fmt.Errorf("find the account: %w", err)
	}
	if err != nil {
		v = verification{}
	}
	hash := v.hash
	if account.CheckPassword("password", p) != nil {
		p, hash = "", "" // nobody's, and judged like any other
	}
	ok, v.outdated, err = s.hasher.Verify(ctx, p, hash)
	return v, ok && hash != "", err
}

// open makes a session, and the hash anew where it is outdated.
func (s *SignIn) open(ctx context.Context, v verification, p identity.Password) (identity.Session, error) {
	var fresh string
	if v.outdated {
		var err error
		if fresh, err = s.hasher.Hash(ctx, p); err != nil {
			s.Log.WarnContext(ctx, "an outdated hash of a password stays", "account", v.user.ID, "err", err)
		}
	}
	var made identity.Session
	err := s.Unit.Do(ctx, func(ctx context.Context) error {
		u, err := s.unchanged(ctx, v)
		if err != nil {
			return err
		}
		if fresh != "" {
			if err := s.accounts.SetPassword(ctx, u.ID, fresh, s.Issuer.Clock.Now(), true); err != nil {
				return err
			}
		}
		made, err = session(ctx, s.Kernel, s.tokens, u, map[string]any{"method": byPassword})
		return err
	})
	return made, err
}

// unchanged reads an account anew and keeps it from changing. errChanged where what was judged no longer holds.
func (s *SignIn) unchanged(ctx context.Context, v verification) (identity.User, error) {
	if _, err := s.accounts.LockAdmins(ctx); err != nil {
		return identity.User{}, err
	}
	u, hash, err := s.callers.UserByName(ctx, v.user.Username)
	if fault.Is(err, fault.NotFound) || err == nil && (u.ID != v.user.ID || hash != v.hash) {
		return identity.User{}, errChanged
	}
	return u, err
}

// session stores a new session of an account in the open unit, and records that the account signed in.
func session(ctx context.Context, k Kernel, s identity.TokenStore, u identity.User, detail map[string]any) (identity.Session, error) {
	t, secret := k.Issuer.Issue(identity.SessionToken, sessionName, u.ID, u.ID, k.TTL)
	if err := s.InsertToken(ctx, t, token.Hash(secret)); err != nil {
		return identity.Session{}, err
	}
	detail["token_id"] = t.ID
	if !t.ExpiresAt.IsZero() {
		detail["expires_at"] = trail.Instant(t.ExpiresAt)
	}
	err := k.Recorder.Record(ctx, audit.Entry{Action: audit.AuthLogin, Object: trail.User(u), By: trail.Self(ctx, u), Detail: detail})
	if err != nil {
		return identity.Session{}, err
	}
	return identity.Session{Token: t, Secret: secret, User: u}, nil
}

func (s *SignIn) Check(ctx context.Context, bearer string) (identity.Token, identity.User, error) {
	b, err := caller.Resolve(ctx, s.callers, bearer, s.Issuer.Clock.Now())
	if err != nil {
		return identity.Token{}, identity.User{}, err
	}
	return b.Token, b.User, nil
}

// Logout ends whatever token the caller came with, also one that a program uses; one that is gone already is no error.
// NotAllowed where ctx has no caller.
func (s *SignIn) Logout(ctx context.Context) error {
	p, known := identity.From(ctx)
	switch {
	case !known:
		return identity.NotAllowed.New("only an account may log out")
	case p.Open || p.TokenID == "":
		return nil
	}
	err := s.Unit.Do(ctx, func(ctx context.Context) error {
		err := s.tokens.DeleteToken(ctx, p.TokenID)
		gone := identity.TokenNotFound.Is(err)
		if err != nil && !gone {
			return err
		}
		return s.Recorder.Record(ctx, audit.Entry{
			Action: audit.AuthLogout, Object: trail.User(p.User), Detail: map[string]any{"token_id": p.TokenID, "ended": !gone},
		})
	})
	if err == nil {
		s.Log.InfoContext(ctx, "signed out", "account", p.User.ID, "token_id", p.TokenID)
	}
	return err
}
