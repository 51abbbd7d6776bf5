// Package parent decides about runs that consist of other runs. For a pipeline it checks the graph of steps and decides
// which steps start next. For a split it divides the hosts over the shards. For both it derives how the parent ends.
//
// The package has no state and reads no store: each result depends on the arguments only. Package lifecycle stores the
// results, in the unit of work of the transition.
package parent
