package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/cmd/cli/internal/apidoc"
	"github.com/writ-automation/writ/ports/secrets"
)

// moreHelp is the annotation of a command with what its help says below the flags.
const moreHelp = "more"

// helpMore adds text below the flags in the help of a command.
func helpMore(c *cobra.Command, text string) {
	if text == "" {
		return
	}
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
		c.SetHelpFunc(func(c *cobra.Command, a []string) {
			c.Parent().HelpFunc()(c, a)
			_, _ = fmt.Fprint(c.OutOrStdout(), c.Annotations[moreHelp])
		})
	}
	c.Annotations[moreHelp] += text
}

// kindHelp lists the members of the kinds of credentials.
func kindHelp() string {
	var b strings.Builder
	b.WriteString("\nMembers of --secret and --setting by kind; those with * are needed:\n")
	for _, k := range secrets.Kinds() {
		var hidden, shown []string
		for _, m := range k.Members() {
			name := m.Name
			if m.Required {
				name += "*"
			}
			if m.Type == secrets.Object && k == secrets.Env {
				name = m.Name + ".NAME*"
			}
			if m.Secret {
				hidden = append(hidden, name)
			} else {
				shown = append(shown, name)
			}
		}
		line := fmt.Sprintf("  %-15s  --secret %s", k, strings.Join(hidden, ", "))
		if len(shown) > 0 {
			line += "; --setting " + strings.Join(shown, ", ")
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

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
