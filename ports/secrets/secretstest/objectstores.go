package secretstest

import (
	"context"
	"encoding/json"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/object/objecttest"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/secrets"
)

func credentials(e *env) objecttest.Store[secrets.Credential] {
	s := e.Credentials
	return objecttest.Store[secrets.Credential]{
		Prefix: ids.Credential, Missing: secrets.CredentialNotFound,
		Record: func(c *secrets.Credential) *object.Record { return &c.Record },
		Plain:  func(r object.Record) secrets.Credential { return secrets.Credential{Record: r, Kind: secrets.Token} },
		Full: func(r object.Record) secrets.Credential {
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
		Change: func(c *secrets.Credential) {
			c.Kind, c.TypeID, c.HasSecret = secrets.SSHKey, "cty_2", !c.HasSecret
			c.Settings, c.Fields = map[string]any{"username": "'b'"}, map[string]any{"b": "c"}
			if c.Source == nil {
				c.Source = &secrets.Source{Engine: "file", Config: map[string]any{"path": "/x"}}
			} else {
				c.Source = nil
			}
		},
		Insert: func(ctx context.Context, c secrets.Credential) error { return s.InsertCredential(ctx, c, nil) },
		ByID:   s.CredentialByID,
		List: func(
			ctx context.Context, sc access.Scope, f catalog.Filter, w page.Window,
		) ([]secrets.Credential, int, error) {
			return s.ListCredentials(ctx, sc, secrets.Filter{Name: f.Name, Names: f.Names, Org: f.Org}, w)
		},
		Update: func(ctx context.Context, c secrets.Credential, revision int64) (secrets.Credential, error) {
			return s.UpdateCredential(ctx, c, nil, revision)
		},
		Remove: s.DeleteCredential,
	}
}

func types(e *env) objecttest.Store[secrets.Type] {
	s := e.Types
	return objecttest.Store[secrets.Type]{
		Prefix: ids.CredentialType, Missing: secrets.TypeNotFound, Shared: true,
		Record: func(v *secrets.Type) *object.Record { return &v.Record },
		Plain:  func(r object.Record) secrets.Type { return secrets.Type{Record: r} },
		Full: func(r object.Record) secrets.Type {
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
		Change: func(v *secrets.Type) {
			v.Fields = []secrets.Field{{Name: "other", Type: secrets.Text}}
			v.Inject = secrets.Injectors{Env: map[string]string{"OTHER": "{{other}}"}}
		},
		Insert: s.InsertType, ByID: s.TypeByID,
		List: func(ctx context.Context, _ access.Scope, f catalog.Filter, w page.Window) ([]secrets.Type, int, error) {
			return s.ListTypes(ctx, f.Name, w)
		},
		Update: s.UpdateType, Remove: s.DeleteType,
	}
}
