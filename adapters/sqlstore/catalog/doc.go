// Package catalog keeps projects, inventories, sources of inventories and templates in SQL, and what objects of every
// context name.
//
// # Contents
//
// What an inventory says is packed in a table of its own: neither a list nor a change of anything else reads it.
//
// # Names
//
// Who names an object holds the object's row of access_objects until its unit ends, and who removes the object
// changes that row: of two that meet, the one that comes second sees what the first one did. Those who name one
// object do not wait for one another.
package catalog
