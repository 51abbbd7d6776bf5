package catalog

import (
	"context"

	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
)

// References looks up the objects that a request for a run names. It does not check rights.
type References interface {
	// Exists reports whether an object exists.
	Exists(ctx context.Context, kind ids.Prefix, id string) (bool, error)
	InventoryReferences
	// Holds reports whether a template holds its runs, and names the steps that it holds. A template that does not exist
	// holds nothing.
	Holds(ctx context.Context, templateID string) (all bool, steps []string, err error)
	// Step returns what a step executes that launches a template with answers. Errors: TemplateNotFound, and Invalid
	// naming template_id for a workflow, or answers.<var>.
	Step(ctx context.Context, templateID string, answers runs.Vars) (Step, error)
	// Pin returns the commit for a new run of the project. It fetches unless a fetch succeeded within the last seconds;
	// with fresh, only a fetch that begins after the call counts. If the fetch fails, Pin returns the last good commit
	// and the reason in stale, or SyncFailed if there is no such commit. It uses the network, so callers call it
	// outside of units of work.
	Pin(ctx context.Context, projectID string, fresh bool) (commit, stale string, err error)
}

// InventoryReferences looks up what inventories mean for runs.
type InventoryReferences interface {
	// Defaults returns the queue (empty for none) and the credentials that an inventory adds to a run. Errors:
	// InventoryNotFound.
	Defaults(ctx context.Context, inventoryID string) (queue string, credentials []string, err error)
	// Targets counts the hosts of an inventory that a limit selects. An Invalid fault names limit.
	// Errors: InventoryNotFound.
	Targets(ctx context.Context, inventoryID, limit string) (Targets, error)
	// Selected returns digests of the content of an inventory and of the hosts that a limit selects. Errors are those of
	// Targets.
	Selected(ctx context.Context, inventoryID, limit string) (content, hosts string, err error)
	// Hosts returns the names of the hosts that a limit selects. Errors are those of Targets.
	Hosts(ctx context.Context, inventoryID, limit string) ([]string, error)
	// Variables returns what says which of some variables a host has, from its groups or itself; nil for an unknown host.
	// The values are those of InventoryContent. Errors: InventoryNotFound.
	Variables(ctx context.Context, inventoryID string, names ...string) (of func(host string) map[string]any, err error)
	// RefreshesOnLaunch reports whether an inventory has sources that are refreshed before a run. An inventory that does
	// not exist has none.
	RefreshesOnLaunch(ctx context.Context, inventoryID string) (bool, error)
}

// Step is what a template executes as a step of a pipeline: the members of a step that come from the template, and the
// ids of the objects that the template names. Who may use the template needs no right to use these.
type Step struct {
	Spec    runs.StepSpec
	Vouched []string
	// Locks and ExclusiveHosts are the template's, for the whole pipeline.
	Locks          []string
	ExclusiveHosts bool
}

// Targets are the hosts of an inventory that a run selects.
type Targets struct {
	Hosts, Of int
}

// Materials provides executors with the objects that runs name. It does not check rights, since the run was authorized.
type Materials interface {
	// Inventory returns the current inventory. With fresh, it first refreshes the sources that update on launch, and
	// warns of a failed refresh, after which the content is the previous one, and of reserved names that sources lost.
	// Errors: InventoryNotFound.
	Inventory(ctx context.Context, id string, fresh bool) (InventoryText, []runs.Warning, error)
	// Tree creates the directory dir, which must not exist, as a work tree of the project at the commit, with its
	// requirements unless Requirements returns them as wanted. Errors:
	// ProjectNotFound, CommitNotFound, SyncFailed.
	Tree(ctx context.Context, projectID, commit, dir string) (Deps, error)
}
