package httpapi

import "github.com/writ-automation/writ/ports/fault"

// The faults that this adapter makes itself.
var (
	// TooManyStreams is the fault of an account that holds the maximum number of streams.
	TooManyStreams = fault.Code{Name: "too_many_streams", Kind: fault.RateLimited}
	// TooManyRefusals is the fault of an account that was refused more changes in a minute than are recorded one by one.
	TooManyRefusals = fault.Code{Name: "too_many_refusals", Kind: fault.RateLimited}
	// CrossOrigin is the fault of a write that a page of another origin may have sent with its visitor's cookie.
	CrossOrigin = fault.Code{Name: "cross_origin", Kind: fault.Forbidden}
	// ReadOnly is the fault of a change on a read-only install.
	ReadOnly = fault.Code{Name: "read_only", Kind: fault.Forbidden}
)
