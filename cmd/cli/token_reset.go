package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/cmd/compose"
	"github.com/writ-automation/writ/platform/config"
	"github.com/writ-automation/writ/ports/identity"
)

// resetView is the new token of an administrator with those that ended.
type resetView struct {
	madeTokenView
	Revoked []tokenView `json:"revoked"`
}

// tokenResetCommand works on the database alone, so that who can read it can always administer the install.
func tokenResetCommand(w environment) *cobra.Command {
	var d database
	var owner string
	var confirm confirmFlag
	n := identity.NewToken{Name: "reset on the server"}
	c := &cobra.Command{
		Use: "reset-admin", Short: "Create a token of the administrator when nobody can sign in", Args: args(cobra.NoArgs),
		Long: `Create a token of the account admin in the database of the server, on its machine, and print it once. It needs
no sign-in. The older API tokens of the account are revoked, and named on standard error; if there are any, it asks first,
and needs --yes without a terminal. Sessions of sign-ins stay, and end with 'writ user set admin --password'. The trail
has an entry of each change, by the user of this machine.

Exit codes: 0 done, 1 failed, 2 usage.`,
		Example: "  writ token reset-admin --db /var/lib/writ/writ.db\n  writ token reset-admin --config /etc/writ/writ.yaml",
	}
	d.register(c)
	confirm.register(c)
	c.Flags().StringVar(&owner, "user", "admin", "another `account` with the role admin")
	config.DaysVar(c.Flags(), &n.TTL, "expires", 0, "how long the token is valid; 0 is without end")
	c.MarkFlagsOneRequired("db", "config")
	return printCommand(w, c, func(ctx context.Context, _ []string, out printer) error {
		return d.with(ctx, w, func(ctx context.Context, a *compose.Accounts) error {
			return resetAdmin(ctx, a, owner, n, &confirm, out)
		})
	})
}

func resetAdmin(
	ctx context.Context, a *compose.Accounts, owner string, n identity.NewToken, confirm *confirmFlag, out printer,
) error {
	u, err := a.Accounts.ByName(ctx, owner)
	if err != nil {
		return fmt.Errorf("the account %q: %w", oneLine(owner, 64), err)
	}
	if u.Role != identity.Admin {
		return usagef("--user %s: expected an account with the role admin, and it has the role %s", oneLine(owner, 64),
			u.Role)
	}
	before, _, err := everyRow(ctx, math.MaxInt, a.Tokens.List)
	if err != nil {
		return err
	}
	before = slices.DeleteFunc(before, func(t identity.Token) bool {
		return t.UserID != u.ID || t.Kind != identity.APIToken
	})
	if len(before) > 0 {
		if err := confirm.ask(out, "revoke "+count(len(before), "token")+" of "+owner); err != nil {
			return err
		}
	}
	n.UserID = u.ID
	t, secret, err := a.Tokens.Mint(ctx, n)
	if err != nil {
		return err
	}
	v := resetView{madeTokenView: madeTokenView{tokenView(t), secret}, Revoked: []tokenView{}}
	var failed []error
	for _, old := range before {
		// It may have ended with the token that made it.
		if err := a.Tokens.Revoke(ctx, old.ID); err != nil && !identity.TokenNotFound.Is(err) {
			failed = append(failed, fmt.Errorf("the token %s stays: %w", old.ID, err))
			continue
		}
		v.Revoked = append(v.Revoked, tokenView(old))
		_, _ = fmt.Fprintf(out.err, "writ: revoked the token %s (%s)\n", old.ID, oneLine(old.Name, 60))
	}
	return errors.Join(append(failed, out.print(v, "%s", secret))...)
}
