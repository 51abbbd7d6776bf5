package account

import (
	"context"
	"slices"

	"github.com/writ-automation/writ/modules/identity/internal/kernel"
	"github.com/writ-automation/writ/modules/identity/internal/token"
	"github.com/writ-automation/writ/ports/object"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
)

// Update takes the lock on admins first, as every change of an account does. A change that would demote the last admin
// therefore sees the changes before it, and nothing changes the account between its read and its write.
func (a *Accounts) Update(
	ctx context.Context, id string, revision int64, c identity.AccountChange,
) (identity.Account, error) {
	if err := checkChange(c); err != nil {
		return identity.Account{}, err
	}
	var hash string
	if c.Password != nil {
		var err error
		if hash, err = a.hash(ctx, *c.Password); err != nil {
			return identity.Account{}, err
		}
	}
	var old, changed identity.Account
	err := a.Unit.Do(ctx, func(ctx context.Context) error {
		admins, err := a.store.LockAdmins(ctx)
		if err != nil {
			return err
		}
		if old, err = a.expect(ctx, id, revision); err != nil {
			return err
		}
		changed = apply(old, c)
		if changed.Role != identity.Admin && onlyAdmin(admins, id) {
			return identity.LastAdmin.New("the only admin cannot become something else")
		}
		changed.UpdatedAt = a.Clock.Now()
		return a.write(ctx, old, changed, hash)
	})
	if err != nil {
		return identity.Account{}, taken(err)
	}
	a.Log.InfoContext(ctx, "account changed", "account", id, "revision", changed.Revision, "role", changed.Role,
		"new_role", old.Role != changed.Role, "new_password", hash != "", "by", object.Author(ctx))
	return changed, nil
}

func checkChange(c identity.AccountChange) error {
	if c.Username != nil {
		if err := checkUsername(*c.Username); err != nil {
			return err
		}
	}
	if c.Role != nil {
		if err := checkRole(*c.Role); err != nil {
			return err
		}
	}
	if c.Password != nil {
		if err := CheckPassword("password", *c.Password); err != nil {
			return err
		}
	}
	if err := checkProfile(c.Profile); err != nil {
		return err
	}
	if c.Identities != nil {
		return checkIdentities(*c.Identities)
	}
	return nil
}

// expect reads an account and checks the revision that the request expects.
func (a *Accounts) expect(ctx context.Context, id string, revision int64) (identity.Account, error) {
	old, err := a.store.AccountByID(ctx, id)
	if err != nil {
		return old, err
	}
	if revision != 0 && revision != old.Revision {
		return old, identity.RevisionChanged.New("the account was changed since it was read")
	}
	return old, nil
}

func apply(old identity.Account, c identity.AccountChange) identity.Account {
	out := old
	out.Revision++
	out.Profile = c.Profile
	out.Profile.Links = slices.Clone(c.Profile.Links)
	if c.Username != nil {
		out.Username = *c.Username
	}
	if c.Role != nil {
		out.Role = *c.Role
	}
	if c.Identities != nil {
		out.Identities = slices.Clone(*c.Identities)
	}
	out.HasPassword = old.HasPassword || c.Password != nil
	return out
}

// write stores a changed account, with the hash of its new password where there is one, and records it.
func (a *Accounts) write(ctx context.Context, old, changed identity.Account, hash string) error {
	if err := a.store.UpdateAccount(ctx, changed); err != nil {
		return err
	}
	if hash != "" {
		// The revision was counted up with the rest of the change.
		if err := a.store.SetPassword(ctx, changed.ID, hash, changed.UpdatedAt, true); err != nil {
			return err
		}
	}
	detail := describe(old, changed, hash != "")
	if hash != "" || old.Role != changed.Role {
		p, _ := identity.From(ctx)
		set, but := identity.Sessions, p.TokenID
		switch {
		case changed.Role.Rank() < old.Role.Rank():
			set, but = identity.AllTokens, ""
		case hash != "":
			set = identity.OwnTokens
		}
		ended, err := a.tokens.DeleteTokens(ctx, changed.ID, set, but)
		if err != nil {
			return err
		}
		token.AddEnded(detail, ended)
	}
	return a.Recorder.Record(ctx, audit.Entry{Action: audit.UserUpdate, Object: kernel.User(changed.User), Detail: detail})
}

func onlyAdmin(admins []string, id string) bool { return len(admins) == 1 && admins[0] == id }

func (a *Accounts) Delete(ctx context.Context, id string, revision int64) error {
	err := a.Unit.Do(ctx, func(ctx context.Context) error {
		admins, err := a.store.LockAdmins(ctx)
		if err != nil {
			return err
		}
		old, err := a.expect(ctx, id, revision)
		if err != nil {
			return err
		}
		if onlyAdmin(admins, id) {
			return identity.LastAdmin.New("the only admin cannot be deleted")
		}
		ended, err := a.tokens.DeleteTokens(ctx, id, identity.AllTokens, "")
		if err != nil {
			return err
		}
		if err := a.store.DeleteAccount(ctx, id); err != nil {
			return err
		}
		return a.Recorder.Record(ctx, deleted(old, ended))
	})
	if err != nil {
		return err
	}
	a.Log.InfoContext(ctx, "account deleted", "account", id, "by", object.Author(ctx))
	return nil
}
