// Package objects finds and writes the objects of the catalog for imports, whatever their kind.
//
// Boundary: it knows the members of each kind and the contexts that store them. It knows no format, no plan and no
// transaction. Members have the names of the API, with ids for references.
package objects
