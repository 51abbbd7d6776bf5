package check

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
)

// Sum is the SHA-256 of a text in hex.
func Sum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Address returns an address as it may be recorded: without user name, password, query and fragment. Of what is no
// URL, such as the short form of ssh, it is the text itself, in which nothing of that has a place but the name before
// @.
func Address(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Host == "" && u.Scheme != "file" {
		for i := len(text) - 1; i >= 0; i-- {
			if text[i] == '@' {
				return text[i+1:]
			}
		}
		return text
	}
	u.User, u.RawQuery, u.Fragment, u.ForceQuery = nil, "", "", false
	return u.String()
}
