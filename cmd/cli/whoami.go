package cli

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// callerView is the caller as the server resolved it.
type callerView struct {
	User struct {
		ID       string `json:"id"`
		Username string `json:"username"`
	} `json:"user"`
	Role  string `json:"role"`
	Open  bool   `json:"open"`
	Token *struct {
		ID        string    `json:"id"`
		Kind      string    `json:"kind"`
		Name      string    `json:"name"`
		CreatedAt time.Time `json:"created_at"`
		ExpiresAt time.Time `json:"expires_at,omitzero"`
		Scopes    []string  `json:"scopes,omitempty"`
		Networks  []string  `json:"networks,omitempty"`
	} `json:"token,omitempty"`
}

// whoamiView is the caller with the way to the server.
type whoamiView struct {
	callerView
	Server   string `json:"server"`
	Context  string `json:"context,omitempty"`
	SignedIn string `json:"signed_in_by,omitempty"`
	License  string `json:"license,omitempty"`
}

func whoamiCommand(w environment) *cobra.Command {
	return clientCommand(w, &cobra.Command{
		Use: "whoami", Short: "Show the account, the server and the token that commands use", Args: args(cobra.NoArgs),
		Long: "Show the account, its role, the server, the context, how you signed in, and the limits and the end of the " +
			"token.\nExit codes: 0 signed in, 1 not signed in or no answer, 2 usage.",
	}, func(ctx context.Context, c *client, _ []string, out printer) error {
		v := whoamiView{Server: c.base, Context: c.at.context, SignedIn: c.at.saved.Method}
		if err := c.call(ctx, http.MethodGet, "/v1/auth/me", nil, &v.callerView); err != nil {
			return err
		}
		if v.Token == nil || v.Token.Kind != "session" && v.SignedIn != "" {
			v.SignedIn = byToken // WRIT_TOKEN or --token
		}
		var license struct {
			State string `json:"state"`
			Tier  string `json:"tier"`
		}
		if v.Role == "admin" && c.call(ctx, http.MethodGet, "/v1/license", nil, &license) == nil {
			v.License = cmp.Or(license.Tier, license.State)
		}
		if out.json {
			return out.document(v)
		}
		return v.table(newScreen(w))
	})
}

func (v whoamiView) table(s screen) error {
	rows := [][]field{
		{{text: "account"}, {text: oneLine(v.User.Username, 64) + ", " + oneLine(v.Role, 20)}},
		{{text: "server"}, {text: oneLine(v.Server, 200)}},
		{{text: "context"}, {text: cmp.Or(v.Context, "none")}},
	}
	add := func(name, text string) { rows = append(rows, []field{{text: name}, {text: oneLine(text, 200)}}) }
	switch t := v.Token; {
	case v.Open:
		add("token", "none: the server is open and asks for no tokens")
	case t != nil:
		add("signed in by", cmp.Or(v.SignedIn, t.Kind))
		add("token", t.ID+" ("+t.Name+"), expires "+instant(t.ExpiresAt))
		add("scopes", cmp.Or(strings.Join(t.Scopes, ", "), "all of the role"))
		if len(t.Networks) > 0 {
			add("networks", strings.Join(t.Networks, ", "))
		}
	}
	if v.License != "" {
		add("licence", v.License)
	}
	s.table([]string{"", ""}, rows)
	return nil
}
