// Package mask replaces secrets in output, events and texts.
//
// One automaton contains every secret in every form in which tools print it: unchanged, escaped for JSON, for URLs and
// for shells, in base64 at each alignment, in hexadecimal digits, and each line of a secret of several lines. It reads
// a stream in one pass and holds back exactly the bytes that may still become a secret, so no secret is split over two
// writes.
//
// It finds base64 with line breaks if the secret is at its beginning, at each alignment for 76 characters, and a plain
// hexadecimal dump that begins with the secret. Of nested forms it finds those that tools print: JSON within JSON, and
// shell quoting within JSON.
//
// It does not find other derivations of a secret (a hash, upper case, one character at a time).
package mask
