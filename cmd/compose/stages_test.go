package compose

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

// someTokens lists tokens.
type someTokens struct {
	identity.Tokens
	list []identity.Token
}

func (s someTokens) List(_ context.Context, w page.Window) ([]identity.Token, int, error) {
	return s.list[:min(w.Limit, len(s.list))], len(s.list), nil
}

// someAccounts lists accounts.
type someAccounts struct {
	identity.Accounts
	list []identity.Account
}

func (s someAccounts) List(_ context.Context, w page.Window) ([]identity.Account, int, error) {
	return s.list[:min(w.Limit, len(s.list))], len(s.list), nil
}

// TestWarnLockedOut: a start warns if no token exists, and if the only one may be unknown to everybody.
func TestWarnLockedOut(t *testing.T) {
	t.Parallel()
	unused, used := identity.Token{ID: "tok_1"}, identity.Token{ID: "tok_1", LastUsedAt: time.Unix(1, 0)}
	for what, c := range map[string]struct {
		tokens   []identity.Token
		accounts []identity.Account
		want     string
	}{
		"none":              {nil, make([]identity.Account, 1), "no token exists"},
		"unused":            {[]identity.Token{unused}, make([]identity.Account, 1), "token_id=tok_1"},
		"used":              {[]identity.Token{used}, make([]identity.Account, 1), ""},
		"two":               {[]identity.Token{unused, used}, make([]identity.Account, 1), ""},
		"a password":        {[]identity.Token{unused}, []identity.Account{{HasPassword: true}}, ""},
		"a provider":        {[]identity.Token{unused}, []identity.Account{{Identities: make([]identity.Link, 1)}}, ""},
		"another's account": {[]identity.Token{unused}, make([]identity.Account, 2), ""},
	} {
		var log bytes.Buffer
		s := &Settings{}
		s.Log = slog.New(slog.NewTextHandler(&log, nil))
		f := newFirst(s, nil, someAccounts{list: c.accounts}, someTokens{list: c.tokens})
		if err := f.warnLockedOut(t.Context()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		warned := strings.Contains(log.String(), "level=WARN") && strings.Contains(log.String(), "writ token reset-admin")
		if warned != (c.want != "") || !strings.Contains(log.String(), c.want) {
			t.Errorf("%s: %q, want %q", what, log.String(), c.want)
		}
	}
}
