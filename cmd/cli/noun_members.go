package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/writ-automation/writ/cmd/cli/internal/apidoc"
)

// memberHelp describes what is inside of the members that have no flag, for the help of a command.
func memberHelp(all []apidoc.Member, without []string) string {
	var b strings.Builder
	for _, name := range without {
		m, _ := memberOf(all, name)
		if len(m.Members) == 0 {
			continue
		}
		of, path := "Members of "+name, name+"."
		if m.Type == "array" {
			of, path = "Members of each item of "+name, name+".0."
		}
		fmt.Fprintf(&b, "\n%s, as in --set %s%s=TEXT or --file:\n", of, path, m.Members[0].Name)
		described(&b, m.Members, all)
	}
	return b.String()
}

// described writes a line for each member. Those that are the same in the whole are only named.
func described(b *strings.Builder, members, whole []apidoc.Member) {
	var rows [][2]string
	var same []string
	wide := 0
	for _, m := range writable(members) {
		if w, ok := memberOf(whole, m.Name); ok && w.Description == m.Description && w.Type == m.Type {
			same = append(same, m.Name)
			continue
		}
		rows = append(rows, [2]string{m.Name, valueOf(m)})
		wide = max(wide, len(m.Name))
	}
	if len(same) > 0 {
		rows = append(rows, [2]string{"", "as of the whole: " + strings.Join(same, ", ")})
	}
	for _, r := range rows {
		for i, line := range wrap(r[1], plainWide-wide-4) {
			if i > 0 {
				r[0] = ""
			}
			b.WriteString(strings.TrimRight("  "+pad(r[0], wide)+"  "+line, " ") + "\n")
		}
	}
}

// valueOf tells what a member holds: its type, or the members that it has itself, and what it means.
func valueOf(m apidoc.Member) string {
	kind := cmp.Or(m.Type, "any value")
	switch names := namesOf(writable(m.Members)); {
	case len(names) > 0:
		kind += " of " + strings.Join(names, ", ")
	case m.Items != "":
		kind += " of " + m.Items
	}
	return strings.TrimSuffix(kind+"; "+usageOf(apidoc.Member{Description: m.Description, Enum: m.Enum,
		Required: m.Required}), "; ")
}

func namesOf(members []apidoc.Member) []string {
	names := make([]string, 0, len(members))
	for _, m := range members {
		names = append(names, m.Name)
	}
	return names
}
