package signin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/writ-automation/writ/modules/identity/internal/kernel"

	"github.com/writ-automation/writ/modules/identity/internal/account"
	"github.com/writ-automation/writ/modules/identity/internal/token"
	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

const (
	sessionName = "session" // of tokens
	// byPassword is the method of a sign-in by password in its entry. Other methods have the name of their protocol.
	byPassword = "password"
	refused    = "sign-in refused" // the log message
)

// Sessions is what both ways of signing in use.
type Sessions struct {
	kernel.Kernel
	Accounts identity.AccountStore
	Callers  identity.CallerStore
	Tokens   identity.TokenStore
	Uses     identity.UseStore
	TTL      time.Duration // of a session
}

// SignIn signs in by password, and limits how often sign-ins at a provider begin.
type SignIn struct {
	Sessions
	hasher   identity.Hasher
	recent   token.Recent
	throttle *throttle
}

var (
	_ identity.SignIn        = (*SignIn)(nil)
	_ identity.SignInLimiter = (*SignIn)(nil)
)

// New makes a SignIn.
func New(s Sessions, h identity.Hasher) *SignIn {
	recent := token.Recent{Tokens: s.Tokens, Accounts: s.Accounts, Clock: s.Clock}
	return &SignIn{Sessions: s, hasher: h, recent: recent, throttle: newThrottle(s.Clock)}
}

// Begin counts sign-ins at a provider separately from failed passwords, so that users behind one address can still sign
// in by password.
func (s *SignIn) Begin(ctx context.Context) error {
	address := actor.From(ctx).IP
	first, err := s.throttle.count(address)
	if first {
		s.Log.WarnContext(ctx, refused, "reason", identity.TooManyAttempts.Name, "address", address)
	}
	return err
}

// badLogin is the same for every cause.
func badLogin() error { return identity.BadLogin.New("the user name or the password is wrong") }

// errChanged reports that an account has another password than the verified one.
var errChanged = errors.New("the password was changed meanwhile")

