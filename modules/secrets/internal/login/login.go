package login

import (
	"context"
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/writ-automation/writ/modules/secrets/internal/lease"
	"github.com/writ-automation/writ/modules/secrets/internal/provide"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// loginTime is the lifetime of a minted login of a repository in this process. The end of git's use is unknown, and no
// exchange with a server takes longer.
const loginTime = 30 * time.Minute

// Logins implements catalog.Logins. It is safe for concurrent use.
type Logins struct {
	provider *provide.Provider
	ledger   *lease.Ledger
}

var _ catalog.Logins = (*Logins)(nil)

// New returns logins that a provider opens.
func New(p *provide.Provider, b *lease.Ledger) *Logins { return &Logins{provider: p, ledger: b} }

// A token has no user name, so that a user name in the address counts, as deploy tokens need. Without one, adapters
// send a default name; GitHub, GitLab and Gitea accept any name with a token.
func (l *Logins) Login(ctx context.Context, credentialID string) (catalog.Login, error) {
	owner := secrets.Owner{ID: credentialID}
	opened, injection, entries, err := l.provider.Fetch(ctx, owner, []string{credentialID}, opensRepositories)
	if err != nil {
		return catalog.Login{}, err
	}
	l.ledger.RevokeAfter(entries, loginTime)
	var out catalog.Login
	for _, o := range opened {
		switch o.Kind {
		case secrets.Token:
			out.Password = trim(o.Secret["token"])
		case secrets.SSHPassword:
			out.Username, out.Password = injection.Login.User, injection.Login.Password
		case secrets.SSHKey:
			out.Username, out.Key = injection.Login.User, injection.Keys[0].PrivateKey
		}
	}
	return out, nil
}

func opensRepositories(c secrets.Credential) error {
	switch c.Kind {
	case secrets.Token, secrets.SSHPassword, secrets.SSHKey:
		return nil
	default:
		return unfit(c, "opens no repository; use a credential of the kind token, ssh_password or ssh_key")
	}
}

// A token is sent as a bearer in the header Authorization, a name with a password in the basic form; both in addition
// to what the credential adds to programs.
func (l *Logins) Access(ctx context.Context, sourceID, credentialID string) (catalog.Access, func(), error) {
	owner := secrets.Owner{ID: sourceID}
	opened, injection, entries, err := l.provider.Fetch(ctx, owner, []string{credentialID}, helpsSources)
	if err != nil {
		return catalog.Access{}, func() {}, err
	}
	var once sync.Once
	done := func() { once.Do(func() { l.ledger.Revoke(context.WithoutCancel(ctx), entries) }) }
	out := catalog.Access{Env: maps.Clone(injection.Env), Headers: map[string]secret.Text{},
		Files: map[string]secret.Text{}}
	for _, f := range injection.Files {
		out.Files[f.Name] = f.Content
	}
	for _, o := range opened {
		switch o.Kind {
		case secrets.Token:
			out.Headers["Authorization"] = "Bearer " + trim(o.Secret["token"])
		case secrets.SSHPassword:
			pair := injection.Login.User + ":" + injection.Login.Password.Reveal()
			out.Headers["Authorization"] = secret.Text("Basic " + base64.StdEncoding.EncodeToString([]byte(pair)))
		}
	}
	if slices.ContainsFunc(slices.Collect(maps.Values(out.Headers)), breaks) {
		done()
		return catalog.Access{}, func() {}, &fault.Error{
			Kind: fault.Conflict, Code: secrets.Unresolved.Name,
			Message: "the credential " + credentialID + ": its token holds characters that no header can",
		}
	}
	return out, done, nil
}

// helpsSources refuses the kinds that only runs on hosts use.
func helpsSources(c secrets.Credential) error {
	switch c.Kind {
	case secrets.SSHKey, secrets.VaultPassword, secrets.BecomePassword, secrets.Become:
		return unfit(c, "gives nothing to an inventory source")
	default:
		return nil
	}
}

func unfit(c secrets.Credential, text string) error {
	return &fault.Error{Kind: fault.Conflict,
		Message: "the credential " + c.ID + " of the kind " + string(c.Kind) + " " + text}
}

// trim removes the trailing line break of a file.
func trim(token secret.Text) secret.Text { return secret.Text(strings.TrimSpace(token.Reveal())) }

// breaks reports whether a text would end a header.
func breaks(header secret.Text) bool {
	return strings.ContainsFunc(header.Reveal(), func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}
