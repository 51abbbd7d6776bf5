package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// The methods of a sign-in beside the protocols of providers.
const (
	byPassword = "password"
	byToken    = "token"
)

// maxTokenInput is the limit of a token on standard input, in bytes.
const maxTokenInput = 4 << 10

// loginFlags select a server and a way to sign in.
type loginFlags struct {
	conn                 connection
	user, browser        string
	withToken            bool
	noBrowser, noKeyring bool
	timeout              time.Duration
}

func loginCommand(w environment) *cobra.Command {
	var f loginFlags
	c := &cobra.Command{
		Use: "login [SERVER]", Short: "Sign in to a server and store how to reach it", Args: args(cobra.MaximumNArgs(1)),
		Long: `Sign in to a server. The address and the token become a context, which later commands use.

With --user, the password is read from the terminal, or from the first line of standard input. With --with-token,
a token is read from standard input. Otherwise the browser opens for a sign-in at the provider of the server; a server
without a provider is asked for by user name and password.

The token is stored in the keyring of the system. Where there is none, or with --no-keyring, it is stored in a file
beside the contexts that only you can read. The command says which. A token is sent to the server of its context only.

Exit codes: 0 signed in, 1 refused or no answer, 2 usage.`,
		Example: `  writ login https://writ.example.com
  writ login https://writ.example.com --context prod --ca-file ca.pem
  writ login https://writ.example.com --user ada
  writ login https://writ.example.com --with-token < token.txt`,
	}
	fs := c.Flags()
	f.conn.registerContext(w, c)
	fs.StringVar(&f.conn.server, "server", "", "the same as SERVER")
	fs.StringVar(&f.user, "user", "", "sign in by password as this `account`")
	fs.BoolVar(&f.withToken, "with-token", false, "read a token from standard input")
	fs.StringVar(&f.browser, "browser", "", "sign in in the browser at the provider: oidc or saml")
	fs.BoolVar(&f.noBrowser, "no-browser", false, "print the address for the browser and open nothing")
	fs.BoolVar(&f.noKeyring, "no-keyring", false, "store the token in a file")
	fs.DurationVar(&f.timeout, "timeout", 5*time.Minute, "how long to wait for the browser")
	c.MarkFlagsMutuallyExclusive("user", "with-token", "browser")
	c.MarkFlagsMutuallyExclusive("user", "with-token", "no-browser")
	return printCommand(w, c, func(ctx context.Context, a []string, out printer) error {
		return f.run(ctx, a, out)
	})
}

// loginView is a sign-in as --json shows it.
type loginView struct {
	Context  string `json:"context"`
	Server   string `json:"server"`
	Username string `json:"username"`
	Role     string `json:"role"`
	Method   string `json:"method"`
	Token    string `json:"token_stored_in"`
}

func (f *loginFlags) run(ctx context.Context, a []string, out printer) error {
	t, name, err := f.endpoint(ctx, out.environment, a)
	if err != nil {
		return err
	}
	c, err := t.client()
	if err != nil {
		return err
	}
	if u, _ := url.Parse(t.server); u.Scheme == "http" && !isLoopback(u.Hostname()) {
		_, _ = fmt.Fprintf(out.err, "writ: the connection to %s is not encrypted: who can read it can use the token\n",
			t.server)
	}
	method, token, err := f.signIn(ctx, out.environment, c)
	if err != nil {
		return err
	}
	c.token = token
	var me callerView
	if err := c.call(ctx, http.MethodGet, "/v1/auth/me", nil, &me); err != nil {
		return err
	}
	saved := savedContext{Server: t.server, CAFile: t.caFile, Username: me.User.Username, Method: method}
	where, err := f.save(ctx, openContexts(out.environment), name, saved, token, out)
	if err != nil {
		return err
	}
	view := loginView{Context: name, Server: t.server, Username: me.User.Username, Role: me.Role, Method: method,
		Token: where}
	return out.print(view, "signed in to %s as %s (%s); the context %s is now current", t.server,
		plainText(me.User.Username), plainText(me.Role), name)
}

