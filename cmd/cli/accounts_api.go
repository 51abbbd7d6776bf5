package cli

import (
	"context"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/cmd/compose"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/page"
)

// accountRole is what the commands on accounts do, at a server or in a database.
type accountRole interface {
	Create(ctx context.Context, n identity.NewAccount) (identity.Account, error)
	List(ctx context.Context, w page.Window) ([]identity.Account, int, error)
	Update(ctx context.Context, id string, revision int64, c identity.AccountChange) (identity.Account, error)
	Delete(ctx context.Context, id string, revision int64) error
}

// tokenRole is what the commands on tokens do.
type tokenRole interface {
	Mint(ctx context.Context, n identity.NewToken) (identity.Token, string, error)
	List(ctx context.Context, w page.Window) ([]identity.Token, int, error)
	Revoke(ctx context.Context, id string) error
}

// directory is the accounts and tokens of a server or a database.
type directory struct {
	accounts accountRole
	tokens   tokenRole
	remote   bool // of a server, whose caller has an account
}

// account returns an account by its name or id.
func (d directory) account(ctx context.Context, name string) (identity.Account, error) {
	list, _, err := everyRow(ctx, math.MaxInt, d.accounts.List)
	if err != nil {
		return identity.Account{}, err
	}
	rows := make([]map[string]any, len(list))
	for i, a := range list {
		if a.Username == name || a.ID == name {
			return a, nil
		}
		rows[i] = map[string]any{"username": a.Username}
	}
	n, _ := findNoun("user")
	return identity.Account{}, n.none(name, rows)
}

// token returns the id of a token by its name; an id is returned unchanged.
func (d directory) token(ctx context.Context, name string) (string, error) {
	if ids.Valid(ids.Token, name) {
		return name, nil
	}
	list, _, err := everyRow(ctx, math.MaxInt, d.tokens.List)
	if err != nil {
		return "", err
	}
	rows := make([]map[string]any, len(list))
	for i, t := range list {
		rows[i] = map[string]any{"id": t.ID, "name": t.Name, "username": t.Username}
	}
	n, _ := findNoun("token")
	id, err := new(client).pick(ctx, n.label, name, rows) // tokens are in no organization
	if err == nil && id == "" {
		err = n.none(name, rows)
	}
	return id, err
}

// accountsCommand completes a command that works on the accounts of a server, or with --db of a database on its
// machine. Its arguments are objects of nouns, whose names only a server is asked for.
func accountsCommand(
	w environment, c *cobra.Command, run func(context.Context, directory, []string, printer) error, of ...string,
) *cobra.Command {
	var d database
	if w.conn == nil {
		w.conn = &connection{}
	}
	conn := w.conn
	d.register(c)
	conn.register(w, c)
	if len(of) > 0 {
		c.ValidArgsFunction = ofServer(completeArguments(w, of...))
	}
	for _, name := range []string{"server", "token", "context", "ca-file"} {
		c.MarkFlagsMutuallyExclusive("db", name)
		c.MarkFlagsMutuallyExclusive("config", name)
	}
	return printCommand(w, c, func(ctx context.Context, a []string, out printer) error {
		if onDatabase(c) {
			return d.with(ctx, w, func(ctx context.Context, acc *compose.Accounts) error {
				return run(ctx, directory{accounts: acc.Accounts, tokens: acc.Tokens}, a, out)
			})
		}
		cl, err := conn.client(ctx, w)
		if err != nil {
			return err
		}
		return run(ctx, directory{accounts: apiAccounts{cl}, tokens: apiTokens{cl}, remote: true}, a, out)
	})
}

// lister reads a window of a list, and how many rows the list has.
type lister[T any] = func(context.Context, page.Window) ([]T, int, error)

// everyRow reads a list window by window until it has a number of rows, and returns how many the list has.
func everyRow[T any](ctx context.Context, limit int, list lister[T]) (all []T, total int, err error) {
	for {
		var rows []T
		rows, total, err = list(ctx, page.Window{Offset: len(all), Limit: min(page.MaxRows, limit-len(all))})
		if err != nil {
			return nil, 0, err
		}
		if all = append(all, rows...); len(rows) == 0 || len(all) >= min(total, limit) {
			return all, total, nil
		}
	}
}

// accountsListCommand lists what a directory has; view is a row of a document.
func accountsListCommand[T, V any](
	w environment, plural, short string, list func(directory) lister[T], view func(T) V, table func(printer, []T) error,
) *cobra.Command {
	limit := 0
	c := &cobra.Command{Use: "list", Short: short, Args: args(cobra.NoArgs)}
	c.Flags().IntVar(&limit, "limit", mostListed, "maximum number of rows")
	return accountsCommand(w, c, watching(c, func(ctx context.Context, d directory, _ []string, out printer) error {
		if err := checkLimit(limit); err != nil {
			return err
		}
		rows, total, err := everyRow(ctx, limit, list(d))
		if err != nil {
			return err
		}
		if out.json {
			views := make([]V, 0, len(rows))
			for _, r := range rows {
				views = append(views, view(r))
			}
			out.list = plural
			return out.document(map[string]any{plural: views, "count": len(views), "total": total})
		}
		if total > len(rows) {
			defer out.cutOff(len(rows), plural)
		}
		return table(out, rows)
	}))
}

