package catalog

import (
	"context"

	"github.com/writ-automation/writ/ports/ids"
)

// References tells those who make runs what a request may name. It asks for no rights.
type References interface {
	// Exists reports whether there is an object.
	Exists(ctx context.Context, kind ids.Prefix, id string) (bool, error)
	// Defaults returns what an inventory adds to a run that names it: its queue, empty for none, and its credentials.
	// InventoryNotFound.
	Defaults(ctx context.Context, inventoryID string) (queue string, credentials []string, err error)
	// Pin returns the commit at which a run of the project made now is to execute. It fetches unless that was done
	// within the last seconds; with fresh it fetches at any rate, and nothing counts that began before the call. Where
	// nothing can be fetched it is the last good commit, and stale says why; SyncFailed where there is none. It uses the
	// network and is called outside of units.
	Pin(ctx context.Context, projectID string, fresh bool) (commit, stale string, err error)
}

// Materials gives executors what runs name. It asks for no rights: the run was let in.
type Materials interface {
	// Inventory returns an inventory as it is now. With fresh the sources that update on launch are asked first; one
	// that fails leaves what was there, and stale says so in a sentence. InventoryNotFound.
	Inventory(ctx context.Context, id string, fresh bool) (content []byte, f Format, stale string, err error)
	// Tree makes dir, which must not exist, a work tree of the project at the commit. ProjectNotFound, CommitNotFound,
	// SyncFailed.
	Tree(ctx context.Context, projectID, commit, dir string) (Deps, error)
}
