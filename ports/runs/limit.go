package runs

import (
	"strings"
	"unicode"
)

// LimitNamesFile reports whether a part of a limit begins with @: Ansible would read a file and print its lines. It
// separates the parts as any version of Ansible does, and trims them of what Python takes for white space.
func LimitNamesFile(limit string) bool {
	separator := func(r rune) bool {
		return strings.ContainsRune(",:;!&", r) || unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f
	}
	for part := range strings.FieldsFuncSeq(limit, separator) {
		if part[0] == '@' {
			return true
		}
	}
	return false
}
