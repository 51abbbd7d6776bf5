package signin

import (
	"context"

	"github.com/writ-automation/writ/ports/identity"
)

// byLink is the method of a sign-in by a link of this machine in its entry.
const byLink = "link"

// Local signs in accounts for programs that may read the files of the install.
type Local struct{ Sessions }

var _ identity.LocalSignIn = (*Local)(nil)

// SignInLocally opens a session of an account.
func (l *Local) SignInLocally(ctx context.Context, username string) (identity.Session, error) {
	var made identity.Session
	err := l.Unit.Do(ctx, func(ctx context.Context) error {
		if _, err := l.Accounts.LockAdmins(ctx); err != nil {
			return err
		}
		u, _, err := l.Callers.UserByName(ctx, username)
		if err != nil {
			return err
		}
		made, err = l.newSession(ctx, u, map[string]any{"method": byLink})
		return err
	})
	if err != nil {
		return identity.Session{}, err
	}
	return made, nil
}
