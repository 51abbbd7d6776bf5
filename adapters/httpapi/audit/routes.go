package audit

import (
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/proof/bundle"
	"github.com/writ-automation/writ/ports/proof/receipt"
)

type handlers struct {
	Params
	router  *httpapi.Router
	verdict *gate // running verifications
	bundles *gate // running bundles
}

// Busy is the fault beyond the bound of concurrent verifications or bundles.
var Busy = fault.Code{Name: "audit_busy", Kind: fault.RateLimited}

// New returns the routes of the audit context.
func New(p Params) httpapi.Routes {
	return httpapi.Routes{Name: "audit", Register: func(r *httpapi.Router) {
		h := &handlers{Params: p, router: r, verdict: newGate(), bundles: newGate()}
		h.trail(r)
		h.proofs(r)
		h.ofRuns(r)
	}}
}

const tag = "audit"

func (h *handlers) trail(r *httpapi.Router) {
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/audit", ID: "list-audit-entries", Tag: tag,
		Summary: "Read the audit trail, newest first",
		Description: "A name, an address and a path are absent after they are erased. hash and prev_hash are leaf " +
			"hashes in hex.",
		Access: httpapi.Needs("audit", "read"), Status: http.StatusOK, Example: exampleList(),
		Errors: []int{http.StatusServiceUnavailable},
	}, h.list)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/audit/register", ID: "read-change-register", Tag: tag,
		Summary:     "Read the change register of a period",
		Description: "One HTML file that loads nothing. Without from and to it covers the last 90 days.",
		Access:      httpapi.Needs("audit", "register"), Status: http.StatusOK, Produces: "text/html",
		License: audit.FeatureRegister,
		Example: "<!doctype html>\n",
		Errors:  []int{http.StatusServiceUnavailable},
	}, h.register)
}

func (h *handlers) proofs(r *httpapi.Router) {
	verify := httpapi.Needs("audit", "verify")
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/audit/verify", ID: "verify-audit-chain", Tag: tag,
		Summary: "Verify the audit trail and its anchors",
		Description: "The answer is 200 for a broken chain too. A server makes four verifications at once, three for " +
			"one account; " +
			"further ones get 429.",
		Access: verify, Status: http.StatusOK, Example: exampleVerdict(), Errors: []int{http.StatusTooManyRequests},
	}, h.verify)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/audit/bundle", ID: "download-audit-bundle", Tag: tag,
		Summary: "Download the chain as a signed bundle",
		Description: "The whole chain is verified first, whatever the window. One that does not verify answers 409 with " +
			"error, reason, broke_at, broke_seq, count and anchor_problems, the coordinates of verify. Disclosures of names, " +
			"addresses and paths are in it if the caller may read the trail. Other callers get only the hash of an " +
			"entry about something that they may not read. format=tiles answers application/zip, or 403 if it would have such " +
			"an entry. " +
			"A server makes four bundles at once, three for one account; further ones get 429. If an answer fails midway, its " +
			"connection ends.",
		Access: verify, Status: http.StatusOK, Produces: bundle.MediaType, Example: exampleBundle,
		Errors: []int{http.StatusConflict, http.StatusTooManyRequests},
	}, h.bundle)
	r.Raw(httpapi.Route{
		Method: http.MethodGet, Path: "/.well-known/seal.json", ID: "read-seal", Tag: tag,
		Summary: "Read the install's signing keys and identifiers",
		Description: "For readers that pin the keys apart from any file. Pages of other origins may read it; it has a " +
			"strong ETag, and " +
			"If-None-Match answers 304.",
		Access: httpapi.Public(), Status: http.StatusOK, Example: exampleSeal(), Errors: []int{http.StatusServiceUnavailable},
	}, http.HandlerFunc(h.seal))
}

func (h *handlers) ofRuns(r *httpapi.Router) {
	read := httpapi.Needs("run", "read")
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/runs/{id}/receipt", ID: "get-run-receipt", Tag: tag,
		Summary: "Read the signed receipt of a run",
		Description: "Service-Key-Id names the key that signed it. It has the disclosures if the caller may read the " +
			"trail. For other callers it is sparse if it would have an entry about something that they may not read. from " +
			"beyond the chain answers 409 (anchor_unsatisfied): the chain does not satisfy the caller's head.",
		Access: read, Status: http.StatusOK, Produces: receipt.MediaType, Example: exampleReceipt,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, h.receipt)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/runs/{id}/evidence", ID: "get-run-evidence", Tag: tag,
		Summary:     "Read the evidence document of a run",
		Description: "One HTML file that loads nothing; format=json answers the same as application/json.",
		Access:      read, Status: http.StatusOK, Produces: "text/html", Example: "<!doctype html>\n",
		Errors: []int{http.StatusNotFound},
	}, h.evidence)
}
