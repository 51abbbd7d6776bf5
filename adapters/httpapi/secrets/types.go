package secrets

import (
	"context"
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/secrets"
)

const typesPath = "/v1/credential-types"

// FieldBody is a field of a type.
type FieldBody struct {
	Name     string   `json:"name" doc:"Letters, digits and underscores, and no digit first."`
	Label    string   `json:"label,omitempty"`
	Type     string   `json:"type" enum:"text,multiline,bool,choice"`
	Secret   bool     `json:"secret" required:"false" doc:"It is sealed and never read back."`
	Required bool     `json:"required" required:"false"`
	Default  any      `json:"default,omitempty" doc:"For a field that is not a secret: a string, or a boolean for the type bool."`
	Choices  []string `json:"choices,omitempty" doc:"Of the type choice."`
}

// InjectBody describes the environment variables and files that a credential of the type adds to a run.
type InjectBody struct {
	Env       map[string]string `json:"env,omitempty" doc:"Templates by the name of the variable: {{field}} is a field's value, {{files.NAME}} the path of a file."`
	ExtraVars Values            `json:"extra_vars,omitempty" doc:"By name; every text in them is a template as those of env are."`
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
		t.Fields = append(t.Fields, secrets.Field{
			Name: f.Name, Label: f.Label, Type: secrets.FieldType(f.Type), Secret: f.Secret, Required: f.Required,
			Default: f.Default, Choices: f.Choices,
		})
	}
	return t
}

// TypeBody is a type.
type TypeBody struct {
	httpapi.Record
	TypeFields
}

func typeBody(t secrets.Type) TypeBody {
	b := TypeBody{
		Record: httpapi.RecordOf(t.Record), TypeFields: TypeFields{
			Name: t.Name, Fields: []FieldBody{},
			Inject: InjectBody{Env: t.Inject.Env, ExtraVars: t.Inject.ExtraVars, Files: t.Inject.Files},
		},
	}
	for _, f := range t.Fields {
		b.Fields = append(b.Fields, FieldBody{
			Name: f.Name, Label: f.Label, Type: string(f.Type), Secret: f.Secret, Required: f.Required, Default: f.Default,
			Choices: f.Choices,
		})
	}
	return b
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

func custom(t secrets.Type, err error) (*httpapi.ObjectOutput[TypeBody], error) {
	if err != nil {
		return nil, err
	}
	return &httpapi.ObjectOutput[TypeBody]{ETag: httpapi.ETag(t.Revision), Body: typeBody(t)}, nil
}

func (h *handlers) createType(
	ctx context.Context, in *httpapi.NewInput[TypeFields],
) (*httpapi.NewObjectOutput[TypeBody], error) {
	t, err := h.Types.Create(ctx, in.Body.custom())
	if err != nil {
		return nil, err
	}
	return &httpapi.NewObjectOutput[TypeBody]{Location: typesPath + "/" + t.ID, ETag: httpapi.ETag(t.Revision),
		Body: typeBody(t)}, nil
}

func (h *handlers) getType(ctx context.Context, in *httpapi.IDInput) (*httpapi.ObjectOutput[TypeBody], error) {
	return custom(h.Types.Get(ctx, in.ID))
}

func (h *handlers) listTypes(ctx context.Context, in *TypesInput) (*httpapi.ListOutput[TypeList], error) {
	list, total, err := h.Types.List(ctx, in.Name, in.Page())
	if err != nil {
		return nil, err
	}
	rows, listed := httpapi.List(list, total, in.Window, typeBody)
	return &httpapi.ListOutput[TypeList]{Body: TypeList{Types: rows, Listed: listed}}, nil
}

func (h *handlers) updateType(
	ctx context.Context, in *httpapi.ChangeInput[TypeBody],
) (*httpapi.ObjectOutput[TypeBody], error) {
	err := in.Body.Unchanged(in.ID, func() (httpapi.Record, error) {
		stored, err := h.Types.Get(ctx, in.ID)
		return httpapi.RecordOf(stored.Record), err
	})
	if err != nil {
		return nil, err
	}
	return custom(h.Types.Update(ctx, in.ID, in.IfMatch.Revision(), in.Body.custom()))
}

func (h *handlers) deleteType(ctx context.Context, in *httpapi.DeleteInput) (*httpapi.NoOutput, error) {
	return httpapi.Deleted(ctx, in, h.Types.Delete)
}

func (h *handlers) types(r *httpapi.Router) {
	read, write := httpapi.Needs("credential_type", "read"), httpapi.Needs("credential_type", "write")
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: typesPath, ID: "create-credential-type", Action: audit.CredentialTypeCreate, Tag: tag,
		Summary:     "Define a custom type of credentials",
		Description: "Its credentials put templates that name its fields into a run. They have no logic: other braces are literal.",
		Access:      write, Status: http.StatusCreated, Example: exampleType(), Request: exampleNewType(),
		Errors: createStatuses(),
	}, h.createType)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: typesPath, ID: "list-credential-types", Tag: tag,
		Summary:     "List custom types of credentials by name",
		Description: "Ordered by name. Only for admins.",
		Access:      read, Status: http.StatusOK, Errors: listStatuses(),
		Example: TypeList{Types: []TypeBody{exampleType()}, Listed: httpapi.ExampleListed()},
	}, h.listTypes)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: typesPath + "/{id}", ID: "get-credential-type", Tag: tag,
		Summary:     "Read one custom type of credentials",
		Description: "With its fields and the templates that its credentials put into a run. Only for admins.",
		Access:      read, Status: http.StatusOK, Example: exampleType(), Errors: getStatuses(),
	}, h.getType)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPut, Path: typesPath + "/{id}", ID: "update-credential-type", Action: audit.CredentialTypeUpdate,
		Tag:     tag,
		Summary: "Replace a custom type of credentials",
		Description: "While it has credentials, its fields keep their names, their types and whether they are secrets, and a new field that is " +
			"required has a default.",
		Access: write, Status: http.StatusOK, Example: exampleType(), Request: exampleNewType(), Errors: updateStatuses(),
	}, h.updateType)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodDelete, Path: typesPath + "/{id}", ID: "delete-credential-type",
		Action: audit.CredentialTypeDelete, Tag: tag,
		Description: "A conflict counts its credentials.",
		Summary:     "Delete a custom type of credentials that nothing uses", Access: write, Status: http.StatusNoContent,
		Errors: updateStatuses(),
	}, h.deleteType)
}
