package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/ports/identity"
)

func userCommand(w environment) *cobra.Command {
	c := group("user", "Create, list, change and delete accounts", userNewCommand(w), userListCommand(w),
		userSetCommand(w), userDeleteCommand(w))
	c.Long = overDatabase
	return c
}

// userView is an account for --json. Only the API shows profiles, since it authenticates the caller.
type userView struct {
	ID          string     `json:"id"`
	Username    string     `json:"username"`
	Role        string     `json:"role"`
	HasPassword bool       `json:"has_password"`
	Identities  []linkView `json:"identities"`
	CreatedAt   time.Time  `json:"created_at"`
	UpdatedAt   time.Time  `json:"updated_at"`
}

type linkView struct {
	Protocol identity.Protocol `json:"protocol"`
	Issuer   string            `json:"issuer"`
	Subject  string            `json:"subject"`
}

func viewOfUser(a identity.Account) userView {
	v := userView{
		ID: a.ID, Username: a.Username, Role: string(a.Role), HasPassword: a.HasPassword, Identities: []linkView{},
		CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt,
	}
	for _, l := range a.Identities {
		v.Identities = append(v.Identities, linkView(l))
	}
	return v
}

func userNewCommand(w environment) *cobra.Command {
	var role string
	var secret passwordFlags
	var password *identity.Password
	c := &cobra.Command{
		Use: "new USERNAME", Short: "Create an account", Args: args(cobra.ExactArgs(1)),
		Long:    "Create an account. Without --password it has none: its user signs in at a provider, or uses a token.",
		PreRunE: func(*cobra.Command, []string) (err error) { password, err = secret.read(w); return err },
	}
	c.Flags().StringVar(&role, "role", string(identity.Viewer), "viewer, operator or admin")
	secret.register(c)
	return accountsCommand(w, c, func(ctx context.Context, d directory, a []string, out printer) error {
		n := identity.NewAccount{Username: a[0], Role: identity.Role(role)}
		if password != nil {
			n.Password = *password
		}
		made, err := d.accounts.Create(ctx, n)
		if err != nil {
			return err
		}
		return printUser(out, "made", made)
	})
}

func userListCommand(w environment) *cobra.Command {
	return accountsListCommand(w, "users", "List accounts",
		func(d directory) lister[identity.Account] { return d.accounts.List }, viewOfUser, printUsers)
}

func printUsers(out printer, list []identity.Account) error {
	tw := tabwriter.NewWriter(out.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(tw, "ID\tUSERNAME\tROLE\tPASSWORD\tPROVIDERS\tCREATED")
	for _, a := range list {
		password := "no"
		if a.HasPassword {
			password = "yes"
		}
		issuers := make([]string, 0, len(a.Identities))
		for _, l := range a.Identities {
			issuers = append(issuers, oneLine(l.Issuer, 60))
		}
		_, _ = fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\n", a.ID, oneLine(a.Username, 64), a.Role, password,
			strings.Join(issuers, ", "), instant(a.CreatedAt))
	}
	return tw.Flush()
}

func userSetCommand(w environment) *cobra.Command {
	var role, rename string
	var link linkFlags
	var secret passwordFlags
	var change identity.AccountChange
	c := &cobra.Command{
		Use: "set USER", Short: "Change an account's role, password, name or provider", Args: args(cobra.ExactArgs(1)),
		Long: "Change an account. A new password ends its sessions and the tokens that it made for itself, a lower role " +
			"all of\n" +
			"its tokens. --protocol, --issuer and --subject link it to who a\n" +
			"provider says it is; --unlink takes every such link away.",
		PreRunE: func(c *cobra.Command, _ []string) (err error) {
			if c.Flags().Changed("role") {
				change.Role = (*identity.Role)(&role)
			}
			if c.Flags().Changed("username") {
				change.Username = &rename
			}
			if change.Identities, err = link.read(c); err != nil {
				return err
			}
			if change.Password, err = secret.read(w); err != nil {
				return err
			}
			if change.Role == nil && change.Username == nil && change.Password == nil && change.Identities == nil {
				return usageError{fmt.Errorf("nothing to change\nSee '%s --help'", c.CommandPath())}
			}
			return nil
		},
	}
	c.Flags().StringVar(&role, "role", "", "viewer, operator or admin")
	c.Flags().StringVar(&rename, "username", "", "new name")
	link.register(c)
	secret.register(c)
	return accountsCommand(w, c, func(ctx context.Context, d directory, a []string, out printer) error {
		was, err := d.account(ctx, a[0])
		if err != nil {
			return err
		}
		change.Profile = was.Profile
		now, err := d.accounts.Update(ctx, was.ID, was.Revision, change)
		if err != nil {
			return err
		}
		return printUser(out, "changed", now)
	}, "user")
}

// linkFlags link an account to identities of outside providers.
type linkFlags struct {
	protocol, issuer, subject string
	unlink                    bool
}

func (f *linkFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.protocol, "protocol", "", "oidc or saml")
	c.Flags().StringVar(&f.issuer, "issuer", "", "the provider's identifier")
	c.Flags().StringVar(&f.subject, "subject", "", "the account's subject at the provider")
	c.Flags().BoolVar(&f.unlink, "unlink", false, "remove every link")
}

// read returns the identities of the flags, nil if there are none.
func (f *linkFlags) read(c *cobra.Command) (*[]identity.Link, error) {
	provided := 0
	for _, text := range []string{f.protocol, f.issuer, f.subject} {
		if text != "" {
			provided++
		}
	}
	switch {
	case f.unlink && provided > 0, provided != 0 && provided != 3:
		return nil, usageError{fmt.Errorf("give --protocol, --issuer and --subject together, or only --unlink\nSee '%s "+
			"--help'", c.CommandPath())}
	case f.unlink:
		return &[]identity.Link{}, nil
	case provided == 0:
		return nil, nil
	case !identity.Protocol(f.protocol).Valid():
		return nil, usageError{fmt.Errorf("--protocol: expected oidc or saml\nSee '%s --help'", c.CommandPath())}
	default:
		return &[]identity.Link{{Protocol: identity.Protocol(f.protocol), Issuer: f.issuer, Subject: f.subject}}, nil
	}
}

func userDeleteCommand(w environment) *cobra.Command {
	var confirm confirmFlag
	c := &cobra.Command{
		Use: "delete USER", Short: "Delete an account; its tokens stop working at once", Args: args(cobra.ExactArgs(1)),
	}
	confirm.register(c)
	return accountsCommand(w, c, func(ctx context.Context, d directory, a []string, out printer) error {
		if err := confirm.ask(out, "delete account "+a[0]); err != nil {
			return err
		}
		was, err := d.account(ctx, a[0])
		if err != nil {
			return err
		}
		if err := d.accounts.Delete(ctx, was.ID, 0); err != nil {
			return err
		}
		return out.print(map[string]any{"id": was.ID, "username": was.Username, "deleted": true}, "deleted %s (%s)",
			plainText(was.Username), was.ID)
	}, "user")
}

func printUser(out printer, verb string, a identity.Account) error {
	return out.print(viewOfUser(a), "%s %s (%s), %s", verb, plainText(a.Username), a.ID, a.Role)
}
