// Package importer defines how definitions from other automation products become objects of the catalog.
//
// A Format reads an export into a Draft: objects in the form of the catalog, which name each other, and everything in
// the export that has no place in it, with the reason. An Importer compares a draft with what is stored and answers a
// plan; it writes the plan in one transaction if asked. Nothing of an export is dropped silently, and no secret of an
// export is in a draft, a plan or a fault.
package importer
