package importer

import "github.com/writ-automation/writ/ports/fault"

// The faults of this context.
var (
	UnknownFormat = fault.Code{Name: "unknown_import_format", Kind: fault.Invalid}
	// NothingFound is an export in which nothing can be imported, and nothing is left out either.
	NothingFound = fault.Code{Name: "nothing_to_import", Kind: fault.Invalid}
	// Malformed is an export that cannot be read.
	Malformed = fault.Code{Name: "malformed_export", Kind: fault.Invalid}
	// ArchiveTooLarge is an archive beyond the limits of its entries.
	ArchiveTooLarge = fault.Code{Name: "archive_too_large", Kind: fault.TooLarge}
)
