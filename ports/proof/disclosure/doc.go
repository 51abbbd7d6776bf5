// Package disclosure keeps private values apart from the chain: a leaf holds the salted digest of one, in the form of
// RFC 9901, and the value itself can be erased while the chain stays whole.
package disclosure
