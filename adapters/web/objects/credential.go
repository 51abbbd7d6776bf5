package objects

import (
	"net/url"
	"slices"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/secrets"
)

// custom are the members of a custom type that its fields need.
type custom struct {
	ID     string          `json:"id"`
	Name   string          `json:"name"`
	Fields []secrets.Field `json:"fields"`
}

// choosing reports whether the kind of a new credential is still to be chosen.
func (b *builder) choosing() bool {
	return b.fresh && b.kind.Name == "credentials" && textOf(b.stored["kind"]) == "" && textOf(b.stored["type_id"]) == ""
}

// credential replaces the members that depend on the kind of a credential by a field for each member of the kind.
func (b *builder) credential(fields []field) ([]field, []group) {
	kind, typeID := secrets.Kind(textOf(b.stored["kind"])), textOf(b.stored["type_id"])
	fields = slices.DeleteFunc(fields, func(f field) bool {
		return slices.Contains([]string{"settings", "secret", "fields"}, f.Member) ||
			f.Member == "type_id" && typeID == "" || f.Member == "kind" && typeID != ""
	})
	for i, f := range fields {
		if f.Member == "kind" || f.Member == "type_id" {
			fields[i] = field{Member: f.Member, Widget: "fixed", FieldSpec: shell.FieldSpec{Name: f.Member, Label: f.Label,
				Value: f.Value}}
			fields[i].Help = shell.CredentialKind(string(kind))
		}
	}
	var hidden, shown []field
	if typeID != "" {
		hidden, shown = b.customFields(typeID, fields)
	} else {
		hidden, shown = b.builtIn(kind)
	}
	return fields, slices.DeleteFunc([]group{{Name: secretGroup, Fields: hidden}, {Name: settingGroup, Fields: shown}},
		func(g group) bool { return len(g.Fields) == 0 })
}

// builtIn returns the secret and the plain members of a built-in kind.
func (b *builder) builtIn(kind secrets.Kind) (hidden, shown []field) {
	stored, _ := b.stored["settings"].(map[string]any)
	for _, m := range kind.Members() {
		if !m.Secret {
			f := field{Member: "settings." + m.Name, FieldSpec: shell.FieldSpec{Name: "settings." + m.Name,
				Label: shell.Words(m.Name), Help: m.Doc, Value: textOf(stored[m.Name])}}
			if m.Type == secrets.Bool {
				f.Name, f.Kind = f.Member+":bool", "check"
				if b.fresh && stored[m.Name] == nil {
					f.Value = "true"
				}
			}
			shown = append(shown, f)
			continue
		}
		f := b.hidden("secret."+m.Name, shell.Words(m.Name), m.Doc, m.Type, m.Required)
		hidden = append(hidden, f)
		if !m.Required && !b.fresh {
			hidden = append(hidden, field{Member: f.Member, FieldSpec: shell.FieldSpec{Name: f.Member + ":empty",
				Label: clearText(m.Name), Kind: "check"}})
		}
	}
	return hidden, shown
}

// hidden returns the field of a secret. It never has a value: what is typed replaces what is stored.
func (b *builder) hidden(member, label, doc string, t secrets.FieldType, required bool) field {
	f := field{Member: member, FieldSpec: shell.FieldSpec{Name: member, Label: label, Help: doc, Complete: "off",
		Required: required && b.fresh, Kind: "password"}}
	switch t {
	case secrets.Multiline:
		f.Kind, f.Lines, f.Mono = "area", 6, true
	case secrets.Object:
		f.Name, f.Kind, f.Lines, f.Mono = member+":json", "area", 6, true
		f.Help += " " + jsonHelp
	}
	if !b.fresh {
		f.Help = keepsText + " " + f.Help
	}
	return f
}

// customFields returns the secret and the plain fields of a custom type, and names the type in its field.
func (b *builder) customFields(typeID string, fields []field) (hidden, shown []field) {
	var t custom
	if b.r.Get("/v1/credential-types/"+url.PathEscape(typeID), &t) != nil {
		return nil, []field{{Member: "fields", FieldSpec: shell.FieldSpec{Name: "fields:json", Label: settingGroup,
			Kind: "area", Mono: true, Help: jsonHelp, Value: jsonOf(b.stored["fields"])}}}
	}
	for i := range fields {
		if fields[i].Member == "type_id" {
			fields[i].Help = t.Name
		}
	}
	stored, _ := b.stored["fields"].(map[string]any)
	for _, m := range t.Fields {
		member, label := "fields."+m.Name, m.Label
		if label == "" {
			label = shell.Words(m.Name)
		}
		if m.Secret && m.Type != secrets.Bool && m.Type != secrets.Choice {
			hidden = append(hidden, b.hidden(member, label, "", m.Type, m.Required))
			continue
		}
		f := field{Member: member, FieldSpec: shell.FieldSpec{Name: member, Label: label, Required: m.Required && b.fresh,
			Value: textOf(stored[m.Name])}}
		if b.fresh && stored[m.Name] == nil {
			f.Value = textOf(m.Default)
		}
		switch m.Type {
		case secrets.Bool:
			f.Name, f.Kind, f.Required = member+":bool", "check", false
		case secrets.Choice:
			f.Kind, f.Choices = "select", append(noneFirst(m.Required, ""), shell.Choices(m.Choices...)...)
		case secrets.Multiline:
			f.Kind, f.Mono = "area", true
		}
		shown = append(shown, f)
	}
	return hidden, shown
}

// offered is a kind of credentials to choose.
type offered struct{ Path, Name, About string }

// offers lists the kinds of credentials, the custom types first.
func (b *builder) offers() (out []offered) {
	base := "/ui/objects/credentials/new?"
	for _, t := range b.listOf("credential-types").rows {
		out = append(out, offered{base + url.Values{"type_id": {t.Value}}.Encode(), t.Label, customText})
	}
	for _, k := range secrets.Kinds() {
		out = append(out, offered{base + url.Values{"kind": {string(k)}}.Encode(), shell.CredentialKind(string(k)),
			membersText(k.Members())})
	}
	return out
}
