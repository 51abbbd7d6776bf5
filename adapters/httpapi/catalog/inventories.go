package catalog

import (
	"context"
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/object"
)

const inventoriesPath = "/v1/inventories"

// InventoryFields are the members of an inventory that a caller sets, without the content.
type InventoryFields struct {
	Name          string   `json:"name" minLength:"1" maxLength:"200" doc:"Unique within the organization."`
	Format        string   `json:"format,omitempty" enum:"ini,yaml,json" doc:"The format of the content, as Ansible reads it. Detected from the content if absent."`
	CredentialIDs []string `json:"credential_ids,omitempty" maxItems:"1000"`
	Queue         string   `json:"queue,omitempty" pattern:"^([A-Za-z0-9][A-Za-z0-9._:/-]{0,99})?$" patternDescription:"the name of a queue" doc:"The queue of runs that name none."`
	Org           string   `json:"org_id,omitempty"`
}

func (b *InventoryFields) inventory(content []byte) catalog.Inventory {
	return catalog.Inventory{
		Record: object.Record{Name: b.Name, Org: b.Org}, Content: content, Format: catalog.Format(b.Format),
		CredentialIDs: b.CredentialIDs,
		Queue:         b.Queue,
	}
}

// NewInventoryBody is the request body for a new inventory.
type NewInventoryBody struct {
	Content string `json:"content"`
	InventoryFields
}

// ChangedInventoryBody replaces an inventory, and its content if that is set.
type ChangedInventoryBody struct {
	InventoryRow
	Content *string `json:"content,omitempty" doc:"The stored one stays if absent."`
}

// InventoryRow is an inventory without its content.
type InventoryRow struct {
	httpapi.Record
	InventoryFields
	Hosts  int    `json:"hosts" readOnly:"true"`
	Groups int    `json:"groups" readOnly:"true" doc:"Without all and ungrouped."`
	Digest string `json:"digest" readOnly:"true" doc:"The SHA-256 of the content, in hex."`
}

// InventoryBody is an inventory.
type InventoryBody struct {
	InventoryRow
	Content string `json:"content"`
}

func inventoryRow(i catalog.Inventory) InventoryRow {
	return InventoryRow{
		Record: httpapi.RecordOf(i.Record), InventoryFields: InventoryFields{
			Name: i.Name, Format: string(i.Format), CredentialIDs: i.CredentialIDs, Queue: i.Queue, Org: i.Org,
		},
		Hosts: i.Hosts, Groups: i.Groups, Digest: i.Digest,
	}
}

func inventoryBody(i catalog.Inventory) InventoryBody {
	return InventoryBody{InventoryRow: inventoryRow(i), Content: string(i.Content)}
}

func inventoryRecord(i catalog.Inventory) object.Record { return i.Record }

// InventoryList is a list of inventories by name.
type InventoryList struct {
	Inventories []InventoryRow `json:"inventories"`
	httpapi.Listed
}

func inventory(i catalog.Inventory, err error) (*httpapi.ObjectOutput[InventoryBody], error) {
	return objectOutput(i, err, inventoryBody, inventoryRecord)
}

func (h *handlers) createInventory(
	ctx context.Context, in *httpapi.NewInput[NewInventoryBody],
) (*httpapi.NewObjectOutput[InventoryBody], error) {
	i, err := h.Inventories.Create(ctx, in.Body.inventory([]byte(in.Body.Content)))
	return newObjectOutput(inventoriesPath, i, err, inventoryBody, inventoryRecord)
}

func (h *handlers) getInventory(
	ctx context.Context, in *httpapi.IDInput,
) (*httpapi.ObjectOutput[InventoryBody], error) {
	return inventory(h.Inventories.Get(ctx, in.ID))
}

func (h *handlers) listInventories(ctx context.Context, in *ListInput) (*httpapi.ListOutput[InventoryList], error) {
	return listOutput(ctx, in, h.Inventories.List, inventoryRow,
		func(rows []InventoryRow, l httpapi.Listed) InventoryList {
			return InventoryList{Inventories: rows, Listed: l}
		})
}

func (h *handlers) updateInventory(
	ctx context.Context, in *httpapi.ChangeInput[ChangedInventoryBody],
) (*httpapi.ObjectOutput[InventoryBody], error) {
	if err := updateStatuses(ctx, in, in.Body.Record, h.Inventories.Get, inventoryRecord); err != nil {
		return nil, err
	}
	var content []byte
	if in.Body.Content != nil {
		content = append([]byte{}, *in.Body.Content...)
	}
	return inventory(h.Inventories.Update(ctx, in.ID, in.IfMatch.Revision(), in.Body.inventory(content)))
}

func (h *handlers) deleteInventory(ctx context.Context, in *httpapi.DeleteInput) (*httpapi.NoOutput, error) {
	return httpapi.Deleted(ctx, in, h.Inventories.Delete)
}

func (h *handlers) inventories(r *httpapi.Router) {
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: inventoriesPath, ID: "create-inventory", Action: audit.InventoryCreate, Tag: tag,
		Summary:     "Store an inventory",
		Description: "The content is checked; an error names its line.",
		Access:      write(), Status: http.StatusCreated, Example: exampleInventory(), Request: exampleNewInventory(),
		MaxBody: largeBody,
		Errors:  createStatuses(),
	}, h.createInventory)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: inventoriesPath, ID: "list-inventories", Tag: tag,
		Summary:     "List inventories by name, without their contents",
		Description: "The list has the objects that the caller may read. The digest changes with the content.",
		Access:      read(), Status: http.StatusOK, Errors: listStatuses(),
		Example: InventoryList{Inventories: []InventoryRow{exampleInventory().InventoryRow}, Listed: httpapi.ExampleListed()},
	}, h.listInventories)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: inventoriesPath + "/{id}", ID: "get-inventory", Tag: tag,
		Summary:     "Read one inventory with its content",
		Description: "The ETag of the answer goes into If-Match of a change.",
		Access:      read(), Status: http.StatusOK, Example: exampleInventory(), Errors: getStatuses(),
	}, h.getInventory)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPut, Path: inventoriesPath + "/{id}", ID: "update-inventory", Action: audit.InventoryUpdate,
		Tag:     tag,
		Summary: "Replace an inventory", Description: "An omitted member clears, except the content, which stays.",
		Access: write(),
		Status: http.StatusOK, Example: exampleInventory(), Request: exampleNewInventory(), MaxBody: largeBody,
		Errors: refused(),
	}, h.updateInventory)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodDelete, Path: inventoriesPath + "/{id}", ID: "delete-inventory", Action: audit.InventoryDelete,
		Tag:     tag,
		Summary: "Delete an inventory that nothing uses", Description: inUse, Access: write(), Status: http.StatusNoContent,
		Errors: refused(),
	}, h.deleteInventory)
}
