// Package disclosure separates private values from the chain: a leaf has the salted digest of a value, in the form of
// RFC 9901, and the value itself can be erased without breaking the chain.
package disclosure
