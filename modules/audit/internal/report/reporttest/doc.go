// Package reporttest has what tests of documents for people need: a chain that is made by hand, and a strict reader of
// the documents' HTML.
//
// Its boundary: it exists for tests.
package reporttest