// windowQuery is the query of a request for a window.
func windowQuery(w page.Window) string {
	return "?" + url.Values{"offset": {strconv.Itoa(w.Offset)}, "limit": {strconv.Itoa(w.Rows())}}.Encode()
}

// onDatabase reports whether flags select a database in place of a server.
func onDatabase(c *cobra.Command) bool { return c.Flags().Changed("db") || c.Flags().Changed("config") }

// ofServer completes nothing for a command on a database.
func ofServer(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(c *cobra.Command, given []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if onDatabase(c) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(c, given, begun)
	}
}

type apiAccounts struct{ c *client }

// profileView is the profile of an account in the API.
type profileView struct {
	FullName string   `json:"full_name,omitempty"`
	Email    string   `json:"email,omitempty"`
	Phone    string   `json:"phone,omitempty"`
	Title    string   `json:"title,omitempty"`
	Links    []string `json:"links,omitempty"`
	Notes    string   `json:"notes,omitempty"`
}

// apiAccount is an account in answers.
type apiAccount struct {
	userView
	profileView
}

func (v apiAccount) account() identity.Account {
	a := identity.Account{
		User:    identity.User{ID: v.ID, Username: v.Username, Role: identity.Role(v.Role), CreatedAt: v.CreatedAt},
		Profile: identity.Profile(v.profileView), HasPassword: v.HasPassword, UpdatedAt: v.UpdatedAt,
	}
	for _, l := range v.Identities {
		a.Identities = append(a.Identities, identity.Link(l))
	}
	return a
}

// accountBody is an account in requests. The password is a text here, since identity.Password hides it.
type accountBody struct {
	Username   *string     `json:"username,omitempty"`
	Role       *string     `json:"role,omitempty"`
	Password   *string     `json:"password,omitempty"`
	Identities *[]linkView `json:"identities,omitempty"`
	profileView
}

const usersPath = "/v1/users"

func (s apiAccounts) Create(ctx context.Context, n identity.NewAccount) (identity.Account, error) {
	role := string(n.Role)
	body := accountBody{Username: &n.Username, Role: &role}
	if n.Password != "" {
		password := string(n.Password)
		body.Password = &password
	}
	var made apiAccount
	err := s.c.call(ctx, http.MethodPost, usersPath, body, &made)
	return made.account(), err
}

func (s apiAccounts) List(ctx context.Context, w page.Window) ([]identity.Account, int, error) {
	var list struct {
		Users []apiAccount `json:"users"`
		Total int          `json:"total"`
	}
	err := s.c.call(ctx, http.MethodGet, usersPath+windowQuery(w), nil, &list)
	rows := make([]identity.Account, 0, len(list.Users))
	for _, v := range list.Users {
		rows = append(rows, v.account())
	}
	return rows, list.Total, err
}

// Update replaces the account only if nobody changed it since its profile was read.
func (s apiAccounts) Update(
	ctx context.Context, id string, _ int64, change identity.AccountChange,
) (identity.Account, error) {
	path := usersPath + "/" + url.PathEscape(id)
	_, tag, err := s.c.exchange(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return identity.Account{}, err
	}
	body := accountBody{Username: change.Username, Role: (*string)(change.Role), Password: (*string)(change.Password),
		profileView: profileView(change.Profile)}
	if change.Identities != nil {
		list := []linkView{}
		for _, l := range *change.Identities {
			list = append(list, linkView(l))
		}
		body.Identities = &list
	}
	with := *s.c
	with.header = http.Header{"If-Match": {tag}}
	var now apiAccount
	err = with.call(ctx, http.MethodPut, path, body, &now)
	return now.account(), err
}

func (s apiAccounts) Delete(ctx context.Context, id string, _ int64) error {
	return s.c.call(ctx, http.MethodDelete, usersPath+"/"+url.PathEscape(id), nil, nil)
}

type apiTokens struct{ c *client }

const tokensPath = "/v1/tokens"

func (s apiTokens) Mint(ctx context.Context, n identity.NewToken) (identity.Token, string, error) {
	body := struct {
		Name      string          `json:"name"`
		UserID    string          `json:"user_id,omitempty"`
		ExpiresIn int64           `json:"expires_in,omitempty"`
		Scopes    identity.Scopes `json:"scopes,omitempty"`
		Networks  []string        `json:"networks,omitempty"`
	}{n.Name, n.UserID, int64(n.TTL / time.Second), n.Scopes, n.Networks}
	var made madeTokenView
	err := s.c.call(ctx, http.MethodPost, tokensPath, body, &made)
	return identity.Token(made.tokenView), made.Token, err
}

func (s apiTokens) List(ctx context.Context, w page.Window) ([]identity.Token, int, error) {
	var list struct {
		Tokens []tokenView `json:"tokens"`
		Total  int         `json:"total"`
	}
	err := s.c.call(ctx, http.MethodGet, tokensPath+windowQuery(w), nil, &list)
	rows := make([]identity.Token, 0, len(list.Tokens))
	for _, t := range list.Tokens {
		rows = append(rows, identity.Token(t))
	}
	return rows, list.Total, err
}

func (s apiTokens) Revoke(ctx context.Context, id string) error {
	return s.c.call(ctx, http.MethodDelete, tokensPath+"/"+url.PathEscape(id), nil, nil)
}
