package git

import (
	"strings"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/fault"
)

// maxRef is the maximum length of the name of a branch or a tag in bytes.
const maxRef = 255

// checkRef validates the name of a branch or a tag by git's rules for reference names, and refuses names that look like
// options.
func checkRef(field, name string) error {
	switch {
	case len(name) > maxRef:
		return fault.BadField(field, "at most %d bytes", maxRef)
	case !utf8.ValidString(name):
		return fault.BadField(field, "must be UTF-8")
	case strings.HasPrefix(name, "-"):
		return fault.BadField(field, "must not begin with -")
	case name == "@" || strings.Contains(name, "@{") || strings.Contains(name, "..") || strings.HasSuffix(name, "."):
		return badRef(field)
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return badRef(field)
		}
	}
	if strings.ContainsAny(name, " ~^:?*[\\\x7f") || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }) {
		return badRef(field)
	}
	return nil
}

func badRef(field string) error {
	return fault.BadField(field, "must be a name that git allows for a branch")
}

// isCommit reports whether a name is a complete commit id: 40 or 64 hex digits in lower case.
func isCommit(s string) bool { return (len(s) == 40 || len(s) == 64) && isHex(s) }

// isShort reports whether a name may be the prefix of a commit id.
func isShort(s string) bool { return len(s) >= 7 && len(s) <= 64 && isHex(s) }

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }
