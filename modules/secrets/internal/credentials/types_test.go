package credentials_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/secrets"
)

func TestTypes(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		made := b.custom("pager")
		got := must[secrets.Type](t)(b.Types.Get(ctx, made.ID))
		if d := cmp.Diff(made, got); d != "" || got.Revision != 1 {
			t.Error(d)
		}
		if _, err := b.Types.Create(ctx, custom("pager")); !catalog.NameTaken.Is(err) {
			t.Error(err)
		}
		b.custom("other")
		list, total, err := b.Types.List(ctx, "", window)
		if err != nil || total != 2 || list[0].Name != "other" {
			t.Error(list, total, err)
		}
		if list, total, err = b.Types.List(ctx, "pager", window); err != nil || total != 1 || list[0].ID != made.ID {
			t.Error(list, total, err)
		}
		next := custom("renamed")
		next.Fields = next.Fields[:5]
		next.Inject.ExtraVars["big"] = json.Number("98765432109876543210")
		if got, err = b.Types.Update(ctx, made.ID, 1, next); err != nil || got.Revision != 2 || len(got.Fields) != 5 ||
			got.Name != "renamed" {
			t.Error(got, err)
		}
		if _, err := b.Types.Update(ctx, made.ID, 1, next); !catalog.RevisionChanged.Is(err) {
			t.Error(err)
		}
		if err := b.Types.Delete(ctx, made.ID, 1); !catalog.RevisionChanged.Is(err) {
			t.Error(err)
		}
		if err := b.Types.Delete(ctx, made.ID, 2); err != nil {
			t.Error(err)
		}
		_, err = b.Types.Get(ctx, made.ID)
		_, changed := b.Types.Update(ctx, made.ID, 0, next)
		for _, err := range []error{err, changed, b.Types.Delete(ctx, made.ID, 0)} {
			if !secrets.TypeNotFound.Is(err) {
				t.Error(err)
			}
		}
	})
}

func TestTypesRefused(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	for where, change := range map[string]func(x *secrets.Type){
		"name": func(x *secrets.Type) { x.Name = "" }, "fields": func(x *secrets.Type) { x.Fields = nil },
		"org_id": func(x *secrets.Type) {
			x.Org = "org_1"
		},
		"fields[0].name":       func(x *secrets.Type) { x.Fields[0].Name = "a-b" },
		"fields[1].name":       func(x *secrets.Type) { x.Fields[1].Name = "user" },
		"fields[2].name":       func(x *secrets.Type) { x.Fields[2].Name = "files" },
		"fields[0].label":      func(x *secrets.Type) { x.Fields[0].Label = "a\nb" },
		"fields[0].type":       func(x *secrets.Type) { x.Fields[0].Type = secrets.Object },
		"fields[0].choices":    func(x *secrets.Type) { x.Fields[0].Choices = []string{"a"} },
		"fields[1].choices":    func(x *secrets.Type) { x.Fields[1].Choices = nil },
		"fields[1].choices[1]": func(x *secrets.Type) { x.Fields[1].Choices = []string{"eu", "eu"} },
		"fields[1].choices[0]": func(x *secrets.Type) { x.Fields[1].Choices = []string{""} },
		"fields[1].default":    func(x *secrets.Type) { x.Fields[1].Default = "asia" },
		"fields[2].default":    func(x *secrets.Type) { x.Fields[2].Default = "true" },
		"fields[0].default":    func(x *secrets.Type) { x.Fields[0].Default = "a\nb" },
		"fields[3].default":    func(x *secrets.Type) { x.Fields[3].Default = 7.0 },
		"fields[4].default":    func(x *secrets.Type) { x.Fields[4].Default = canary },

		"inject.env.1A":         func(x *secrets.Type) { x.Inject.Env["1A"] = "" },
		"inject.env.WRIT_X":     func(x *secrets.Type) { x.Inject.Env["WRIT_X"] = "" },
		"inject.env.LD_PRELOAD": func(x *secrets.Type) { x.Inject.Env["LD_PRELOAD"] = "{{key}}" },
		"inject.env.A":          func(x *secrets.Type) { x.Inject.Env["A"] = "{{nope}}" },
		"inject.env.B":          func(x *secrets.Type) { x.Inject.Env["B"] = "{{key}} {{" },
		"inject.env.C":          func(x *secrets.Type) { x.Inject.Env["C"] = "{{ key | upper }}" },
		"inject.env.D":          func(x *secrets.Type) { x.Inject.Env["D"] = "{{files.none}}" },
		"inject.env.E":          func(x *secrets.Type) { x.Inject.Env["E"] = "{{key.part}}" },
		"inject.env.F":          func(x *secrets.Type) { x.Inject.Env["F"] = "a\x00" },
		"inject.files.a/b":      func(x *secrets.Type) { x.Inject.Files["a/b"] = "" },
		"inject.files...":       func(x *secrets.Type) { x.Inject.Files[".."] = "" },
		"inject.files.b":        func(x *secrets.Type) { x.Inject.Files["b"] = "{{files.pager.ini}}" },
		"inject.files.c":        func(x *secrets.Type) { x.Inject.Files["c"] = "{{nope}}" },
		"inject.extra_vars.a-b": func(x *secrets.Type) { x.Inject.ExtraVars["a-b"] = "" },
		"inject.extra_vars.x[1].y": func(x *secrets.Type) {
			x.Inject.ExtraVars["x"] = []any{1, map[string]any{"y": "{{nope}}"}}
		},
		"inject.extra_vars.__ansible_vault": func(x *secrets.Type) { x.Inject.ExtraVars["__ansible_vault"] = "" },
		"inject.extra_vars.z": func(x *secrets.Type) {
			x.Inject.ExtraVars["z"] = map[string]any{"__ansible_unsafe": "{{key}}"}
		},
		"inject.extra_vars.pager.list": func(x *secrets.Type) { x.Inject.ExtraVars["pager"] = map[string]any{"list": "{{"} },
		"inject.extra_vars":            func(x *secrets.Type) { x.Inject.ExtraVars["x"] = strings.Repeat("a", 70000) },
	} {
		x := custom("pager")
		change(&x)
		_, err := b.Types.Create(t.Context(), x)
		if !fault.Is(err, fault.Invalid) || field(err) != where || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v", where, err)
		}
	}
	x := custom("literal")
	x.Inject.Files["a.json"] = `{"a":{"b":"{{key}}"}} {% if key %} {# no #} {{{key}}} }}`
	if _, err := b.Types.Create(t.Context(), x); err != nil {
		t.Error(err)
	}
}

// TestCustom separates the secret fields of a custom credential from the public ones.
func TestCustom(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		custom := b.custom("pager")
		c := ofType("mine", custom.ID, map[string]any{"user": "ops", "tls": false, "key": canary, "strict": true,
			"note": nil})
		c.Kind, c.Secret = secrets.Custom, secrets.Values{"cert": "line\nline"}
		got, warnings, err := b.Credentials.Create(t.Context(), c)
		if err != nil || len(warnings) != 0 || got.Kind != secrets.Custom || got.TypeID != custom.ID || !got.HasSecret {
			t.Fatal(got, warnings, err)
		}
		read := must[secrets.Credential](t)(b.Credentials.Get(t.Context(), got.ID))
		visible := map[string]any{"user": "ops", "tls": false, "region": "eu"}
		if d := cmp.Diff(visible, read.Fields) + cmp.Diff(got, read); d != "" {
			t.Error(d)
		}
		want := secrets.Values{"key": canary, "strict": "true", "cert": "line\nline"}
		if d := cmp.Diff(want, b.opened(got.ID).Secret); d != "" {
			t.Error(d)
		}
		got = b.update(got.ID, ofType("mine", custom.ID,
			map[string]any{"user": "dev", "region": "us", "cert": "", "strict": false}))
		want = secrets.Values{"key": canary, "strict": "false"}
		if d := cmp.Diff(want, b.opened(got.ID).Secret) + cmp.Diff(map[string]any{"user": "dev", "tls": true, "region": "us"},
			got.Fields); d != "" {
			t.Error(d)
		}
		got = b.update(got.ID, ofType("mine", custom.ID, map[string]any{"user": "dev", "key": ""}))
		if got.HasSecret {
			t.Errorf("%+v", got)
		}
		list, total, err := b.Credentials.List(t.Context(), secrets.Filter{TypeID: custom.ID}, window)
		if err != nil || total != 1 || list[0].ID != got.ID {
			t.Error(list, total, err)
		}
	})
}

func TestCustomRefused(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	custom := b.custom("pager")
	beside := func(values secrets.Values) secrets.Change {
		c := ofType("a", custom.ID, map[string]any{"user": "u", "key": canary})
		c.Secret = values
		return c
	}
	with := func(name string, v any) secrets.Change {
		return ofType("a", custom.ID, map[string]any{"user": "u", name: v})
	}
	for _, c := range []struct {
		where  string
		change secrets.Change
	}{
		{"fields.user", ofType("a", custom.ID, nil)}, {"fields.user", with("user", "")}, {"fields.user", with("user", nil)},
		{"fields.user", with("user", 7)},
		{"fields.user", with("user", canary+"\n")}, {"fields.nope", with("nope", canary)},
		{"fields.region", with("region", canary)},
		{"fields.tls", with("tls", canary)}, {"fields.tls", with("tls", "")}, {"fields.key", with("key", 7)},
		{"fields.key", with("key", canary+"\n")},
		{"fields.strict", with("strict", canary)}, {"secret.key", beside(secrets.Values{"key": canary})},
		{"secret.user", beside(secrets.Values{"user": canary})},
		{"secret.nope", beside(secrets.Values{"nope": canary})}, {"secret.strict", beside(secrets.Values{"strict": canary})},
	} {
		_, _, err := b.Credentials.Create(t.Context(), c.change)
		if !fault.Is(err, fault.Invalid) || field(err) != c.where || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v", c.where, err)
		}
	}
	if _, _, err := b.Credentials.Create(t.Context(),
		ofType("a", b.ids.New("cty_"), nil)); !secrets.TypeNotFound.Is(err) || field(err) != "type_id" {
		t.Error(err)
	}
}

// TestTypeInUse: a type with credentials only changes in ways that are valid for them.
func TestTypeInUse(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		made := b.custom("pager")
		mine := b.create(ofType("mine", made.ID, map[string]any{"user": "ops", "key": canary}))
		for name, change := range map[string]func(x *secrets.Type){
			"lost":          func(x *secrets.Type) { x.Fields = append(x.Fields[:3:3], x.Fields[4:]...) },
			"renamed":       func(x *secrets.Type) { x.Fields[3].Name = "remark" },
			"another type":  func(x *secrets.Type) { x.Fields[3].Type = secrets.Text },
			"a secret now":  func(x *secrets.Type) { x.Fields[3].Secret = true },
			"no secret now": func(x *secrets.Type) { x.Fields[5].Secret = false },
			"new, required": func(x *secrets.Type) {
				x.Fields = append(x.Fields, secrets.Field{Name: "new", Type: secrets.Text, Required: true})
			},
			"required now": func(x *secrets.Type) { x.Fields[5].Required = true },
		} {
			x := custom("pager")
			change(&x)
			if _, err := b.Types.Update(ctx, made.ID, 0, x); !secrets.TypeInUse.Is(err) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got := must[secrets.Type](t)(b.Types.Get(ctx, made.ID)); cmp.Diff(made, got) != "" {
			t.Errorf("a refusal changed it: %s", cmp.Diff(made, got))
		}
		for name, change := range map[string]func(x *secrets.Type){
			"optional": func(x *secrets.Type) {
				x.Fields = append(x.Fields, secrets.Field{Name: "new", Type: secrets.Text, Secret: true})
			},
			"with a default": func(x *secrets.Type) {
				x.Fields = append(x.Fields, secrets.Field{Name: "new", Type: secrets.Text, Required: true, Default: "d"})
			},
			"in another order": func(x *secrets.Type) { x.Fields[0], x.Fields[1] = x.Fields[1], x.Fields[0] },
			"not required":     func(x *secrets.Type) { x.Fields[0].Required = false },
			"other injectors":  func(x *secrets.Type) { x.Inject = secrets.Injectors{} },
		} {
			x := custom("pager")
			change(&x)
			fresh := b.custom("fresh " + name)
			b.create(ofType("of "+name, fresh.ID, map[string]any{"user": "ops"}))
			x.Name = fresh.Name
			if _, err := b.Types.Update(ctx, fresh.ID, 0, x); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		err := b.Types.Delete(ctx, made.ID, 0)
		if d := cmp.Diff([]map[string]any{{"kind": "credential", "id": mine.ID}}, detailOf(err, "used_by")); d != "" ||
			!object.InUse.Is(err) ||
			!strings.Contains(err.Error(), "credential type") {
			t.Error(d, err)
		}
		if err := b.Credentials.Delete(ctx, mine.ID, 0); err != nil {
			t.Fatal(err)
		}
		if err := b.Types.Delete(ctx, made.ID, 0); err != nil {
			t.Error(err)
		}
	})
}
