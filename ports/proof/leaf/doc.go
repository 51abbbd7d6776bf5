// Package leaf is the record of the audit chain: one canonical JSON object (RFC 8785) with a closed set of keys.
//
// A leaf has exactly one spelling. AppendTo writes it and Scan accepts it and nothing else, so that whoever holds the
// bytes of a leaf holds its values, and the other way round. What is hashed is always the stored bytes.
package leaf
