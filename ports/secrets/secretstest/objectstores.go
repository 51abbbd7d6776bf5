package secretstest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/secrets"
)

// objectStore adapts the store of one kind to the cases for both kinds.
type objectStore[T any] struct {
	prefix  ids.Prefix
	missing fault.Code
	orgs    bool // whether records may belong to an organization
	record  func(v *T) *object.Record

	plain func(r object.Record) T // only required members
	full  func(r object.Record) T // every member
	// change sets every member that a caller may set, except the record, to a value that neither plain nor full uses.
	change func(v *T)

	insert func(ctx context.Context, v T) error
	byID   func(ctx context.Context, id string) (T, error)
	list   func(ctx context.Context, name string, w page.Window) ([]T, int, error)
	update func(ctx context.Context, v T, revision int64) (T, error)
	remove func(ctx context.Context, id string, revision int64) error
}

func credentials(e *env) objectStore[secrets.Credential] {
	s := e.Credentials
	return objectStore[secrets.Credential]{
		prefix: ids.Credential, missing: secrets.CredentialNotFound, orgs: true,
		record: func(c *secrets.Credential) *object.Record { return &c.Record },
		plain:  func(r object.Record) secrets.Credential { return secrets.Credential{Record: r, Kind: secrets.Token} },
		full: func(r object.Record) secrets.Credential {
			return secrets.Credential{
				Record: r, Kind: secrets.Custom, TypeID: "cty_1", HasSecret: true, SecretVersion: 1 << 40,
				Settings: map[string]any{"username": odd, odd: "", "long": long, "yes": true, "no": false},
				Fields:   map[string]any{"host": odd, "verify": false, "'": "\""},
				Source: &secrets.Source{Engine: odd, Config: map[string]any{
					"path": odd, "n": json.Number("123456789012345678901234567890"), "f": json.Number("0.1000"), "none": nil,
					"yes":  true,
					"list": []any{json.Number("1"), "a", map[string]any{odd: odd}},
				}},
			}
		},
		change: func(c *secrets.Credential) {
			c.Kind, c.TypeID, c.HasSecret = secrets.SSHKey, "cty_2", !c.HasSecret
			c.Settings, c.Fields = map[string]any{"username": "'b'"}, map[string]any{"b": "c"}
			if c.Source == nil {
				c.Source = &secrets.Source{Engine: "file", Config: map[string]any{"path": "/x"}}
			} else {
				c.Source = nil
			}
		},
		insert: func(ctx context.Context, c secrets.Credential) error { return s.InsertCredential(ctx, c, nil) },
		byID:   s.CredentialByID,
		list: func(ctx context.Context, name string, w page.Window) ([]secrets.Credential, int, error) {
			return s.ListCredentials(ctx, access.Everything(), secrets.Filter{Name: name}, w)
		},
		update: func(ctx context.Context, c secrets.Credential, revision int64) (secrets.Credential, error) {
			return s.UpdateCredential(ctx, c, nil, revision)
		},
		remove: s.DeleteCredential,
	}
}

func types(e *env) objectStore[secrets.Type] {
	s := e.Types
	return objectStore[secrets.Type]{
		prefix: ids.CredentialType, missing: secrets.TypeNotFound,
		record: func(v *secrets.Type) *object.Record { return &v.Record },
		plain:  func(r object.Record) secrets.Type { return secrets.Type{Record: r} },
		full: func(r object.Record) secrets.Type {
			return secrets.Type{
				Record: r,
				Fields: []secrets.Field{
					{Name: "host", Label: odd, Type: secrets.Text, Required: true, Default: odd},
					{Name: "verify", Type: secrets.Bool, Default: true},
					{Name: "key", Type: secrets.Multiline, Secret: true, Required: true},
					{Name: "level", Label: long, Type: secrets.Choice, Choices: []string{"b", "a", odd, ""}},
				},
				Inject: secrets.Injectors{
					Env: map[string]string{"HOST": "{{host}} " + odd, "EMPTY": ""},
					ExtraVars: map[string]any{
						"v": "{{key}}", odd: []any{json.Number("123456789012345678901234567890"), nil, true, map[string]any{"a": odd}},
					},
					Files: map[string]string{"a.pem": "{{key}}\n" + long},
				},
			}
		},
		change: func(v *secrets.Type) {
			v.Fields = []secrets.Field{{Name: "other", Type: secrets.Text}}
			v.Inject = secrets.Injectors{Env: map[string]string{"OTHER": "{{other}}"}}
		},
		insert: s.InsertType, byID: s.TypeByID, list: s.ListTypes, update: s.UpdateType, remove: s.DeleteType,
	}
}

// add stores a plain value of a kind with edits.
func add[T any](t *testing.T, e *env, s objectStore[T], edit ...func(*object.Record)) T {
	t.Helper()
	v := s.plain(e.record(s.prefix, ""))
	for _, fn := range edit {
		fn(s.record(&v))
	}
	e.must(t, func(ctx context.Context) error { return s.insert(ctx, v) })
	return v
}

func named(name string) func(*object.Record) { return func(r *object.Record) { r.Name = name } }

func inOrg(org string) func(*object.Record) { return func(r *object.Record) { r.Org = org } }

func get[T any](t *testing.T, s objectStore[T], id string) T {
	t.Helper()
	v, err := s.byID(t.Context(), id)
	noError(t, err)
	return v
}

// all lists everything, or the objects with a name if it is not empty.
func all[T any](t *testing.T, s objectStore[T], name string) []T {
	t.Helper()
	list, n, err := s.list(t.Context(), name, page.Window{})
	noError(t, err)
	same(t, "total", len(list), n)
	return list
}

// idsOf returns the ids of values in their order.
func idsOf[T any](s objectStore[T], list []T) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = s.record(&list[i]).ID
	}
	return out
}
