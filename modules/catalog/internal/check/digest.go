package check

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
)

// Sum returns the SHA-256 of a text in hex.
func Sum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Address returns an address without user name, password, query and fragment, for records. A text that is not a URL,
// such as the short form of ssh, can only contain a user name, before @; it is removed too.
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
