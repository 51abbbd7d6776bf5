// Package record makes entries and links them to the chain at the end of the unit of work that makes the change.
//
// Everything that can be prepared is prepared at once: the private values with their digests and the document of
// details. At the end of the unit, while other units wait for the tip, the leaf only gets its number, its time and its
// hash.
//
// Its boundary: no other package writes entries; it also reads single entries for people.
package record
