// Package jcs writes values in the one form that RFC 8785 gives them, and reads single strings in it.
//
// What Append writes is what Scan accepts, and nothing else: a string has exactly one spelling. U+0000 has none,
// because not every database can hold it. A Form says which values a document may hold beside.
package jcs
