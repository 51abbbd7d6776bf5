package rights

import (
	"context"

	"github.com/writ-automation/writ/modules/identity/internal/kernel"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/identity"
)

// mayRead returns NotAllowed unless the caller is an admin, a member or the application itself.
func mayRead(ctx context.Context, member func(userID string) (bool, error)) error {
	p, known := identity.From(ctx)
	switch {
	case !known && actor.From(ctx).Type == actor.System, known && p.User.Role == identity.Admin:
		return nil
	case known && p.User.ID != "":
		if ok, err := member(p.User.ID); ok || err != nil {
			return err
		}
	}
	return identity.NotAllowed.New("members are shown to members and to admins")
}

func nameTaken(err error) error {
	return kernel.Naming(err, identity.NameTaken, "name", "the name is taken")
}

func noUser(err error) error {
	return kernel.Naming(err, identity.UserNotFound, "user_id", "no such account")
}
