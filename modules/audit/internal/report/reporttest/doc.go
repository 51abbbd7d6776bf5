// Package reporttest has helpers for tests of documents for people: a hand-made chain, and a strict reader of the
// documents' HTML.
//
// Its boundary: only tests import it.
package reporttest
