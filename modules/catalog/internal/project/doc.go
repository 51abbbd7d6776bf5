// Package project stores projects and keeps the mirrors of their repositories up to date: for a request, after a
// change, and before a run. Boundary: it owns the git repositories. No other package of this context reads or fetches a
// mirror.
//
// Concurrent callers for one project share one fetch. A request stores the result in the unit of work that records the
// request. Without a request, the fetch itself stores it.
package project
