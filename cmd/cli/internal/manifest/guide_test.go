package manifest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	guide      = "../../../../docs/guides/catalog-as-code.md"
	guideBegin = "<!-- members:begin -->\n"
	guideEnd   = "<!-- members:end -->\n"
)

// TestGuidePageListsEveryMember: the tables of the guide are those of the schemas in the program.
func TestGuidePageListsEveryMember(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(raw), guideBegin)
	was, after, ended := strings.Cut(rest, guideEnd)
	if !found || !ended {
		t.Fatalf("%s lacks %q or %q", guide, guideBegin, guideEnd)
	}
	want := guideTables()
	if *update {
		if err := os.WriteFile(guide, []byte(before+guideBegin+want+guideEnd+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(want, was); d != "" {
		t.Errorf("run `make golden` (-schemas +guide):\n%s", d)
	}
}

// guideTables are a table of the kinds and one of the members that are objects themselves.
func guideTables() string {
	var top, inner strings.Builder
	for _, k := range Kinds() {
		fmt.Fprintf(&top, "| `%s` | %s |\n", k.Name, cell(k.members))
		nested(&inner, k.Name, k.members)
	}
	return "\n| `kind` | Members of `spec` |\n|---|---|\n" + top.String() +
		"\nMembers that are objects, or lists of objects, have these members:\n\n| Member | Its members |\n|---|---|\n" +
		inner.String() + "\n"
}

func nested(b *strings.Builder, at string, members []member) {
	for i := range members {
		if m := &members[i]; len(m.fields) > 0 {
			fmt.Fprintf(b, "| `%s` of `%s` | %s |\n", m.name, at, cell(m.fields))
			nested(b, at+"."+m.name, m.fields)
		}
	}
}

// cell lists members with their defaults.
func cell(members []member) string {
	var out []string
	for i := range members {
		m := &members[i]
		s := "`" + m.name + "`"
		if m.beside {
			s += ", `" + m.name + "_file`"
		}
		if text := fmt.Sprint(m.preset); m.preset != nil && text != "" && text != "[]" && text != "0" {
			s += " (`" + text + "` where left out)"
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}
