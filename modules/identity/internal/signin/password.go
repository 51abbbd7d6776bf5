package signin

import (
	"context"
	"errors"

	"github.com/writ-automation/writ/modules/identity/internal/kernel"

	"github.com/writ-automation/writ/modules/identity/internal/account"
	"github.com/writ-automation/writ/modules/identity/internal/token"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

// ChangePassword returns an Invalid fault for the field new, and NotAllowed if ctx has no caller with an account. The
// caller's token is enough for the first password if it rests on a recent sign-in: such an account has no other proof.
func (s *SignIn) ChangePassword(ctx context.Context, current, next identity.Password) error {
	p, known := identity.From(ctx)
	if !known || p.User.ID == "" {
		return identity.NotAllowed.New("only an account may change its password")
	}
	if err := account.CheckPassword("new", next); err != nil {
		return err
	}
	if current == "" {
		u, hash, err := s.Callers.UserByName(ctx, p.User.Username)
		if err == nil && u.ID == p.User.ID && hash == "" {
			return s.first(ctx, u, next)
		}
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	return s.own(ctx, p.User, audit.UserPassword, current, func(v verification) error {
		return s.replace(ctx, v, next, func(context.Context) error { return nil })
	})
}

// own verifies the caller's password for an action, and then calls accepted.
func (s *SignIn) own(
	ctx context.Context, u identity.User, action audit.Action, p identity.Password, accepted func(verification) error,
) error {
	denied := func(identity.User) audit.Entry { // for the caller, even if another account now has the name
		return audit.Entry{Action: action, Object: kernel.User(u), Detail: map[string]any{}}
	}
	return s.attempt(ctx, u.Username, p, denied, func(v verification) error {
		if v.user.ID != u.ID {
			return errChanged // another account now has the name
		}
		return accepted(v)
	})
}

// Prove verifies the password of the caller of ctx, who wants a token, and then calls accepted. In the unit that this
// opens, unchanged locks the account and returns an error if the password has changed meanwhile. Errors: those of
// Login.
func (s *SignIn) Prove(
	ctx context.Context, p identity.Password, accepted func(unchanged func(context.Context) error) error,
) error {
	caller, _ := identity.From(ctx)
	return s.own(ctx, caller.User, audit.TokenCreate, p, func(v verification) error {
		return accepted(func(ctx context.Context) error {
			_, err := s.unchanged(ctx, v)
			return err
		})
	})
}

// first sets the password of an account that has none. The throttle does not count it, because it is no guess.
func (s *SignIn) first(ctx context.Context, u identity.User, next identity.Password) error {
	unlinked := func(ctx context.Context) error {
		a, err := s.Accounts.AccountByID(ctx, u.ID)
		switch {
		case fault.Is(err, fault.NotFound):
			return errChanged
		case err == nil && len(a.Identities) > 0:
			return identity.NotAllowed.New("an admin sets the first password of an account that signs in at a provider")
		}
		return err
	}
	err := unlinked(ctx) // so that a refusal hashes nothing
	if err == nil {
		err = s.recent.Require(ctx)
	}
	if err == nil {
		err = s.replace(ctx, verification{user: u}, next, unlinked)
	}
	if errors.Is(err, errChanged) {
		s.Log.WarnContext(ctx, refused, "reason", identity.BadLogin.Name, "account", u.ID, "address", actor.From(ctx).IP)
		return badLogin()
	}
	return err
}

// replace stores and records a new password if the verified one is still stored and more returns no error.
func (s *SignIn) replace(
	ctx context.Context, v verification, next identity.Password, more func(context.Context) error,
) error {
	hash, err := s.hasher.Hash(ctx, next)
	if err != nil {
		return err
	}
	p, _ := identity.From(ctx)
	err = s.Unit.Do(ctx, func(ctx context.Context) error {
		u, err := s.unchanged(ctx, v)
		if err != nil {
			return err
		}
		if err := more(ctx); err != nil {
			return err
		}
		now := s.Clock.Now()
		if err := s.Accounts.SetPassword(ctx, u.ID, hash, now, false); err != nil {
			return err
		}
		ended, err := s.Tokens.DeleteTokens(ctx, u.ID, identity.OwnTokens, p.TokenID)
		if err != nil {
			return err
		}
		detail := map[string]any{"password_set": true, "first": v.hash == ""}
		token.AddEnded(detail, ended)
		return s.Recorder.Record(ctx, audit.Entry{
			Action: audit.UserPassword, Object: kernel.User(u), Detail: detail,
		})
	})
	if err != nil {
		return err
	}
	s.Log.InfoContext(ctx, "account changed", "account", v.user.ID, "new_password", true, "by", v.user.ID)
	return nil
}
