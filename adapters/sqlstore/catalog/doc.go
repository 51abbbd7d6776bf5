// Package catalog stores projects, inventories, inventory sources and templates in SQL, and the references between
// objects of all contexts.
//
// # Contents
//
// The content of inventories is compressed in a table of its own: lists and changes of other members do not read it.
//
// # Names
//
// A unit that adds a reference to an object locks the object's row of access_objects for reading until it ends, and a
// unit that deletes the object changes that row. So the second of two concurrent units sees the result of the first.
// Units that refer to the same object do not wait for each other.
package catalog
