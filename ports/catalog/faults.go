package catalog

import (
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
)

// The faults of this context. The faults of package access are common to all contexts.
var (
	ProjectNotFound   = fault.Code{Name: "project_not_found", Kind: fault.NotFound}
	InventoryNotFound = fault.Code{Name: "inventory_not_found", Kind: fault.NotFound}
	VersionNotFound   = fault.Code{Name: "inventory_version_not_found", Kind: fault.NotFound}
	SourceNotFound    = fault.Code{Name: "inventory_source_not_found", Kind: fault.NotFound}
	TemplateNotFound  = fault.Code{Name: "template_not_found", Kind: fault.NotFound}
	FileNotFound      = fault.Code{Name: "file_not_found", Kind: fault.NotFound}
	CommitNotFound    = fault.Code{Name: "commit_not_found", Kind: fault.NotFound}
	ObjectNotFound    = access.ObjectNotFound
	FileTooLarge      = fault.Code{Name: "file_too_large", Kind: fault.TooLarge}
	NotAllowed        = access.NotAllowed
	NameTaken         = access.NameTaken
	RevisionChanged   = access.RevisionChanged
	SyncFailed        = fault.Code{Name: "sync_failed", Kind: fault.Conflict}
	RefreshFailed     = fault.Code{Name: "refresh_failed", Kind: fault.Conflict}
)
