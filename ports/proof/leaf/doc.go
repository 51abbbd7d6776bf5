// Package leaf is the entry of the audit chain: one canonical JSON object (RFC 8785) with a closed set of keys.
//
// A leaf has exactly one spelling. Scan accepts only the output of AppendTo, so the bytes of a leaf and its values
// determine each other. The stored bytes are hashed.
package leaf
