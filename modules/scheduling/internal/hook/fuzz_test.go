package hook

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"unicode"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/scheduling"
)

// FuzzDelivery reads bodies as the events of each forge. A refusal names a field, and what a run gets is one line for
// each member, none of which a program could take for an option or a path out of a directory.
func FuzzDelivery(f *testing.F) {
	commit := strings.Repeat("a", 40)
	for _, body := range []string{
		`{}`, `{"ref":"refs/heads/main","after":"` + commit + `"}`, `{"ref":"refs/tags/v1","head_commit":{"id":"` + commit + `"}}`,
		`{"ref":"refs/heads/../../x","pusher":{"name":"-x"}}`, `{"ref":7,"repository":[],"project":{"path_with_namespace":1}}`,
		`{"object_attributes":{"source_branch":"a","target_branch":"b","last_commit":{"id":"` + commit + `"}}}`,
		`{"pull_request":{"head":{"ref":"a\u0000b","sha":"` + commit + `"},"base":{"ref":"main"}}}`,
		"payload=%7B%22ref%22%3A%22refs%2Fheads%2Fmain%22%7D", "[]", "null", "{}{}", "\xff",
	} {
		for _, event := range []string{"push", "merge_request", system} {
			f.Add("application/json", event, []byte(body))
		}
	}
	f.Add("application/x-www-form-urlencoded", "push", []byte("payload=%7B%22ref%22%3A%22refs%2Fheads%2Fmain%22%7D"))
	f.Add("application/json; charset=x; charset=y", "push", []byte(`{}`))
	f.Fuzz(func(t *testing.T, media, event string, body []byte) {
		d := &scheduling.Delivery{Header: http.Header{"Content-Type": {media}}, Body: body}
		p, err := decode(d)
		if err != nil {
			names(t, err)
			return
		}
		e, err := p.read(p.event(event))
		if err != nil {
			names(t, err)
			return
		}
		vars, err := e.vars()
		if err != nil {
			t.Fatal(err)
		}
		var members map[string]string
		if err := json.Unmarshal(vars[Variable], &members); err != nil || len(members) != 5 {
			t.Fatalf("%s: %v", vars[Variable], err)
		}
		for name, text := range members {
			if strings.ContainsFunc(text, unicode.IsControl) || len([]rune(text)) > maxMember {
				t.Errorf("%s is %q", name, text)
			}
		}
		if ref := members["ref"]; ref != "" && (!strings.HasPrefix(ref, "refs/") || strings.Contains(ref, "..") ||
			strings.Contains(ref, "/-")) {
			t.Errorf("the ref is %q", ref)
		}
		if c := members["commit"]; c != "" && strings.Trim(c, "0123456789abcdef") != "" {
			t.Errorf("the commit is %q", c)
		}
	})
}

func names(t *testing.T, err error) {
	t.Helper()
	if f := (*fault.Error)(nil); !errors.As(err, &f) || f.Kind != fault.Invalid || len(f.Fields) == 0 {
		t.Errorf("the refusal names no field: %v", err)
	}
}