func (s *SignIn) Login(ctx context.Context, username string, p identity.Password) (identity.Session, error) {
	if !account.Name(username) {
		username = "" // no account has it; the lookup takes the same time
	}
	var made identity.Session
	denied := func(u identity.User) audit.Entry {
		return audit.Entry{Action: audit.AuthLogin, Object: kernel.User(u), Detail: map[string]any{"method": byPassword}}
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

// verification is an account with the hash that its password was verified with.
type verification struct {
	user     identity.User
	hash     string
	outdated bool
}

// attempt verifies a password within the limits of the throttle, and then calls accepted. An attempt that ends without
// a result is no failure unless the caller canceled it, because canceling in time would make guessing free. denied
// makes the entry of a failure for the account with the name.
func (s *SignIn) attempt(
	ctx context.Context, username string, p identity.Password, denied func(identity.User) audit.Entry,
	accepted func(verification) error,
) error {
	address := actor.From(ctx).IP
	try, first, err := s.throttle.begin(username, address)
	if err != nil {
		if first {
			s.Log.WarnContext(ctx, refused, "reason", identity.TooManyAttempts.Name, "user", username, "address", address)
		}
		return err
	}
	if try.delay != 0 && !background.Wait(ctx, try.delay) {
		return ctx.Err()
	}
	v, ok, err := s.verifyPassword(ctx, username, p)
	if err == nil && !ok {
		return s.fail(ctx, username, v.user, denied)
	}
	if err == nil {
		err = accepted(v)
	}
	switch {
	case err == nil:
		try.succeed()
		return nil
	case errors.Is(err, errChanged):
		return s.fail(ctx, username, v.user, denied)
	case ctx.Err() == nil:
		try.takeBack()
	}
	return err
}

// fail records a failure and returns BadLogin. It does the same work and makes one entry whether or not the account
// exists. If the entry cannot be stored it returns that error; the failure counts nevertheless.
func (s *SignIn) fail(
	ctx context.Context, username string, u identity.User, denied func(identity.User) audit.Entry,
) error {
	s.Log.WarnContext(ctx, refused, "reason", identity.BadLogin.Name, "user", username, "account", u.ID, "address",
		actor.From(ctx).IP)
	e := denied(u)
	e.Detail["reason"] = identity.BadLogin.Name
	return audit.Refuse(ctx, s.Unit, s.Recorder, e, badLogin())
}

// verifyPassword reports whether the password is the account's. It does the same work for an unknown account and for an
// account without a password.
func (s *SignIn) verifyPassword(
	ctx context.Context, username string, p identity.Password,
) (v verification, ok bool, err error) {
	v.user, v.hash, err = s.Callers.UserByName(ctx, username)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return v, false, fmt.Errorf("find the account: %w", err)
	}
	if err != nil {
		v = verification{}
	}
	hash := v.hash
	if account.CheckPassword("password", p) != nil {
		p, hash = "", "" // matches no account; verifying takes the same time
	}
	ok, v.outdated, err = s.hasher.Verify(ctx, p, hash)
	return v, ok && hash != "", err
}

// open makes a session, and replaces an outdated hash.
func (s *SignIn) open(ctx context.Context, v verification, p identity.Password) (identity.Session, error) {
	var fresh string
	if v.outdated {
		var err error
		if fresh, err = s.hasher.Hash(ctx, p); err != nil {
			s.Log.WarnContext(ctx, "replacing an outdated password hash failed", "account", v.user.ID, "err", err)
		}
	}
	var made identity.Session
	err := s.Unit.Do(ctx, func(ctx context.Context) error {
		u, err := s.unchanged(ctx, v)
		if err != nil {
			return err
		}
		if fresh != "" {
			if err := s.Accounts.SetPassword(ctx, u.ID, fresh, s.Clock.Now(), true); err != nil {
				return err
			}
		}
		made, err = s.newSession(ctx, u, map[string]any{"method": byPassword})
		return err
	})
	return made, err
}

// unchanged locks and reads an account again. It returns errChanged if the verified password is not the stored one.
func (s *SignIn) unchanged(ctx context.Context, v verification) (identity.User, error) {
	if _, err := s.Accounts.LockAdmins(ctx); err != nil {
		return identity.User{}, err
	}
	u, hash, err := s.Callers.UserByName(ctx, v.user.Username)
	if fault.Is(err, fault.NotFound) || err == nil && (u.ID != v.user.ID || hash != v.hash) {
		return identity.User{}, errChanged
	}
	return u, err
}

// newSession stores a session of an account in the unit of ctx, and records the sign-in.
func (s *Sessions) newSession(
	ctx context.Context, u identity.User, detail map[string]any,
) (identity.Session, error) {
	t, secret := token.Issue(s.Kernel, identity.SessionToken, sessionName, u.ID, u.ID, s.TTL)
	if err := s.Tokens.InsertToken(ctx, t, token.Hash(secret)); err != nil {
		return identity.Session{}, err
	}
	detail["token_id"] = t.ID
	token.AddExpiry(detail, t)
	by := &actor.Actor{Type: actor.User, ID: u.ID, Name: u.Username, IP: actor.From(ctx).IP}
	err := s.Recorder.Record(ctx, audit.Entry{Action: audit.AuthLogin, Object: kernel.User(u), By: by, Detail: detail})
	if err != nil {
		return identity.Session{}, err
	}
	return identity.Session{Token: t, Secret: secret, User: u}, nil
}

func (s *SignIn) Check(ctx context.Context, bearer string) (identity.Token, identity.User, error) {
	b, err := token.Resolve(ctx, s.Callers, bearer, s.Clock.Now())
	if err != nil {
		return identity.Token{}, identity.User{}, err
	}
	return b.Token, b.User, nil
}

// Logout revokes the caller's token, whether it is of a session or of a program. A token that is already deleted is no
// error. Without a caller in ctx it returns NotAllowed.
func (s *SignIn) Logout(ctx context.Context) error {
	p, known := identity.From(ctx)
	switch {
	case !known:
		return identity.NotAllowed.New("only an account may log out")
	case p.Open || p.TokenID == "":
		return nil
	}
	err := s.Unit.Do(ctx, func(ctx context.Context) error {
		others, err := s.Tokens.DeleteToken(ctx, p.TokenID)
		gone := identity.TokenNotFound.Is(err)
		if err != nil && !gone {
			return err
		}
		detail := map[string]any{"token_id": p.TokenID, "ended": !gone}
		if others > 0 {
			detail["tokens_ended"] = others
		}
		return s.Recorder.Record(ctx, audit.Entry{Action: audit.AuthLogout, Object: kernel.User(p.User), Detail: detail})
	})
	if err == nil {
		s.Log.InfoContext(ctx, "signed out", "account", p.User.ID, "token_id", p.TokenID)
	}
	return err
}
