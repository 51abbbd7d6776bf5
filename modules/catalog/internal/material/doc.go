// Package material answers for the objects of the catalog: to who makes runs what there is and at which commit, and
// to executors what is in it. It asks for no rights.
package material
