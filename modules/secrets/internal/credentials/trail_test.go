package credentials_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/secrets"
)

// scene is the state before the changes.
type scene struct {
	credential, custom, sourced secrets.Credential
	used, free                  secrets.Type
}

func (b *bundle) scene() scene {
	b.t.Helper()
	s := scene{credential: b.create(full(secrets.AWS)), used: b.custom("used"), free: b.custom("free")}
	s.custom = b.create(ofType("custom", s.used.ID, map[string]any{"user": canary, "key": canary}))
	s.sourced = b.create(from("kv", config{"address": canary, "token": canary}))
	b.trail.Take()
	return s
}

// step is one call that makes a change.
type step struct {
	name   string
	do     func(ctx context.Context, b *bundle, s scene) (id string, err error)
	action audit.Action
	detail map[string]any
}

func steps() []step {
	return append(ofCredentials(), ofTypes()...)
}

func ofCredentials() []step {
	update := func(name string, of func(s scene) secrets.Credential, c func(s scene) secrets.Change,
		detail map[string]any) step {
		return step{name, func(ctx context.Context, b *bundle, s scene) (string, error) {
			got, _, err := b.Credentials.Update(ctx, of(s).ID, 0, c(s))
			if err != nil {
				got.ID = of(s).ID
			}
			return got.ID, err
		}, audit.CredentialUpdate, detail}
	}
	return []step{
		{"create", func(ctx context.Context, b *bundle, _ scene) (string, error) {
			got, _, err := b.Credentials.Create(ctx, full(secrets.VMware))
			return got.ID, err
		}, audit.CredentialCreate, map[string]any{
			"kind": "vmware", "has_secret": true, "secret": []any{"password"},
			"settings": []any{"server", "username", "validate_certs"},
		}},
		update("update", func(s scene) secrets.Credential { return s.credential }, func(scene) secrets.Change {
			return change("a", secrets.AWS, secrets.Values{"session_token": ""})
		}, map[string]any{"kind": "aws", "has_secret": true, "secret": []any{"session_token"}}),
		update("update of a custom one", func(s scene) secrets.Credential { return s.custom }, func(s scene) secrets.Change {
			return ofType("custom", s.used.ID, map[string]any{"user": canary, "key": canary})
		}, map[string]any{"kind": "custom", "has_secret": true, "secret": []any{"key"},
			"fields": []any{"region", "tls", "user"}, "type_id": nil}),
		update("update of a source", func(s scene) secrets.Credential { return s.sourced }, func(scene) secrets.Change {
			return from("kv", config{"address": canary, "token": canary})
		}, map[string]any{"kind": "token", "has_secret": true, "engine": "kv", "config": []any{"address"},
			"config_secret": []any{"token"}}),
		{"delete", func(ctx context.Context, b *bundle, s scene) (string, error) {
			return s.credential.ID, b.Credentials.Delete(ctx, s.credential.ID, 0)
		}, audit.CredentialDelete, map[string]any{"kind": "aws", "revision": 1}},
	}
}

func ofTypes() []step {
	return []step{
		{"type create", func(ctx context.Context, b *bundle, _ scene) (string, error) {
			got, err := b.Types.Create(ctx, custom("new"))
			return got.ID, err
		}, audit.CredentialTypeCreate, map[string]any{
			"fields": []any{"user", "region", "tls", "note", "key", "cert", "strict"}, "env": []any{"PAGER_FILE", "PAGER_KEY"},
			"extra_vars": []any{"pager"}, "files": []any{"pager.ini"},
		}},
		{"type update", func(ctx context.Context, b *bundle, s scene) (string, error) {
			x := custom("renamed")
			x.Inject = secrets.Injectors{}
			_, err := b.Types.Update(ctx, s.used.ID, 0, x)
			return s.used.ID, err
		}, audit.CredentialTypeUpdate, map[string]any{"fields": []any{"user", "region", "tls", "note", "key", "cert",
			"strict"}}},
		{"type delete", func(ctx context.Context, b *bundle, s scene) (string, error) {
			return s.free.ID, b.Types.Delete(ctx, s.free.ID, 0)
		}, audit.CredentialTypeDelete, map[string]any{"revision": 1}},
	}
}

// TestOneEntry: every change has exactly one entry, which names its object and the supplied members and contains no
// value.
func TestOneEntry(t *testing.T) {
	t.Parallel()
	for _, c := range steps() {
		t.Run(c.name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, b *bundle) {
				s := b.scene()
				id, err := c.do(t.Context(), b, s)
				if err != nil {
					t.Fatal(err)
				}
				list := b.trail.Take()
				if len(list) != 1 {
					t.Fatalf("%d entries: %+v", len(list), list)
				}
				e := list[0]
				noun, _, _ := strings.Cut(string(c.action), ".")
				kind := map[string]string{"credential": "credential", "credtype": "credential_type"}[noun]
				if e.Action != c.action || e.Object.Kind != kind || e.Object.ID != id || e.Object.Name == "" || e.Outcome != "" {
					t.Errorf("entry %+v", e)
				}
				want := map[string]any{}
				for k, v := range c.detail {
					if want[k] = v; v == nil {
						want[k] = s.used.ID
					}
				}
				if d := cmp.Diff(want, e.Detail); d != "" {
					t.Error(d)
				}
				if text := fmt.Sprintf("%+v", e); strings.Contains(text, canary) {
					t.Errorf("a value is recorded: %s", text)
				}
			})
		})
	}
}

// held returns the content of all stores as text.
func (b *bundle) held() string {
	b.t.Helper()
	ctx := b.t.Context()
	types, _, err1 := b.store.ListTypes(ctx, "", window)
	known, _, err2 := b.rights.Readable(ctx, "credential", access.Everything(), window)
	out := []any{b.all(), types, known}
	for _, c := range b.all() {
		_, sealed, err := b.store.SealedByID(ctx, c.ID)
		if err != nil {
			b.t.Fatal(err)
		}
		out = append(out, sealed)
	}
	text, err3 := json.Marshal(out)
	if err := errors.Join(err1, err2, err3); err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

// TestUnrecorded: a change that cannot be recorded is not made.
func TestUnrecorded(t *testing.T) {
	t.Parallel()
	down := audit.Unrecorded.New("no trail")
	for _, c := range steps() {
		t.Run(c.name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, b *bundle) {
				s := b.scene()
				before := b.held()
				for _, fail := range []func(){func() { b.trail.Fail(down, nil) }, func() { b.trail.Fail(nil, down) }} {
					fail()
					if _, err := c.do(t.Context(), b, s); !audit.Unrecorded.Is(err) {
						t.Errorf("the error is %v", err)
					}
					if d := cmp.Diff(before, b.held()); d != "" {
						t.Errorf("something was done: %s", d)
					}
				}
			})
		})
	}
}
