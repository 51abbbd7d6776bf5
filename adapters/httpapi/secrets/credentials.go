package secrets

import (
	"context"
	"errors"
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/secrets"
)

const credentialsPath = "/v1/credentials"

// SourceBody is the source of a credential's secrets.
type SourceBody struct {
	Engine string `json:"engine" doc:"vault, vault_dynamic, aws_secretsmanager, gcp_secretmanager, azure_keyvault, env, file, or one of an extension."`
	Config Values `json:"config,omitempty" doc:"By engine. Secret members are sealed and not read back: an omitted one keeps the stored value, an empty one clears it."`
}

// CredentialFields are the members of a credential, without its secrets, that a caller sets and reads.
type CredentialFields struct {
	Name     string      `json:"name" minLength:"1" maxLength:"200" doc:"Unique within the organization."`
	Kind     string      `json:"kind,omitempty" enum:"ssh_key,ssh_password,vault_password,become_password,become,network,env,token,registry,aws,azure,gcp,vmware,openstack,custom" doc:"Required unless there is a type_id, which makes it custom."`
	Settings Values      `json:"settings,omitempty" doc:"By kind: the members that are not secret."`
	Source   *SourceBody `json:"source,omitempty" doc:"Where the secrets are fetched when a run needs them. Stored secrets fill those that it does not give."`
	TypeID   string      `json:"type_id,omitempty" doc:"A custom type."`
	Fields   Values      `json:"fields,omitempty" doc:"Of a custom type, by the names of its fields. Those that are secrets are given here and not read back."`
	Org      string      `json:"org_id,omitempty"`
}

// CredentialInputBody is a credential in a request.
type CredentialInputBody struct {
	CredentialFields
	CredentialSecret
}

// CredentialSecret is the sealed part of a credential.
type CredentialSecret struct {
	Secret Values `json:"secret,omitempty" doc:"By kind: the secret members. They are sealed and never read back: an omitted one keeps the stored value, an empty one clears it."`
}

// ChangedCredentialBody replaces a credential.
type ChangedCredentialBody struct {
	CredentialBody
	CredentialSecret
}

func (b *CredentialInputBody) change() (secrets.Change, error) {
	c := secrets.Change{Credential: secrets.Credential{
		Record: object.Record{Name: b.Name, Org: b.Org}, Kind: secrets.Kind(b.Kind), Settings: b.Settings, TypeID: b.TypeID,
		Fields: b.Fields,
	}}
	if b.Source != nil {
		c.Source = &secrets.Source{Engine: b.Source.Engine, Config: b.Source.Config}
	}
	kind := c.Kind
	if c.TypeID != "" {
		kind = secrets.Custom
	}
	var err error
	c.Secret, err = secretOf(kind, b.Secret)
	return c, err
}

// CredentialBody is a credential. It never holds a secret.
type CredentialBody struct {
	httpapi.Record
	CredentialFields
	HasSecret bool `json:"has_secret" readOnly:"true" doc:"Whether every secret that it needs is stored, or fetched from a source."`
}

// SavedCredentialBody is a created or changed credential.
type SavedCredentialBody struct {
	CredentialBody
	Warnings []secrets.Warning `json:"warnings,omitempty" doc:"Settings that are accepted and may have an unexpected effect."`
}

func credentialBody(c secrets.Credential) CredentialBody {
	b := CredentialBody{
		Record: httpapi.RecordOf(c.Record), CredentialFields: CredentialFields{
			Name: c.Name, Kind: string(c.Kind), Settings: c.Settings, TypeID: c.TypeID, Fields: c.Fields, Org: c.Org,
		},
		HasSecret: c.HasSecret,
	}
	if c.Source != nil {
		b.Source = &SourceBody{Engine: c.Source.Engine, Config: c.Source.Config}
	}
	return b
}

// CredentialList lists credentials by name.
type CredentialList struct {
	Credentials []CredentialBody `json:"credentials"`
	httpapi.Listed
}

// CredentialsInput selects credentials.
type CredentialsInput struct {
	httpapi.Window
	Name   string `query:"name" doc:"Only the credential of exactly this name."`
	Org    string `query:"org_id" doc:"Only credentials of this organization."`
	Kind   string `query:"kind" doc:"Only credentials of this kind."`
	TypeID string `query:"type_id" doc:"Only credentials of this custom type."`
}

func (h *handlers) createCredential(
	ctx context.Context, in *httpapi.NewInput[CredentialInputBody],
) (*httpapi.NewObjectOutput[SavedCredentialBody], error) {
	change, err := in.Body.change()
	if err != nil {
		return nil, err
	}
	c, warnings, err := h.Credentials.Create(ctx, change)
	if err != nil {
		return nil, err
	}
	return &httpapi.NewObjectOutput[SavedCredentialBody]{
		Location: credentialsPath + "/" + c.ID, ETag: httpapi.ETag(c.Revision),
		Body: SavedCredentialBody{credentialBody(c), warnings},
	}, nil
}

