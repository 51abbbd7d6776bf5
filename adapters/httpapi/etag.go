package httpapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// ETag returns the entity tag of a revision.
func ETag(revision int64) string { return `"` + strconv.FormatInt(revision, 10) + `"` }

// Quoted returns the entity tag of a version that is a text.
func Quoted(version string) string { return `"` + version + `"` }

// Unchanged reports whether the header If-None-Match names the tag, so that the client already has the answer.
func Unchanged(noneMatch, tag string) bool {
	for _, t := range strings.Split(noneMatch, ",") {
		if t = strings.TrimPrefix(strings.TrimSpace(t), "W/"); t == tag || t == "*" {
			return true
		}
	}
	return false
}

// IfMatch is the header If-Match of a write: the revision that it is meant for.
type IfMatch struct{ revision int64 }

// never is the revision that no object has.
const never = -1

// Revision returns the revision that the write is meant for. It returns 0 if the header is absent or matches any
// revision, and -1, which no object has, for anything but one strong tag of this server.
func (m IfMatch) Revision() int64 { return m.revision }

// UnmarshalText accepts a tag of another form, which matches no revision.
func (m *IfMatch) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	if s == "*" {
		m.revision = 0
		return nil
	}
	n, err := strconv.ParseInt(strings.Trim(s, `"`), 10, 64)
	if err != nil || n <= 0 || s != ETag(n) {
		n = never
	}
	m.revision = n
	return nil
}

func (IfMatch) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString,
		Description: "An ETag: the write is refused with 412 if the object has another one now."}
}

// oneIfMatch joins the lines of the header, which form a list. An empty header stays distinct from an absent one.
func oneIfMatch(h http.Header) {
	lines := h.Values("If-Match")
	if len(lines) == 0 || len(lines) == 1 && strings.TrimSpace(lines[0]) != "" {
		return
	}
	h.Set("If-Match", ","+strings.Join(lines, ","))
}
