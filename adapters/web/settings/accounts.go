package settings

import (
	"strings"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

// accounts lists the accounts.
func (h *handlers) accounts(r *shell.Request) (*shell.Page, error) {
	list, total, err := h.Accounts.List(r.Context(), page.Window{Limit: page.MaxRows})
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	seen, err := h.lastSeen(r)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query().Get("q")
	t := table{Caption: tabAccounts, Heads: []string{"Account", "Role", "Title", "Sign-in", "Last seen", ""},
		Empty: noMatch, Why: clearSearch}
	admins := 0
	for _, a := range list {
		if a.Role == identity.Admin {
			admins++
		}
		if matches(q, a.Username, a.Profile.FullName, a.Profile.Email, string(a.Role)) && len(t.Rows) < maxRows {
			t.Rows = append(t.Rows, accountRow(a, seen[a.ID]))
		}
	}
	hd := head{Title: tabAccounts, Sentence: accountsText(total, admins), Add: "New account",
		New: "/ui/objects/users/new"}
	return pageOfList(r, hd, t, search{Label: "Find an account", Value: q, Cut: cutText(len(t.Rows), len(list), total)})
}

func accountRow(a identity.Account, seen time.Time) row {
	name := cell{Text: a.Username, Sub: a.Profile.FullName, Href: editOf("users", a.ID)}
	return row{Cells: []cell{name, roleCell(a.Role), text(a.Profile.Title), text(signInText(a)), never(seen, "never")},
		Link: deleteOf("users", a.ID), LinkText: "Delete"}
}

// lastSeen returns when each account last used one of its tokens, by the newest tokens.
func (h *handlers) lastSeen(r *shell.Request) (map[string]time.Time, error) {
	list, err := h.newestTokens(r)
	if err != nil {
		return nil, err
	}
	out := map[string]time.Time{}
	for _, t := range list {
		if t.LastUsedAt.After(out[t.UserID]) {
			out[t.UserID] = t.LastUsedAt
		}
	}
	return out, nil
}

// newestTokens returns the tokens that were made last.
func (h *handlers) newestTokens(r *shell.Request) ([]identity.Token, error) {
	list, total, err := h.Tokens.List(r.Context(), page.Window{Limit: page.MaxRows})
	if err == nil && total > len(list) {
		list, _, err = h.Tokens.List(r.Context(), page.Window{Offset: total - page.MaxRows, Limit: page.MaxRows})
	}
	return list, err //nolint:wrapcheck // a fault
}

// tokens lists the tokens of all accounts, the newest first.
func (h *handlers) tokens(r *shell.Request) (*shell.Page, error) {
	list, err := h.newestTokens(r)
	if err != nil {
		return nil, err
	}
	names, err := h.accountNames(r)
	if err != nil {
		return nil, err
	}
	q, t := r.URL.Query().Get("q"), table{Caption: tabTokens, Empty: "No tokens",
		Why:   "A token lets a program act for an account. Sessions are listed here too.",
		Heads: []string{"Token", "Owner", "Made by", "Last used", "Ends", ""}}
	if strings.TrimSpace(q) != "" {
		t.Empty, t.Why = noMatch, clearSearch
	}
	api, sessions := 0, 0
	for i := len(list) - 1; i >= 0; i-- {
		k := list[i]
		if k.Kind == identity.SessionToken {
			sessions++
		} else {
			api++
		}
		if matches(q, k.Name, k.Username, string(k.Kind)) && len(t.Rows) < maxRows {
			t.Rows = append(t.Rows, tokenRow(k, names[k.CreatedBy], r.Now))
		}
	}
	hd := head{Title: tabTokens, Sentence: tokensText(api, sessions), Add: "New token",
		New: "/ui/objects/tokens/new"}
	return pageOfList(r, hd, t, search{Label: "Find a token", Value: q, Cut: cutText(len(t.Rows), len(list), len(list))})
}

func tokenRow(k identity.Token, by string, now time.Time) row {
	ends := never(k.ExpiresAt, "never")
	if !k.ExpiresAt.IsZero() && !k.ExpiresAt.After(now) {
		ends = state("stop", "Ended")
	}
	if by == "" {
		by = k.CreatedBy
	}
	return row{Cells: []cell{{Text: tokenName(k), Sub: limitsText(k)}, text(k.Username), text(by),
		never(k.LastUsedAt, "never"), ends}, Link: deleteOf("tokens", k.ID), LinkText: "Delete"}
}

// accountNames returns the names of accounts by their ids.
func (h *handlers) accountNames(r *shell.Request) (map[string]string, error) {
	list, _, err := h.Accounts.List(r.Context(), page.Window{Limit: page.MaxRows})
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	out := make(map[string]string, len(list))
	for _, a := range list {
		out[a.ID] = a.Username
	}
	return out, nil
}
