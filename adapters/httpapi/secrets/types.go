package secrets

import (
	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/secrets"
)

// FieldBody is a field of a type.
type FieldBody struct {
	Name     string            `json:"name" doc:"Letters, digits and underscores, and no digit first."`
	Label    string            `json:"label,omitempty"`
	Type     secrets.FieldType `json:"type" enum:"text,multiline,bool,choice"`
	Secret   bool              `json:"secret" required:"false" doc:"It is sealed and never read back."`
	Required bool              `json:"required" required:"false"`
	Default  any               `json:"default,omitempty" doc:"Of a field that is no secret: a string, or a boolean of the type bool."`
	Choices  []string          `json:"choices,omitempty" doc:"Of the type choice."`
}

// InjectBody describes the environment variables and files that a credential of the type adds to a run.
type InjectBody struct {
	Env       map[string]string `json:"env,omitempty" doc:"Templates by the name of the variable: {{field}} is a field's value, {{files.NAME}} the path of a file."`
	ExtraVars httpapi.Values    `json:"extra_vars,omitempty" doc:"By name; every text in them is a template as those of env are."`
	Files     map[string]string `json:"files,omitempty" doc:"Templates of the contents of private files, by their names."`
}

// TypeFields are the members of a type that a caller sets.
type TypeFields struct {
	Name   string      `json:"name" minLength:"1" maxLength:"200" doc:"Unique."`
	Fields []FieldBody `json:"fields"`
	Inject InjectBody  `json:"inject" required:"false"`
}

func (b *TypeFields) custom() secrets.Type {
	t := secrets.Type{
		Record: object.Record{Name: b.Name},
		Inject: secrets.Injectors{Env: b.Inject.Env, ExtraVars: b.Inject.ExtraVars, Files: b.Inject.Files},
	}
	for _, f := range b.Fields {
		t.Fields = append(t.Fields, secrets.Field(f))
	}
	return t
}

// TypeBody is a type.
type TypeBody struct {
	httpapi.Record
	TypeFields
}

func typeBody(t secrets.Type) TypeBody {
	return TypeBody{httpapi.RecordOf(t.Record), TypeFields{
		Name:   t.Name,
		Fields: httpapi.Rows(t.Fields, func(f secrets.Field) FieldBody { return FieldBody(f) }),
		Inject: InjectBody{Env: t.Inject.Env, ExtraVars: t.Inject.ExtraVars, Files: t.Inject.Files},
	}}
}

// TypeList lists types by name.
type TypeList struct {
	Types []TypeBody `json:"credential_types"`
	httpapi.Listed
}

// TypesInput selects types.
type TypesInput struct {
	httpapi.Window
	Name string `query:"name" doc:"Only the type of exactly this name."`
}

func typeList(rows []TypeBody, l httpapi.Listed) TypeList { return TypeList{rows, l} }

func (h *handlers) types(r *httpapi.Router) {
	k := httpapi.Kind[secrets.Type, TypeBody]{
		Path: "/v1/credential-types", Noun: "credential-type", Tag: tag, Read: httpapi.Needs("credential_type", "read"),
		Write: httpapi.Needs("credential_type", "write"), Example: exampleType(), Request: exampleNewType(), InUse: true,
		Body: typeBody, Record: func(t secrets.Type) object.Record { return t.Record },
	}
	httpapi.Handle(r, k.Create(audit.CredentialTypeCreate, "Define a custom type of credentials",
		"What credentials of it put into a run are templates that name its fields. They have no logic: other braces are "+
			"literal."), httpapi.Creator(k, (*TypeFields).custom, h.Types.Create))
	httpapi.HandleList(r, k.List("List custom types of credentials by name", "Ordered by name. For admins alone."),
		typeList, typeBody,
		httpapi.Filtered(func(in *TypesInput) string { return in.Name }, h.Types.List), k.Example)
	httpapi.Handle(r, k.Get("Read one custom type of credentials",
		"With its fields and what credentials of it put into a run. For admins alone."), k.Getter(h.Types.Get))
	httpapi.Handle(r, k.Update(audit.CredentialTypeUpdate, "Replace a custom type of credentials",
		"While credentials are of it, its fields keep their names, their types and whether they are secrets, and what is "+
			"new and required has a default."),
		httpapi.Updater(k, h.Types.Get, (*TypeBody).custom, h.Types.Update))
	httpapi.Handle(r, k.Delete(audit.CredentialTypeDelete, "Delete a custom type of credentials that nothing uses",
		"A conflict counts the credentials that are of it."), httpapi.Deleter(h.Types.Delete))
}
