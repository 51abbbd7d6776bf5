package account

import (
	"context"
	"slices"

	"github.com/writ-automation/writ/modules/identity/internal/kernel"
	"github.com/writ-automation/writ/ports/object"

	"github.com/writ-automation/writ/modules/identity/internal/token"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/page"
)

// Accounts implements identity.Accounts.
type Accounts struct {
	kernel.Kernel
	store   identity.AccountStore
	callers identity.CallerStore
	tokens  identity.TokenStore
	hasher  identity.Hasher
	recent  token.Recent
}

var _ identity.Accounts = (*Accounts)(nil)

// New makes an Accounts over the stores.
func New(
	k kernel.Kernel, s identity.AccountStore, c identity.CallerStore, t identity.TokenStore, h identity.Hasher,
) *Accounts {
	return &Accounts{Kernel: k, store: s, callers: c, tokens: t, hasher: h,
		recent: token.Recent{Tokens: t, Accounts: s, Clock: k.Clock}}
}

func (a *Accounts) Create(ctx context.Context, n identity.NewAccount) (identity.Account, error) {
	if err := checkNew(n); err != nil {
		return identity.Account{}, err
	}
	hash, err := a.hash(ctx, n.Password)
	if err != nil {
		return identity.Account{}, err
	}
	now := a.Clock.Now()
	made := identity.Account{
		User:    identity.User{ID: a.IDs.New(ids.User), Username: n.Username, Role: n.Role, CreatedAt: now},
		Profile: n.Profile, HasPassword: hash != "", Identities: n.Identities, UpdatedAt: now, Revision: 1,
	}
	made.Profile.Links = slices.Clone(n.Profile.Links)
	made.Identities = slices.Clone(n.Identities)
	err = a.Unit.Do(ctx, func(ctx context.Context) error {
		if err := a.store.InsertAccount(ctx, made, hash); err != nil {
			return err
		}
		return a.Recorder.Record(ctx, created(made))
	})
	if err != nil {
		return identity.Account{}, taken(err)
	}
	a.Log.InfoContext(ctx, "account created", "account", made.ID, "role", made.Role, "by", object.Author(ctx))
	return made, nil
}

// hash returns the hash of a password that the caller sets for an account, empty for none. Setting one takes a recent
// sign-in, because it opens the account.
func (a *Accounts) hash(ctx context.Context, p identity.Password) (string, error) {
	if p == "" {
		return "", nil
	}
	if err := a.recent.Require(ctx); err != nil {
		return "", err
	}
	return a.hasher.Hash(ctx, p)
}

func checkNew(n identity.NewAccount) error {
	if err := checkUsername(n.Username); err != nil {
		return err
	}
	if err := checkRole(n.Role); err != nil {
		return err
	}
	if n.Password != "" {
		if err := CheckPassword("password", n.Password); err != nil {
			return err
		}
	}
	if err := checkProfile(n.Profile); err != nil {
		return err
	}
	return checkIdentities(n.Identities)
}

// taken names the field of a request that conflicts with another account.
func taken(err error) error {
	err = kernel.Naming(err, identity.NameTaken, "username", "the user name is taken")
	return kernel.Naming(err, identity.LinkTaken, "identities", "another account has one of the identities")
}

func (a *Accounts) Get(ctx context.Context, id string) (identity.Account, error) {
	return a.store.AccountByID(ctx, id)
}

func (a *Accounts) ByName(ctx context.Context, username string) (identity.Account, error) {
	if !Name(username) {
		return identity.Account{}, identity.UserNotFound.New("no such account")
	}
	u, _, err := a.callers.UserByName(ctx, username)
	if err != nil {
		return identity.Account{}, err
	}
	return a.store.AccountByID(ctx, u.ID)
}

func (a *Accounts) List(ctx context.Context, w page.Window) ([]identity.Account, int, error) {
	return a.store.ListAccounts(ctx, w)
}
