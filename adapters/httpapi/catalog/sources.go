package catalog

import (
	"context"
	"errors"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/runs"
)

// SourceFields are the members of an inventory source that a caller sets.
type SourceFields struct {
	Name           string       `json:"name" minLength:"1" maxLength:"200" doc:"Unique within the organization."`
	Kind           string       `json:"kind" enum:"plugin,script,project,http"`
	Config         SourceConfig `json:"config" required:"false" doc:"By kind. plugin: the inventory plugin's own YAML as an object, its member plugin included. script: content, the program, unless there is a path. http: url, and headers, an object of texts: they read back empty, and an empty one keeps the stored value. project: nothing."`
	Path           string       `json:"path,omitempty" doc:"A file of the project: of the kinds project and script."`
	ProjectID      string       `json:"project_id,omitempty"`
	CredentialID   string       `json:"credential_id,omitempty"`
	InventoryID    string       `json:"inventory_id" doc:"The inventory that it fills."`
	UpdateOnLaunch bool         `json:"update_on_launch" required:"false" doc:"Refresh before a run of the inventory executes."`
	SyncInterval   int          `json:"sync_interval" required:"false" minimum:"0" doc:"Seconds between refreshes, at least 60; 0 is none."`
	Trusted        bool         `json:"trusted,omitempty" doc:"Only an admin sets it: then templates and connection variables of the source take effect. Otherwise its values are data, and reserved names are dropped."`
	Org            string       `json:"org_id,omitempty"`
}

func (b *SourceFields) source() (catalog.InventorySource, error) {
	s := catalog.InventorySource{
		Record: object.Record{Name: b.Name, Org: b.Org}, Kind: catalog.SourceKind(b.Kind), Path: b.Path,
		ProjectID:    b.ProjectID,
		CredentialID: b.CredentialID, InventoryID: b.InventoryID, UpdateOnLaunch: b.UpdateOnLaunch,
		SyncInterval: b.SyncInterval, Trusted: b.Trusted,
	}
	var err error
	s.Config, err = config(s.Kind, b.Config)
	return s, err
}

// SourceBody is an inventory source.
type SourceBody struct {
	httpapi.Record
	SourceFields
	SyncedAt  *time.Time `json:"synced_at,omitempty" readOnly:"true" doc:"Of the last refresh that succeeded."`
	LastError string     `json:"last_error,omitempty" readOnly:"true" doc:"Of the last refresh; absent where it succeeded."`
	// Warnings are those that runs of the inventory get.
	Warnings []runs.Warning `json:"warnings,omitempty" readOnly:"true" doc:"Of the last refresh that succeeded: vars_reserved names what was dropped."`
}

func sourceBody(s catalog.InventorySource) SourceBody {
	b := SourceBody{
		Record: httpapi.RecordOf(s.Record), SourceFields: SourceFields{
			Name: s.Name, Kind: string(s.Kind), Path: s.Path, ProjectID: s.ProjectID, CredentialID: s.CredentialID,
			InventoryID:    s.InventoryID,
			UpdateOnLaunch: s.UpdateOnLaunch, SyncInterval: s.SyncInterval, Trusted: s.Trusted, Org: s.Org,
			Config: configBody(s.Kind, s.Config),
		},
		SyncedAt: httpapi.When(s.SyncedAt), LastError: s.LastError,
	}
	if s.Dropped != "" {
		b.Warnings = []runs.Warning{runs.ReservedDropped("the inventory source "+s.ID, s.Dropped)}
	}
	return b
}

func sourceRecord(s catalog.InventorySource) object.Record { return s.Record }

// SourceList is a list of inventory sources by name.
type SourceList struct {
	Sources []SourceBody `json:"inventory_sources"`
	httpapi.Listed
}

func sourceList(rows []SourceBody, l httpapi.Listed) SourceList { return SourceList{rows, l} }

func (h *handlers) createSource(ctx context.Context, b *SourceFields) (catalog.InventorySource, error) {
	s, err := b.source()
	if err != nil {
		return s, err
	}
	return h.Sources.Create(ctx, s)
}

func (h *handlers) compareSource(ctx context.Context, id string, b *SourceFields) ([]string, error) {
	s, err := b.source()
	if err != nil {
		return nil, err
	}
	return h.Sources.Compare(ctx, id, s)
}

func (h *handlers) updateSource(
	ctx context.Context, in *httpapi.ChangeInput[SourceBody],
) (s catalog.InventorySource, err error) {
	if s, err = in.Body.source(); err != nil {
		return s, err
	}
	stored, err := h.Sources.Get(ctx, in.ID)
	if err != nil {
		return s, err
	}
	if err := errors.Join(
		in.Body.Unchanged(in.ID, func() (object.Record, error) { return stored.Record, nil }),
		httpapi.Fixed("kind", in.Body.Kind, string(stored.Kind)),
	); err != nil {
		return s, err
	}
	return h.Sources.Update(ctx, in.ID, in.IfMatch.Revision(), s)
}

func (h *handlers) sources(r *httpapi.Router) {
	k := httpapi.Kind[catalog.InventorySource, SourceBody]{
		Path: "/v1/inventory-sources", Noun: "inventory-source", Tag: tag, Read: read(), Write: write(),
		Example: exampleSource(), Request: exampleNewSource(), InUse: true, Body: sourceBody, Record: sourceRecord,
	}
	httpapi.Handle(r, k.Create(audit.SourceCreate, "Create an inventory source",
		"It fills the inventory when it is refreshed: on demand, by its interval, or before a launch."),
		httpapi.Creator(k, httpapi.Self[SourceFields], h.createSource))
	httpapi.HandleList(r, k.List("List inventory sources by name",
		"Those that the caller may read. last_error says why the last refresh failed."),
		sourceList, sourceBody, httpapi.Filtered((*ListInput).filter, h.Sources.List), k.Example)
	httpapi.Handle(r, k.Get("Read one inventory source", "Values of its headers read back masked."),
		k.Getter(h.Sources.Get))
	httpapi.Handle(r, k.Update(audit.SourceUpdate, "Replace an inventory source",
		"An omitted member clears; a header without a value keeps the stored one. The kind stays as it was created."),
		func(ctx context.Context, in *httpapi.ChangeInput[SourceBody]) (*httpapi.ObjectOutput[SourceBody], error) {
			return k.Show(h.updateSource(ctx, in))
		})
	httpapi.Handle(r, k.Compare("object"), httpapi.Comparer(httpapi.Self[SourceFields], h.compareSource))
	httpapi.Handle(r, k.Delete(audit.SourceDelete, "Delete an inventory source; the inventory stays as it is",
		"Hosts that it brought stay in the inventory until somebody changes that."), httpapi.Deleter(h.Sources.Delete))
	httpapi.Handle(r, k.Act("refresh", audit.SourceRefresh, "Fill the inventory from its source now",
		"A conflict says why it could not be filled; it stays as it was."), k.Getter(h.Sources.Refresh))
}
