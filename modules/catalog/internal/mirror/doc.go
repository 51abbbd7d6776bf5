// Package mirror keeps the mirrors of projects up to date: by hand, by itself after a change, and before a run.
//
// However many ask for a project at once, its repository is asked once: the others wait for that answer. What was
// found is stored by whoever asked by a request, in the unit that records the request, and by the fetch itself where
// nobody did.
package mirror
