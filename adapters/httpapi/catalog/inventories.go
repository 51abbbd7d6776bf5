package catalog

import (
	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/object"
)

// InventoryFields are the members of an inventory that a caller sets, without the content.
type InventoryFields struct {
	Name          string   `json:"name" minLength:"1" maxLength:"200" doc:"Unique within the organization."`
	Format        string   `json:"format,omitempty" enum:"ini,yaml,json" doc:"The format of the content, as Ansible reads it. Detected from the content if absent."`
	CredentialIDs []string `json:"credential_ids,omitempty" maxItems:"1000"`
	Queue         string   `json:"queue,omitempty" pattern:"^([A-Za-z0-9][A-Za-z0-9._:/-]{0,99})?$" patternDescription:"the name of a queue" doc:"The queue of runs that name none."`
	Org           string   `json:"org_id,omitempty"`
}

func (b *InventoryFields) with(content []byte) catalog.Inventory {
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

func (b *NewInventoryBody) inventory() catalog.Inventory { return b.with([]byte(b.Content)) }

// ChangedInventoryBody replaces an inventory, and its content if that is set.
type ChangedInventoryBody struct {
	InventoryRow
	Content *string `json:"content,omitempty" doc:"The stored one stays if absent."`
}

func (b *ChangedInventoryBody) inventory() catalog.Inventory {
	if b.Content == nil {
		return b.with(nil)
	}
	return b.with([]byte(*b.Content))
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

func inventoryList(rows []InventoryRow, l httpapi.Listed) InventoryList {
	return InventoryList{rows, l}
}

func (h *handlers) inventories(r *httpapi.Router) {
	k := httpapi.Kind[catalog.Inventory, InventoryBody]{
		Path: "/v1/inventories", Noun: "inventory", Tag: tag, Read: read(), Write: write(), Example: exampleInventory(),
		Request: exampleNewInventory(), MaxBody: largeBody, InUse: true, Body: inventoryBody, Record: inventoryRecord,
	}
	httpapi.Handle(r, k.Create(audit.InventoryCreate, "Store an inventory",
		"The content is checked; what is wrong with it is told with its line."),
		httpapi.Creator(k, (*NewInventoryBody).inventory, h.Inventories.Create))
	httpapi.HandleList(r, k.List("List inventories by name, without their contents",
		"Those that the caller may read. The digest tells whether a content changed."),
		inventoryList, inventoryRow, httpapi.Filtered((*ListInput).filter, h.Inventories.List), k.Example.InventoryRow)
	httpapi.Handle(r, k.Get("Read one inventory with its content",
		"The ETag of the answer goes into If-Match of a change."), k.Getter(h.Inventories.Get))
	httpapi.Handle(r, k.Update(audit.InventoryUpdate, "Replace an inventory",
		"An omitted member clears, but for the content, which stays."),
		httpapi.Updater(k, h.Inventories.Get, (*ChangedInventoryBody).inventory, h.Inventories.Update))
	httpapi.Handle(r, k.Delete(audit.InventoryDelete, "Delete an inventory that nothing uses", inUse),
		httpapi.Deleter(h.Inventories.Delete))
	h.hosts(r, k.Path)
}
