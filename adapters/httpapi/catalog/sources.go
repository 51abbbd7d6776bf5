package catalog

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/object"
)

const sourcesPath = "/v1/inventory-sources"

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
	Org            string       `json:"org_id,omitempty"`
}

func (b *SourceFields) source() (catalog.InventorySource, error) {
	s := catalog.InventorySource{
		Record: object.Record{Name: b.Name, Org: b.Org}, Kind: catalog.SourceKind(b.Kind), Path: b.Path,
		ProjectID:    b.ProjectID,
		CredentialID: b.CredentialID, InventoryID: b.InventoryID, UpdateOnLaunch: b.UpdateOnLaunch,
		SyncInterval: b.SyncInterval,
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
	LastError string     `json:"last_error,omitempty" readOnly:"true" doc:"Error of the last refresh; absent if it succeeded."`
}

func sourceBody(s catalog.InventorySource) SourceBody {
	return SourceBody{
		Record: httpapi.RecordOf(s.Record), SourceFields: SourceFields{
			Name: s.Name, Kind: string(s.Kind), Path: s.Path, ProjectID: s.ProjectID, CredentialID: s.CredentialID,
			InventoryID:    s.InventoryID,
			UpdateOnLaunch: s.UpdateOnLaunch, SyncInterval: s.SyncInterval, Org: s.Org,
			Config: configBody(s.Kind, s.Config),
		},
		SyncedAt: httpapi.When(s.SyncedAt), LastError: s.LastError,
	}
}

func sourceRecord(s catalog.InventorySource) object.Record { return s.Record }

// SourceList is a list of inventory sources by name.
type SourceList struct {
	Sources []SourceBody `json:"inventory_sources"`
	httpapi.Listed
}

func source(s catalog.InventorySource, err error) (*httpapi.ObjectOutput[SourceBody], error) {
	return objectOutput(s, err, sourceBody, sourceRecord)
}

func (h *handlers) createSource(
	ctx context.Context, in *httpapi.NewInput[SourceFields],
) (*httpapi.NewObjectOutput[SourceBody], error) {
	s, err := in.Body.source()
	if err == nil {
		s, err = h.Sources.Create(ctx, s)
	}
	return newObjectOutput(sourcesPath, s, err, sourceBody, sourceRecord)
}

func (h *handlers) getSource(ctx context.Context, in *httpapi.IDInput) (*httpapi.ObjectOutput[SourceBody], error) {
	return source(h.Sources.Get(ctx, in.ID))
}

func (h *handlers) listSources(ctx context.Context, in *ListInput) (*httpapi.ListOutput[SourceList], error) {
	return listOutput(ctx, in, h.Sources.List, sourceBody, func(rows []SourceBody, l httpapi.Listed) SourceList {
		return SourceList{Sources: rows, Listed: l}
	})
}

func (h *handlers) updateSource(
	ctx context.Context, in *httpapi.ChangeInput[SourceBody],
) (*httpapi.ObjectOutput[SourceBody], error) {
	s, err := in.Body.source()
	if err != nil {
		return nil, err
	}
	stored, err := h.Sources.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(
		in.Body.Unchanged(in.ID, func() (httpapi.Record, error) { return httpapi.RecordOf(stored.Record), nil }),
		httpapi.Fixed("kind", in.Body.Kind, string(stored.Kind)),
	); err != nil {
		return nil, err
	}
	return source(h.Sources.Update(ctx, in.ID, in.IfMatch.Revision(), s))
}

func (h *handlers) compareSource(
	ctx context.Context, in *httpapi.CompareInput[SourceFields],
) (*httpapi.DifferenceOutput, error) {
	s, err := in.Body.source()
	if err != nil {
		return nil, err
	}
	return httpapi.Difference(h.Sources.Compare(ctx, in.ID, s))
}

func (h *handlers) deleteSource(ctx context.Context, in *httpapi.DeleteInput) (*httpapi.NoOutput, error) {
	return httpapi.Deleted(ctx, in, h.Sources.Delete)
}

func (h *handlers) refreshSource(ctx context.Context, in *httpapi.IDInput) (*httpapi.ObjectOutput[SourceBody], error) {
	return source(h.Sources.Refresh(ctx, in.ID))
}

func (h *handlers) sources(r *httpapi.Router) {
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: sourcesPath, ID: "create-inventory-source", Action: audit.SourceCreate, Tag: tag,
		Description: "It fills the inventory when it is refreshed: on demand, by its interval, or before a launch.",
		Summary:     "Create an inventory source", Access: write(), Status: http.StatusCreated, Example: exampleSource(),
		Request: exampleNewSource(), Errors: createStatuses(),
	}, h.createSource)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: sourcesPath, ID: "list-inventory-sources", Tag: tag,
		Summary: "List inventory sources by name", Access: read(),
		Description: "The list has the objects that the caller may read. last_error says why the last refresh failed.",
		Status:      http.StatusOK, Example: SourceList{Sources: []SourceBody{exampleSource()},
			Listed: httpapi.ExampleListed()}, Errors: listStatuses(),
	}, h.listSources)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: sourcesPath + "/{id}", ID: "get-inventory-source", Tag: tag,
		Summary:     "Read one inventory source",
		Description: "Values of its headers read back masked.",
		Access:      read(), Status: http.StatusOK, Example: exampleSource(), Errors: getStatuses(),
	}, h.getSource)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPut, Path: sourcesPath + "/{id}", ID: "update-inventory-source", Action: audit.SourceUpdate,
		Tag:         tag,
		Summary:     "Replace an inventory source",
		Description: "An omitted member clears; a header without a value keeps the stored one. The kind cannot change.",
		Access:      write(), Status: http.StatusOK, Example: exampleSource(), Request: exampleNewSource(), Errors: refused(),
	}, h.updateSource)
	httpapi.Handle(r, compared(sourcesPath, "inventory-source", exampleNewSource(), 0), h.compareSource)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodDelete, Path: sourcesPath + "/{id}", ID: "delete-inventory-source", Action: audit.SourceDelete,
		Tag:         tag,
		Description: "The hosts from it stay in the inventory until they are removed.",
		Summary:     "Delete an inventory source; the inventory stays as it is", Access: write(),
		Status: http.StatusNoContent, Errors: refused(),
	}, h.deleteSource)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: sourcesPath + "/{id}/refresh", ID: "refresh-inventory-source",
		Action: audit.SourceRefresh, Tag: tag,
		Summary:     "Fill the inventory from its source now",
		Description: "If it cannot be filled, the answer is a conflict with the reason, and it stays unchanged.",
		Access:      write(), Status: http.StatusOK, Example: exampleSource(), Errors: createStatuses(),
	}, h.refreshSource)
}