// endpoint returns the server and the name of its context.
func (f *loginFlags) endpoint(ctx context.Context, w environment, a []string) (t endpoint, name string, err error) {
	if len(a) > 0 {
		f.conn.server = a[0]
	}
	stored, err := openContexts(w).read()
	if err != nil {
		return t, "", err
	}
	name = cmp.Or(f.conn.context, w.env("WRIT_CONTEXT"))
	if name != "" && !contextName.Get().MatchString(name) {
		return t, "", usagef("--context %q: expected letters, digits and . _ : @ -, at most 100", oneLine(name, 120))
	}
	known, exists := stored.Contexts[name]
	at := connection{server: cmp.Or(f.conn.server, known.Server), caFile: f.conn.caFile, token: "none"}
	if t, err = at.endpoint(ctx, environment{environ: []string{
		"WRIT_SERVER=" + w.env("WRIT_SERVER"), "WRIT_CA_FILE=" + w.env("WRIT_CA_FILE")}}); err != nil {
		return t, "", err
	}
	if u, _ := url.Parse(t.server); u.User != nil {
		return t, "", usagef("SERVER: expected an address without a user and a password")
	} else if name == "" {
		name = u.Host
		for other, c := range stored.Contexts {
			if c.Server == t.server {
				name = other
			}
		}
		known, exists = stored.Contexts[name]
	}
	if exists && known.Server != t.server {
		return t, "", usagef("the context %s is of %s: name another one with --context, or delete it with 'writ context "+
			"delete %[1]s'", name, known.Server)
	}
	t.token, t.caFile = "", cmp.Or(t.caFile, known.CAFile)
	return t, name, fromRoot("ca-file", &t.caFile) // later commands run elsewhere
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// signIn gets a token in the way that the flags demand.
func (f *loginFlags) signIn(ctx context.Context, w environment, c *client) (method, token string, err error) {
	switch {
	case f.withToken:
		token, err = readToken(w)
		return byToken, token, err
	case f.user != "":
		token, err = c.login(ctx, w, f.user)
		return byPassword, token, err
	}
	if f.browser == "" {
		if f.browser, err = c.provider(ctx); err != nil {
			return "", "", err
		}
	}
	if f.browser == "" {
		if !isTerminal(w.in) {
			return "", "", usagef("%s has no provider: give --user, with the password on standard input, or "+
				"--with-token", c.base)
		}
		_, _ = fmt.Fprint(w.err, "User name: ")
		name, err := bufio.NewReader(io.LimitReader(w.in, maxTokenInput)).ReadString('\n')
		if err != nil {
			return "", "", fmt.Errorf("read the user name: %w", err)
		}
		name = strings.TrimSpace(name)
		token, err = c.login(ctx, w, name)
		return byPassword, token, err
	}
	if f.browser != "oidc" && f.browser != "saml" {
		return "", "", usagef("--browser %q: expected oidc or saml", oneLine(f.browser, 40))
	}
	token, err = c.browse(ctx, w, f.browser, f.noBrowser, f.timeout)
	return f.browser, token, err
}

// save stores the context and its token, makes it current, and says where the token is.
func (f *loginFlags) save(
	ctx context.Context, s contextStore, name string, c savedContext, token string, out printer,
) (where string, err error) {
	var cause error
	err = s.change(func(file *contextsFile) error {
		var err error
		if c.Token, cause, err = s.hold(ctx, name, c.Server, token, f.noKeyring); err != nil {
			return err
		}
		file.Contexts[name], file.Current = c, name
		return nil
	})
	switch {
	case err != nil:
		return "", fmt.Errorf("store the token: %w", err)
	case c.Token == inKeyring:
		_, _ = fmt.Fprintln(out.err, "writ: the token is in the keyring of the system")
	case cause != nil:
		_, _ = fmt.Fprintf(out.err, "writ: the token is in %s, since the keyring is not usable: %s\n", s.tokens(),
			oneLine(cause.Error(), 200))
	default:
		_, _ = fmt.Fprintf(out.err, "writ: the token is in %s\n", s.tokens())
	}
	return c.Token, nil
}

func readToken(w environment) (string, error) {
	if isTerminal(w.in) {
		return hiddenLine(w, "Token: ")
	}
	raw, err := io.ReadAll(io.LimitReader(w.in, maxTokenInput))
	token := strings.TrimSpace(string(raw))
	switch {
	case err != nil:
		return "", fmt.Errorf("read the token: %w", err)
	case token == "" || strings.ContainsAny(token, " \t\r\n"):
		return "", usagef("--with-token: expected one token on standard input")
	}
	return token, nil
}

// login signs in by password.
func (c *client) login(ctx context.Context, w environment, user string) (string, error) {
	var password string
	var err error
	if isTerminal(w.in) {
		password, err = hiddenLine(w, "Password: ")
	} else {
		p, readErr := (&passwordFlags{stdin: true}).read(w)
		if err = readErr; err == nil {
			password = string(*p)
		}
	}
	if err != nil {
		return "", err
	}
	var made struct {
		Token string `json:"token"`
	}
	body := map[string]string{"username": user, "password": password}
	err = c.call(ctx, http.MethodPost, "/v1/auth/login", body, &made)
	return made.Token, err
}

// provider returns the protocol of the server's provider, empty if it has none. A sign-in for no port begins nothing:
// a provider refuses it, and a server without one does not have the route.
func (c *client) provider(ctx context.Context) (string, error) {
	for _, protocol := range []string{"oidc", "saml"} {
		var api *apiError
		err := c.call(ctx, http.MethodGet, "/auth/"+protocol+"/login?cli=0", nil, nil)
		switch {
		case errors.As(err, &api) && api.Status == http.StatusNotFound:
		case errors.As(err, &api) && api.Status == http.StatusBadRequest:
			return protocol, nil
		default:
			return "", cmp.Or(err, fmt.Errorf("%s does not answer as a server of Writ", c.base))
		}
	}
	return "", nil
}

func isTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) //nolint:gosec // file descriptors are small
}

// hiddenLine asks for a line on the terminal that is not shown.
func hiddenLine(w environment, prompt string) (string, error) {
	_, _ = fmt.Fprint(w.err, prompt)
	b, err := term.ReadPassword(int(w.in.(*os.File).Fd())) //nolint:gosec,forcetypeassert // it is a terminal
	_, _ = fmt.Fprintln(w.err)
	if err != nil {
		return "", fmt.Errorf("read from the terminal: %w", err)
	}
	if len(b) == 0 {
		return "", errors.New("nothing was typed")
	}
	return string(b), nil
}
