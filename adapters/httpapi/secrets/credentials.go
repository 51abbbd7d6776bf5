package secrets

import (
	"context"
	"errors"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/secrets"
)

// SourceBody is the source of a credential's secrets.
type SourceBody struct {
	Engine string         `json:"engine" doc:"vault, vault_dynamic, aws_secretsmanager, gcp_secretmanager, azure_keyvault, env, file, or one of an extension."`
	Config httpapi.Values `json:"config,omitempty" doc:"By engine. What of it is secret is sealed and not read back: one that is omitted keeps what is stored, an empty one clears it."`
}

// CredentialFields are the members of a credential, without its secrets, that a caller sets and reads.
type CredentialFields struct {
	Name     string         `json:"name" minLength:"1" maxLength:"200" doc:"Unique within the organization."`
	Kind     string         `json:"kind,omitempty" enum:"ssh_key,ssh_password,vault_password,become_password,become,network,env,token,registry,aws,azure,gcp,vmware,openstack,custom" doc:"Required unless there is a type_id, which makes it custom."`
	Settings httpapi.Values `json:"settings,omitempty" doc:"By kind: what of it is no secret."`
	Source   *SourceBody    `json:"source,omitempty" doc:"Where the secrets are fetched when a run needs them. Stored ones fill what it does not give."`
	TypeID   string         `json:"type_id,omitempty" doc:"A custom type."`
	Fields   httpapi.Values `json:"fields,omitempty" doc:"Of a custom type, by the names of its fields. Those that are secrets are given here and not read back."`
	Org      string         `json:"org_id,omitempty"`
}

// CredentialInputBody is a credential in a request.
type CredentialInputBody struct {
	CredentialFields
	CredentialSecret
}

// CredentialSecret is the sealed part of a credential.
type CredentialSecret struct {
	Secret httpapi.Values `json:"secret,omitempty" doc:"By kind: what of it is secret. It is sealed and never read back: a member that is omitted keeps what is stored, an empty one clears it."`
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

func credentialList(rows []CredentialBody, l httpapi.Listed) CredentialList {
	return CredentialList{rows, l}
}

func (in *CredentialsInput) filter() secrets.Filter {
	return secrets.Filter{Name: in.Name, Org: in.Org, Kind: secrets.Kind(in.Kind), TypeID: in.TypeID}
}

// saved is a credential that was made or changed.
type saved struct {
	secrets.Credential
	warnings []secrets.Warning
}

func (h *handlers) createCredential(ctx context.Context, b *CredentialInputBody) (s saved, err error) {
	change, err := b.change()
	if err == nil {
		s.Credential, s.warnings, err = h.Credentials.Create(ctx, change)
	}
	return s, err
}

func (h *handlers) updateCredential(
	ctx context.Context, in *httpapi.ChangeInput[ChangedCredentialBody],
) (s saved, err error) {
	b := CredentialInputBody{in.Body.CredentialFields, in.Body.CredentialSecret}
	change, err := b.change()
	if err != nil {
		return s, err
	}
	stored, err := h.Credentials.Get(ctx, in.ID)
	if err != nil {
		return s, err
	}
	if err := errors.Join(
		in.Body.Unchanged(in.ID, func() (object.Record, error) { return stored.Record, nil }),
		httpapi.Fixed("kind", b.Kind, string(stored.Kind)),
	); err != nil {
		return s, err
	}
	s.Credential, s.warnings, err = h.Credentials.Update(ctx, in.ID, in.IfMatch.Revision(), change)
	return s, err
}

func (h *handlers) credentials(r *httpapi.Router) {
	k := httpapi.Kind[secrets.Credential, CredentialBody]{
		Path: "/v1/credentials", Noun: "credential", Tag: tag, Read: httpapi.Needs("catalog", "read"),
		Write: httpapi.Needs("catalog", "write"), Example: exampleCredential(), InUse: true, Body: credentialBody,
		Record: func(c secrets.Credential) object.Record { return c.Record },
	}
	stored := httpapi.Kind[saved, SavedCredentialBody]{
		Path: k.Path, Noun: k.Noun, Tag: tag, Write: k.Write, Example: exampleSaved(), Request: exampleNewCredential(),
		Body: func(s saved) SavedCredentialBody {
			return SavedCredentialBody{credentialBody(s.Credential), s.warnings}
		},
		Record: func(s saved) object.Record { return s.Record },
	}
	httpapi.Handle(r, stored.Create(audit.CredentialCreate, "Store a credential",
		"Secrets are encrypted before they are stored. A credential may be stored without, which is a warning."),
		httpapi.Creator(stored, httpapi.Self[CredentialInputBody], h.createCredential))
	httpapi.HandleList(r, k.List("List credentials by name, without their secrets",
		"Those that the caller may read. has_secret says which of them could serve a run."),
		credentialList, credentialBody, httpapi.Filtered((*CredentialsInput).filter, h.Credentials.List), k.Example)
	httpapi.Handle(r, k.Get("Read one credential without its secrets",
		"Its settings, where its secrets come from and whether they are there."), k.Getter(h.Credentials.Get))
	httpapi.Handle(r, stored.Update(audit.CredentialUpdate, "Replace a credential",
		"An omitted member clears, but for secrets: one that is omitted keeps what is stored, an empty one clears it. "+
			"Those of another type or engine are not kept. The kind stays as it was created."),
		func(
			ctx context.Context, in *httpapi.ChangeInput[ChangedCredentialBody],
		) (*httpapi.ObjectOutput[SavedCredentialBody], error) {
			return stored.Show(h.updateCredential(ctx, in))
		})
	httpapi.Handle(r, k.Delete(audit.CredentialDelete, "Delete a credential that nothing uses",
		"What names it, and what run that has not ended needs it, is in used_by as far as the caller may read it; others "+
			"counts the rest."), httpapi.Deleter(h.Credentials.Delete))
}
