package catalog

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/page"
)

// The bounds of the versions of one inventory. Older ones are deleted; the newest two always stay.
const (
	KeptVersions     = 50
	KeptVersionBytes = 32 << 20 // of their contents as they are stored, compressed
)

// How is how the content of a version came.
type How string

// The ways of a change.
const (
	Edited    How = "edit"
	Refreshed How = "refresh" // from a source
	// Earlier is the content of an inventory that was stored before its versions were kept. Nobody knows whose change it
	// was, and At is the last change of the inventory.
	Earlier How = "earlier"
)

// InventoryVersion is a content that an inventory had, as it was stored. Lists and differences leave Content empty.
type InventoryVersion struct {
	Number        int64 // 1, 2, ... within the inventory
	At            time.Time
	By            actor.Actor // without an address or a token; the zero actor for Earlier
	How           How
	SourceID      string // of a refresh
	Format        Format
	Hosts, Groups int
	Digest        string // as in Inventory
	Content       []byte
}

// InventoryDiff is the difference between two versions of an inventory. A From of number 0 is an empty inventory.
type InventoryDiff struct {
	From, To      InventoryVersion
	Hosts, Groups EntryDiff
	// Text is the difference of the contents in the unified form, without a header; empty for equal contents.
	Text string
	// Truncated means that a bound left something out: entries, values or lines. The totals are whole.
	Truncated bool
}

// EntryDiff are the differences between the hosts, or the groups, of two versions, by name.
type EntryDiff struct {
	Added, Removed []string
	Changed        []ChangedEntry
	// AddedTotal, RemovedTotal and ChangedTotal count also what Truncated leaves out.
	AddedTotal, RemovedTotal, ChangedTotal int
}

// ChangedEntry is a host or a group that both versions have.
type ChangedEntry struct {
	Name string
	Vars []ChangedVar // its own, by name
	// Joined and Left are groups: those of a host, with the groups above them, or those directly above a group.
	Joined, Left []string
}

// ChangedVar is a variable with its values in both versions.
type ChangedVar struct {
	Name     string
	Had, Has bool
	From, To any // as in InventoryContent; nil also for values that are left out
}

// InventoryVersions shows what inventories contained. The caller needs the right to read the inventory; otherwise the
// fault is InventoryNotFound. Who reads an inventory sees all its values, also those of its versions.
type InventoryVersions interface {
	// Versions lists the versions of an inventory that are kept, the newest first, and their number.
	Versions(ctx context.Context, inventoryID string, w page.Window) ([]InventoryVersion, int, error)
	// Version returns a version with its content. Errors: VersionNotFound.
	Version(ctx context.Context, inventoryID string, number int64) (InventoryVersion, error)
	// Diff compares a version with another one. A from of 0 is the version before it, which for version 1 is an empty
	// inventory. Errors: VersionNotFound, an Invalid fault that names from.
	Diff(ctx context.Context, inventoryID string, from, to int64) (InventoryDiff, error)
}

// InventoryVersionStore stores the versions of inventories. They are deleted with their inventory.
type InventoryVersionStore interface {
	// KeepVersion stores the stored content of an inventory as its next version, with At, By, How and SourceID of v, and
	// deletes those beyond the bounds. It does nothing if the newest version has the digest and the format of the
	// inventory, or if how is Earlier and there is a version. It joins the unit of work in ctx, which has changed the
	// inventory before unless how is Earlier.
	KeepVersion(ctx context.Context, inventoryID string, v InventoryVersion) error
	InventoryVersions(ctx context.Context, inventoryID string, w page.Window) ([]InventoryVersion, int, error)
	// InventoryVersion returns a version with its content. Errors: VersionNotFound.
	InventoryVersion(ctx context.Context, inventoryID string, number int64) (InventoryVersion, error)
}
