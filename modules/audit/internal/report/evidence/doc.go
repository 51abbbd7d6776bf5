// Package evidence makes the dossier of a run: who asked for it, who allowed it, what it did and what of that can be
// proved, in one file that needs nothing else.
//
// Its boundary: one run, as readers of runs and of the chain tell of it.
package evidence
