package secrets_test

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/secrets"
)

var past = time.Date(2026, 1, 5, 8, 30, 0, 123456000, time.UTC)

// fakeModule replaces the secrets module. It has one object of each kind, with the id "known" and the revision 3, and
// records its calls.
type fakeModule struct {
	mu       sync.Mutex
	err      error // the error of every call, if set
	asked    []any
	bare     bool // objects have only their required members
	warnings []secrets.Warning
	kind     secrets.Kind // of the credential that Get returns, if set
}

// ask records a call.
func (s *fakeModule) ask(args ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = args
	return s.err
}

// find checks the id, and the revision if it is not 0.
func (s *fakeModule) find(code fault.Code, id string, revision int64, args ...any) error {
	if err := s.ask(append([]any{id, revision}, args...)...); err != nil {
		return err
	}
	switch {
	case id != "known":
		return code.New("no object %q", id)
	case revision != 0 && revision != 3:
		return catalog.RevisionChanged.New("the object changed")
	}
	return nil
}

func (s *fakeModule) answer(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *fakeModule) last() []any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func record() object.Record {
	return object.Record{ID: "known", Name: "web", CreatedBy: "usr_admin", CreatedAt: past, UpdatedAt: past, Revision: 3}
}

type credentials struct{ *fakeModule }

func (f credentials) credential() secrets.Credential {
	c := secrets.Credential{Record: record(), Kind: secrets.VMware, SecretVersion: 9}
	if f.bare {
		return c
	}
	c.Org, c.HasSecret = "org_1", true
	c.Settings = map[string]any{"username": "ops", "validate_certs": false}
	c.Source = &secrets.Source{Engine: "vault", Config: map[string]any{"path": "a/b", "kv_version": json.Number("2")}}
	return c
}

func (f credentials) Create(_ context.Context, c secrets.Change) (secrets.Credential, []secrets.Warning, error) {
	return f.credential(), f.warnings, f.ask(c)
}

func (f credentials) Get(_ context.Context, id string) (secrets.Credential, error) {
	c := f.credential()
	if f.kind != "" {
		c.Kind = f.kind
	}
	return c, f.find(secrets.CredentialNotFound, id, 0)
}

func (f credentials) List(_ context.Context, q secrets.Filter, w page.Window) ([]secrets.Credential, int, error) {
	return []secrets.Credential{f.credential()}, 7, f.ask(q, w)
}

func (f credentials) Update(
	_ context.Context, id string, revision int64, c secrets.Change,
) (secrets.Credential, []secrets.Warning, error) {
	return f.credential(), f.warnings, f.find(secrets.CredentialNotFound, id, revision, c)
}

func (f credentials) Delete(_ context.Context, id string, revision int64) error {
	return f.find(secrets.CredentialNotFound, id, revision, "deleted")
}

type types struct{ *fakeModule }

func (f types) custom() secrets.Type {
	t := secrets.Type{Record: record(), Fields: []secrets.Field{{Name: "key", Type: secrets.Text, Secret: true}}}
	if f.bare {
		return t
	}
	t.Fields = append(t.Fields, secrets.Field{
		Name: "region", Label: "Region", Type: secrets.Choice, Required: true, Default: "eu", Choices: []string{"eu", "us"},
	})
	t.Inject = secrets.Injectors{
		Env: map[string]string{"KEY": "{{key}}"}, ExtraVars: map[string]any{"n": json.Number("98765432109876543210")},
		Files: map[string]string{"a.ini": "k={{key}}"},
	}
	return t
}

func (f types) Create(_ context.Context, t secrets.Type) (secrets.Type, error) {
	return f.custom(), f.ask(t)
}

func (f types) Get(_ context.Context, id string) (secrets.Type, error) {
	return f.custom(), f.find(secrets.TypeNotFound, id, 0)
}

func (f types) List(_ context.Context, name string, w page.Window) ([]secrets.Type, int, error) {
	return []secrets.Type{f.custom()}, 7, f.ask(name, w)
}

func (f types) Update(_ context.Context, id string, revision int64, t secrets.Type) (secrets.Type, error) {
	return f.custom(), f.find(secrets.TypeNotFound, id, revision, t)
}

func (f types) Delete(_ context.Context, id string, revision int64) error {
	return f.find(secrets.TypeNotFound, id, revision, "deleted")
}

// wall is a clock with a constant time.
type wall struct{}

func (wall) Now() time.Time { return past }
