// Package audit is the API of the trail: what was recorded, whether the chain is intact, and the files for a check
// without the server. Only callers who may read the trail see names, addresses and paths; others get the files without
// them.
package audit
