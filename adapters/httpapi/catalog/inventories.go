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
	HostKeyPolicy string   `json:"host_key_policy,omitempty" enum:"accept-new,strict" doc:"What a run does with a host whose key is not known: accept it for the run alone, which is the default, or not reach the host. A key that differs from the known one is refused in both cases."`
	MaxConcurrent int      `json:"max_concurrent,omitempty" minimum:"0" maximum:"10000" doc:"How many runs on it may execute at a time; 0 is any number."`
	Org           string   `json:"org_id,omitempty"`
}

func (b *InventoryFields) with(content, knownHosts *string) catalog.Inventory {
	text := func(s *string) []byte {
		if s == nil {
			return nil
		}
		return []byte(*s)
	}
	return catalog.Inventory{
		Record: object.Record{Name: b.Name, Org: b.Org}, Content: text(content),
		Format: catalog.Format(b.Format), CredentialIDs: b.CredentialIDs, Queue: b.Queue,
		KnownHosts: text(knownHosts), HostKeyPolicy: catalog.HostKeyPolicy(b.HostKeyPolicy),
		MaxConcurrent: b.MaxConcurrent,
	}
}

// NewInventoryBody is the request body for a new inventory.
type NewInventoryBody struct {
	Content    string  `json:"content"`
	KnownHosts *string `json:"known_hosts,omitempty" doc:"The keys of the hosts, in the format of OpenSSH's known_hosts."`
	InventoryFields
}

func (b *NewInventoryBody) inventory() catalog.Inventory { return b.with(&b.Content, b.KnownHosts) }

// ChangedInventoryBody replaces an inventory, and its content and its known hosts if they are set.
type ChangedInventoryBody struct {
	InventoryRow
	Content    *string `json:"content,omitempty" doc:"The stored one stays if absent."`
	KnownHosts *string `json:"known_hosts,omitempty" doc:"The stored ones stay if absent."`
}

func (b *ChangedInventoryBody) inventory() catalog.Inventory { return b.with(b.Content, b.KnownHosts) }

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
	Content    string `json:"content"`
	KnownHosts string `json:"known_hosts,omitempty" doc:"The keys of the hosts. Absent from lists, as the content is."`
}

func inventoryRow(i catalog.Inventory) InventoryRow {
	return InventoryRow{
		Record: httpapi.RecordOf(i.Record), InventoryFields: InventoryFields{
			Name: i.Name, Format: string(i.Format), CredentialIDs: i.CredentialIDs, Queue: i.Queue, Org: i.Org,
			HostKeyPolicy: string(i.HostKeyPolicy), MaxConcurrent: i.MaxConcurrent,
		},
		Hosts: i.Hosts, Groups: i.Groups, Digest: i.Digest,
	}
}

func inventoryBody(i catalog.Inventory) InventoryBody {
	return InventoryBody{InventoryRow: inventoryRow(i), Content: string(i.Content), KnownHosts: string(i.KnownHosts)}
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
		"The content and the known hosts are checked; an error names the line."),
		httpapi.Creator(k, (*NewInventoryBody).inventory, h.Inventories.Create))
	httpapi.HandleList(r, k.List("List inventories by name, without their contents",
		"Those that the caller may read. The digest tells whether a content changed."),
		inventoryList, inventoryRow, httpapi.Filtered((*ListInput).filter, h.Inventories.List), k.Example.InventoryRow)
	httpapi.Handle(r, k.Get("Read one inventory with its content",
		"The ETag of the answer goes into If-Match of a change."), k.Getter(h.Inventories.Get))
	httpapi.Handle(r, k.Update(audit.InventoryUpdate, "Replace an inventory",
		"An omitted member clears, but for the content and the known hosts, which stay."),
		httpapi.Updater(k, h.Inventories.Get, (*ChangedInventoryBody).inventory, h.Inventories.Update))
	httpapi.Handle(r, k.Delete(audit.InventoryDelete, "Delete an inventory that nothing uses", inUse),
		httpapi.Deleter(h.Inventories.Delete))
	h.hosts(r, k.Path)
	h.versions(r, k.Path)
}
