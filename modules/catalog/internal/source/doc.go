// Package source stores inventory sources and fills inventories from them: for a request, when a source is due, and
// before a run. Boundary: it owns the foreign content and the sealed header values. No other package of this context
// reads what a source returns. Sources have no grants: the rights to their inventories apply.
//
// A failed refresh leaves the inventory unchanged. If several sources fill one inventory, the last refresh wins, since
// each replaces the whole content. Within a process, one of them runs at a time.
package source
