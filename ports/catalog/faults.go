package catalog

import "github.com/writ-automation/writ/ports/fault"

// The faults of this context. Some have the names that other contexts give the same thing.
var (
	ProjectNotFound   = fault.Code{Name: "project_not_found", Kind: fault.NotFound}
	InventoryNotFound = fault.Code{Name: "inventory_not_found", Kind: fault.NotFound}
	SourceNotFound    = fault.Code{Name: "inventory_source_not_found", Kind: fault.NotFound}
	TemplateNotFound  = fault.Code{Name: "template_not_found", Kind: fault.NotFound}
	FileNotFound      = fault.Code{Name: "file_not_found", Kind: fault.NotFound}
	CommitNotFound    = fault.Code{Name: "commit_not_found", Kind: fault.NotFound}
	ObjectNotFound    = fault.Code{Name: "object_not_found", Kind: fault.NotFound}
	FileTooLarge      = fault.Code{Name: "file_too_large", Kind: fault.TooLarge}
	NotAllowed        = fault.Code{Name: "forbidden", Kind: fault.Forbidden}
	NameTaken         = fault.Code{Name: "name_taken", Kind: fault.Conflict}
	RevisionChanged   = fault.Code{Name: "precondition_failed", Kind: fault.Stale}
	// InUse carries Detail used_by, a list of {kind, id} that the caller may read, and others, how many more there are.
	InUse         = fault.Code{Name: "in_use", Kind: fault.Conflict}
	SyncFailed    = fault.Code{Name: "sync_failed", Kind: fault.Conflict}
	RefreshFailed = fault.Code{Name: "refresh_failed", Kind: fault.Conflict}
)

// Codes lists every fault of this context.
func Codes() []fault.Code {
	return []fault.Code{
		ProjectNotFound, InventoryNotFound, SourceNotFound, TemplateNotFound, FileNotFound, CommitNotFound, ObjectNotFound,
		FileTooLarge, NotAllowed, NameTaken, RevisionChanged, InUse, SyncFailed, RefreshFailed,
	}
}