func (h *handlers) getCredential(
	ctx context.Context, in *httpapi.IDInput,
) (*httpapi.ObjectOutput[CredentialBody], error) {
	c, err := h.Credentials.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &httpapi.ObjectOutput[CredentialBody]{ETag: httpapi.ETag(c.Revision), Body: credentialBody(c)}, nil
}

func (h *handlers) listCredentials(
	ctx context.Context, in *CredentialsInput,
) (*httpapi.ListOutput[CredentialList], error) {
	f := secrets.Filter{Name: in.Name, Org: in.Org, Kind: secrets.Kind(in.Kind), TypeID: in.TypeID}
	list, total, err := h.Credentials.List(ctx, f, in.Page())
	if err != nil {
		return nil, err
	}
	rows, listed := httpapi.List(list, total, in.Window, credentialBody)
	return &httpapi.ListOutput[CredentialList]{Body: CredentialList{Credentials: rows, Listed: listed}}, nil
}

func (h *handlers) updateCredential(
	ctx context.Context, in *httpapi.ChangeInput[ChangedCredentialBody],
) (*httpapi.ObjectOutput[SavedCredentialBody], error) {
	b := CredentialInputBody{in.Body.CredentialFields, in.Body.CredentialSecret}
	change, err := b.change()
	if err != nil {
		return nil, err
	}
	stored, err := h.Credentials.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(
		in.Body.Unchanged(in.ID, func() (httpapi.Record, error) { return httpapi.RecordOf(stored.Record), nil }),
		httpapi.Fixed("kind", b.Kind, string(stored.Kind)),
	); err != nil {
		return nil, err
	}
	c, warnings, err := h.Credentials.Update(ctx, in.ID, in.IfMatch.Revision(), change)
	if err != nil {
		return nil, err
	}
	return &httpapi.ObjectOutput[SavedCredentialBody]{ETag: httpapi.ETag(c.Revision),
		Body: SavedCredentialBody{credentialBody(c), warnings}}, nil
}

func (h *handlers) deleteCredential(ctx context.Context, in *httpapi.DeleteInput) (*httpapi.NoOutput, error) {
	return httpapi.Deleted(ctx, in, h.Credentials.Delete)
}

func (h *handlers) credentials(r *httpapi.Router) {
	read, write := httpapi.Needs("catalog", "read"), httpapi.Needs("catalog", "write")
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: credentialsPath, ID: "create-credential", Action: audit.CredentialCreate, Tag: tag,
		Summary:     "Store a credential",
		Description: "Secrets are encrypted before they are stored. A credential may be stored without, which is a warning.",
		Access:      write, Status: http.StatusCreated, Example: exampleSaved(), Request: exampleNewCredential(),
		Errors: createStatuses(),
	}, h.createCredential)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: credentialsPath, ID: "list-credentials", Tag: tag,
		Summary:     "List credentials by name, without their secrets",
		Description: "The list has the objects that the caller may read. has_secret says which of them could serve a run.",
		Access:      read, Status: http.StatusOK, Errors: listStatuses(),
		Example: CredentialList{Credentials: []CredentialBody{exampleCredential()}, Listed: httpapi.ExampleListed()},
	}, h.listCredentials)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: credentialsPath + "/{id}", ID: "get-credential", Tag: tag,
		Summary:     "Read one credential without its secrets",
		Description: "Its settings, where its secrets come from and whether they are there.",
		Access:      read, Status: http.StatusOK, Example: exampleCredential(), Errors: getStatuses(),
	}, h.getCredential)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPut, Path: credentialsPath + "/{id}", ID: "update-credential", Action: audit.CredentialUpdate,
		Tag:     tag,
		Summary: "Replace a credential",
		Description: "An omitted member clears, except secrets: an omitted one keeps the stored value, an empty one clears it. " +
			"Secrets of another type or engine are deleted. The kind cannot change.",
		Access: write, Status: http.StatusOK, Example: exampleSaved(), Request: exampleNewCredential(),
		Errors: updateStatuses(),
	}, h.updateCredential)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodDelete, Path: credentialsPath + "/{id}", ID: "delete-credential", Action: audit.CredentialDelete,
		Tag:         tag,
		Summary:     "Delete a credential that nothing uses",
		Description: "used_by has the objects that name it and the unfinished runs that need it, if the caller may read them; others counts the rest.",
		Access:      write, Status: http.StatusNoContent, Errors: updateStatuses(),
	}, h.deleteCredential)
}
