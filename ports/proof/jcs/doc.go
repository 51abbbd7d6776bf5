// Package jcs writes values in the canonical form of RFC 8785, and reads single strings in it.
//
// Scan accepts exactly the output of Append: a string has one spelling. U+0000 is refused, because not every database
// can store it. A Form defines further values that a document may have.
package jcs
