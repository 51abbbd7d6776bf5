// Package mask replaces secrets in output, events and texts.
//
// One automaton knows every secret in every form in which tools print it: as it is, escaped for JSON, for URLs and
// for shells, in base64 at each alignment, and each line of a secret of several lines. It reads a stream in one pass
// and holds back exactly the bytes that may still become a secret, so none is split over two writes.
//
// Base64 that is broken into lines is found where the secret begins it, at each alignment for 76 characters. Of forms
// within forms those are known that tools print by themselves: JSON within JSON, and what is quoted for a shell
// within JSON.
//
// What is derived from a secret in other ways (a hash, upper case, one character at a time) is not found.
package mask
