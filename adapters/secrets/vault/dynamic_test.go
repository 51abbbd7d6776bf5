package vault_test

import (
	"context"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/writ-automation/writ/adapters/secrets/vault"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/extension/extensiontest"
)

const made = "database/creds/app"

func TestDynamicKeepsTheContract(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]map[string]any{"token": nil, "approle": role(nil)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			good := s.config(made, way)
			good["field"] = "password"
			missing := s.config("database/creds/other", way)
			spoilt := s.config(made, way)
			spoilt["field"] = "key"
			t.Run("suite", extensiontest.SecretMinter{
				Name:     "vault_dynamic",
				Minter:   vault.NewDynamic(conf()),
				Another:  func(*testing.T) extension.SecretMinter { return vault.NewDynamic(conf()) },
				Unusable: []map[string]any{spoilt},
				Valid:    func(_ *testing.T, value string) bool { return s.accepts(value) },
				Minted:   func(*testing.T) int { return s.minted() },
				Configs: extensiontest.SecretConfigs{
					Good: good, Missing: map[string]map[string]any{"no such role": missing}, Bad: bads(s), Secrets: canaries(),
					Hanging: map[string]any{"address": hanging(t), "path": made, "role_id": roleID, "secret_id": secretID},
				},
			}.Run)
			if n, m := s.logins(), s.minted(); n != 0 || m != 0 {
				t.Errorf("%d tokens of logins and %d leases are left", n, m)
			}
		})
	}
}

func mint(t *testing.T, s *server, more map[string]any) (string, *extension.SecretLease) {
	t.Helper()
	value, lease, err := vault.NewDynamic(conf()).Mint(t.Context(), s.config(made, more))
	if err != nil || lease == nil || !lease.Revocable() {
		t.Fatal(lease, err)
	}
	return value, lease
}

// TestDynamicKeepsTheTokenOfItsLease checks that the token of a login lives as long as the lease made with it.
func TestDynamicKeepsTheTokenOfItsLease(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	_, lease := mint(t, s, role(nil))
	if s.logins() != 1 || s.minted() != 1 {
		t.Fatalf("%d logins, %d leases", s.logins(), s.minted())
	}
	if err := lease.Revoke(t.Context()); err != nil || s.logins() != 0 || s.minted() != 0 {
		t.Errorf("%v, %d logins, %d leases", err, s.logins(), s.minted())
	}
	want := []string{"POST /v1/auth/approle/login", "GET /v1/" + made, "PUT /v1/sys/leases/revoke",
		"POST /v1/auth/token/revoke-self"}
	if d := cmp.Diff(want, s.paths()); d != "" {
		t.Error(d)
	}
}

// TestDynamicRevokesByWhatItMay uses policies and tokens that allow only one way to revoke.
func TestDynamicRevokesByWhatItMay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		more  map[string]any
		alter func(*server)
		fails bool
	}{
		"a login that may revoke no leases": {role(nil), func(s *server) { s.noLeases = true }, false},
		"batch tokens":                      {role(nil), func(s *server) { s.batch = true }, false},
		"the login's token is over": {role(nil), func(s *server) {
			for token, own := range s.tokens {
				if own {
					delete(s.tokens, token) // the lease remains for a moment, as in a busy Vault
				}
			}
		}, false},
		"batch tokens that may revoke no leases": {role(nil), func(s *server) { s.batch, s.noLeases = true, true }, true},
		"a token that may revoke no leases":      {nil, func(s *server) { s.noLeases = true }, true},
		"a token":                                {nil, func(*server) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			_, lease := mint(t, s, c.more)
			s.set(func() { c.alter(s) })
			err := lease.Revoke(t.Context())
			if (err != nil) != c.fails || (s.minted() > 0) != c.fails {
				t.Errorf("%v, %d leases are left", err, s.minted())
			}
			if err != nil && err.Error() != "revoke what vault_dynamic minted: vault: revoke the lease: permission denied" {
				t.Error(err)
			}
			s.set(func() { s.noLeases = false })
			if err := lease.Revoke(t.Context()); err != nil || s.minted() != 0 {
				t.Errorf("again: %v, %d leases are left", err, s.minted())
			}
		})
	}
}

func TestDynamicWithoutALease(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, more := range []map[string]any{nil, role(nil)} {
		value, lease, err := vault.NewDynamic(conf()).Mint(t.Context(), s.config("identity/made", more))
		if err != nil || value != `{"token":"c4nary-unleased"}` || lease == nil || lease.Revocable() ||
			lease.Handle() != "" || lease.Engine() != "vault_dynamic" {
			t.Errorf("%v %v", lease, err)
		}
		if err := lease.Revoke(t.Context()); err != nil || s.logins() != 0 {
			t.Errorf("%v, %d logins are left", err, s.logins())
		}
	}
	if err := vault.NewDynamic(conf()).RevokeLease(t.Context(), s.config(made, nil), ""); err == nil {
		t.Error("a lease without an id was revoked")
	}
}

// TestDynamicCleansUpInItsOwnTime cancels the context while the credential is made: the login is revoked all the same.
func TestDynamicCleansUpInItsOwnTime(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	front := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/"+made {
			cancel()
			<-r.Context().Done()
			return
		}
		s.ServeHTTP(w, r)
	})
	config := s.config(made, role(map[string]any{"address": front}))
	if _, _, err := vault.NewDynamic(conf()).Mint(ctx, config); err == nil || s.logins() != 0 {
		t.Errorf("%v, %d logins are left", err, s.logins())
	}
}

// TestDynamicRenews extends a lease, and the token of a login with it: the shorter lifetime counts.
func TestDynamicRenews(t *testing.T) {
	t.Parallel()
	renewal := []string{"PUT /v1/sys/leases/renew"}
	for name, c := range map[string]struct {
		more        map[string]any
		alter       func(*server)
		life, again time.Duration // 0: not renewed
		asks        []string
	}{
		"token": {nil, func(*server) {}, time.Hour, 30 * time.Minute, renewal},
		"login": {role(nil), func(*server) {}, 20 * time.Minute, 15 * time.Minute,
			append([]string{"POST /v1/auth/token/renew-self"}, renewal...)},
		"short": {role(nil), func(s *server) { s.life = 60 }, time.Minute, 15 * time.Minute,
			append([]string{"POST /v1/auth/token/renew-self"}, renewal...)},
		"not renewable": {nil, func(s *server) { s.fixed = true }, 0, 0, nil},
		"endless":       {nil, func(s *server) { s.life = math.MaxInt64 }, 365 * 24 * time.Hour, 30 * time.Minute, renewal},
		"denied":        {nil, func(s *server) { s.noRenewal = true }, time.Hour, 0, renewal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			s.set(func() { c.alter(s) })
			_, lease := mint(t, s, c.more)
			if lease.Life() != c.life {
				t.Fatalf("it lives for %s", lease.Life())
			}
			before := len(s.paths())
			if c.life > 0 {
				again, err := lease.Renew(t.Context())
				if again != c.again || (err == nil) != (c.again > 0) || err != nil && strings.Contains(err.Error(), rootToken) {
					t.Errorf("renewed for %s, %v", again, err)
				}
			}
			if d := cmp.Diff(c.asks, s.paths()[before:], cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
			if err := lease.Revoke(t.Context()); err != nil || s.minted() != 0 || s.logins() != 0 {
				t.Errorf("%v, %d leases", err, s.minted())
			}
		})
	}
}
