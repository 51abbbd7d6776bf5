// Package evidence makes the dossier of a run in one self-contained file: who requested it, who approved it, what it
// did and which of that can be proved.
//
// Its boundary: one run, read through the readers of runs and of the chain.
package evidence
