package audit

import (
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/proof"
)

// The faults of the trail.
var (
	// Unrecorded is the fault of a change whose entry could not be made; the change was not made either.
	Unrecorded = fault.Code{Name: "audit_unavailable", Kind: fault.Unavailable}
	// Broken is the fault of a chain that does not recompute. Detail has broke_at, broke_seq, count and anchor_problems.
	Broken = fault.Code{Name: string(proof.ChainBreak), Kind: fault.Conflict}
	// Unsatisfied is the fault of a chain that recomputes but does not satisfy a head that was seen before.
	Unsatisfied = fault.Code{Name: string(proof.AnchorUnsatisfied), Kind: fault.Conflict}
	// Unbundlable is the fault of a chain that verifies but does not fit the format of bundles.
	Unbundlable = fault.Code{Name: string(proof.ChainUnbundlable), Kind: fault.Conflict}
	// NoSigningKey is the fault of a server without the install's signing key.
	NoSigningKey = fault.Code{Name: "signing_key_missing", Kind: fault.Unavailable}
	// ReceiptTooLong is the fault of a contiguous receipt over too many entries; a sparse one may fit.
	ReceiptTooLong = fault.Code{Name: "receipt_too_long", Kind: fault.Conflict}
	// EntryNotFound is the fault of a sequence number beyond the chain.
	EntryNotFound = fault.Code{Name: "entry_not_found", Kind: fault.NotFound}
	// RolledBack is the fault of a chain that does not satisfy a seen head because it was restored from a copy.
	RolledBack = fault.Code{Name: "audit_rolled_back", Kind: fault.Conflict}
	// NotRolledBack is the fault of accepting a rollback of a chain that satisfies every head.
	NotRolledBack = fault.Code{Name: "audit_not_rolled_back", Kind: fault.Conflict}
	// ForeignHead is the fault of a signed head of another install.
	ForeignHead = fault.Code{Name: "foreign_head", Kind: fault.Invalid}
	// AnchorFailed is the fault of an outside anchor that could not be made.
	AnchorFailed = fault.Code{Name: "anchor_failed", Kind: fault.Unavailable}
)
