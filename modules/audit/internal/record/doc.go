// Package record makes entries and links them to the chain as the last part of the unit of work that they tell of.
//
// What can be made beforehand is made at once: the private values with their digests and the document of details.
// What is left for the end, while the tip is held and others wait for it, is to number the leaf, to stamp it and to
// hash it.
//
// Its boundary: it alone writes entries, and reads single ones for people.
package record
