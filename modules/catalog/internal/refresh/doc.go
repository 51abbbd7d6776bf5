// Package refresh fills inventories from their sources: by hand, by the clock, and before a run.
//
// A refresh that fails leaves the inventory as it was. Where several sources fill one inventory, the last refresh
// wins: each replaces the whole content. Within a process one of them happens at a time.
package refresh
