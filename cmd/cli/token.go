package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os/user"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/writ-automation/writ/cmd/compose"
	"github.com/writ-automation/writ/platform/config"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/identity"
)

func tokenCommand(w environment) *cobra.Command {
	c := group("token", "Create, list and revoke bearer tokens", tokenNewCommand(w), tokenListCommand(w),
		tokenRevokeCommand(w), tokenResetCommand(w))
	c.Long = overDatabase
	return c
}

const overDatabase = `The commands speak to the server. With --db or --config they work on its database instead, on its
machine: they need no sign-in then, and a running server sees their changes at once.`

// database selects the database of a command: the one that serve would open with the same sources.
type database struct{ config, url string }

func (d *database) register(c *cobra.Command) {
	c.Flags().StringVar(&d.url, "db", "", "work on this `database` instead of a server (as --db of serve)")
	c.Flags().StringVar(&d.config, "config", "", "work on the database of this configuration `file` of serve")
}

// serveSettings returns the flags that serve would have with the same sources.
func serveSettings(w environment, file string) (*serveFlags, error) {
	serve := &serveFlags{}
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	serve.register(fs)
	serve.config = file
	return serve, serve.load(fs, environment{environ: w.environ, err: w.err})
}

// with opens the database for fn and closes it again.
func (d *database) with(ctx context.Context, w environment, fn func(context.Context, *compose.Accounts) error) error {
	serve, err := serveSettings(w, d.config)
	if err != nil {
		return err
	}
	ctx = actor.With(ctx, actor.Actor{Type: actor.System, Name: commandLine()})
	a, err := compose.OpenAccounts(ctx, cmp.Or(d.url, serve.DB), slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	err = fn(ctx, a)
	return errors.Join(err, a.Close(context.WithoutCancel(ctx)))
}

// commandLine is the actor of commands over the database, in records and in the trail.
func commandLine() string {
	if u, err := user.Current(); err == nil {
		return "cli:" + u.Username
	}
	return "cli:unknown"
}

// tokenView is a token as --json shows it.
type tokenView struct {
	ID         string             `json:"id"`
	Kind       identity.TokenKind `json:"kind"`
	Name       string             `json:"name"`
	UserID     string             `json:"user_id"`
	Username   string             `json:"username"`
	CreatedAt  time.Time          `json:"created_at"`
	CreatedBy  string             `json:"created_by"`
	ExpiresAt  time.Time          `json:"expires_at,omitzero"`
	LastUsedAt time.Time          `json:"last_used_at,omitzero"`
	Scopes     identity.Scopes    `json:"scopes,omitempty"`
	Networks   []netip.Prefix     `json:"networks,omitempty"`
	ParentID   string             `json:"parent_id,omitempty"`
	SignedInAt time.Time          `json:"-"`
}

// madeTokenView is a new token with its secret.
type madeTokenView struct {
	tokenView
	Token string `json:"token"`
}

func tokenNewCommand(w environment) *cobra.Command {
	var n identity.NewToken
	var owner string
	var scopes []string
	c := &cobra.Command{
		Use: "new", Short: "Create a token and print it once", Args: args(cobra.NoArgs),
		Example: "  writ token new --name ci --expires 90d --scope launch\n  writ token new --user ada --db writ.db",
	}
	c.Flags().StringVar(&n.Name, "name", "", "purpose of the token")
	c.Flags().StringVar(&owner, "user", "", "account that the token authenticates (default: yours; with --db admin)")
	w.conn = &connection{}
	_ = c.RegisterFlagCompletionFunc("user", ofServer(completeNames(w, "user")))
	config.DaysVar(c.Flags(), &n.TTL, "expires", 0, "how long the token is valid; 0 is without end")
	c.Flags().StringSliceVar(&scopes, "scope", nil,
		"what the token allows: read, launch, operate, admin (repeatable; default: what the role allows)")
	c.Flags().StringSliceVar(&n.Networks, "network", nil,
		"`CIDR` from which the token is valid (repeatable; default: everywhere)")
	return accountsCommand(w, c, func(ctx context.Context, d directory, _ []string, out printer) error {
		if owner == "" && !d.remote {
			owner = "admin"
		}
		if owner != "" {
			u, err := d.account(ctx, owner)
			if err != nil {
				return fmt.Errorf("--user: %w", err)
			}
			n.UserID = u.ID
		}
		for _, s := range scopes {
			n.Scopes = append(n.Scopes, identity.Scope(s))
		}
		t, secret, err := d.tokens.Mint(ctx, n)
		if err != nil {
			return err
		}
		return out.print(madeTokenView{tokenView(t), secret}, "%s", secret)
	})
}

func tokenListCommand(w environment) *cobra.Command {
	return accountsListCommand(w, "tokens", "List tokens, without their secrets",
		func(d directory) lister[identity.Token] { return d.tokens.List },
		func(t identity.Token) tokenView { return tokenView(t) }, printTokens)
}

func printTokens(out printer, list []identity.Token) error {
	tw := tabwriter.NewWriter(out.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(tw, "ID\tKIND\tNAME\tUSER\tCREATED\tEXPIRES\tLAST USED\tSCOPES\tNETWORKS")
	for _, t := range list {
		_, _ = fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, t.Kind, oneLine(t.Name, 40),
			oneLine(t.Username, 64), instant(t.CreatedAt), instant(t.ExpiresAt), instant(t.LastUsedAt),
			limits(t.Scopes), limits(t.Networks))
	}
	return tw.Flush()
}

// limits lists the scopes or networks of a token.
func limits[T any](values []T) string {
	if len(values) == 0 {
		return "all"
	}
	return strings.Trim(fmt.Sprint(values), "[]")
}

func instant(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

func tokenRevokeCommand(w environment) *cobra.Command {
	var confirm confirmFlag
	c := &cobra.Command{
		Use: "revoke TOKEN", Short: "Revoke a token, by its name or id, everywhere at once",
		Args: args(cobra.ExactArgs(1)),
	}
	confirm.register(c)
	return accountsCommand(w, c, func(ctx context.Context, d directory, a []string, out printer) error {
		if err := confirm.ask(out, "revoke token "+a[0]); err != nil {
			return err
		}
		id, err := d.token(ctx, a[0])
		if err != nil {
			return err
		}
		if err := d.tokens.Revoke(ctx, id); err != nil {
			return err
		}
		return out.print(map[string]any{"id": id, "revoked": true}, "revoked %s", plainText(id))
	}, "token")
}
