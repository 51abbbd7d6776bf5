package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func manCommand(w environment) *cobra.Command {
	return printCommand(w, &cobra.Command{
		Use: "man DIR", Short: "Write the manual pages of all commands", Args: args(cobra.ExactArgs(1)),
		Example: "  writ man /usr/local/share/man/man1",
	}, func(_ context.Context, a []string, out printer) error {
		if err := os.MkdirAll(a[0], 0o755); err != nil { //nolint:gosec // manual pages are for everybody
			return err
		}
		var files []string
		var failed error
		eachCommand(rootCommand(environment{}), func(c *cobra.Command) {
			name := filepath.Join(a[0], strings.ReplaceAll(c.CommandPath(), " ", "-")+".1")
			files = append(files, name)
			if failed == nil {
				failed = writeFile(w, name, func(to io.Writer) error {
					_, err := io.WriteString(to, manPage(c))
					return err
				})
			}
		})
		if failed != nil {
			return failed
		}
		return out.print(map[string]any{"files": files, "count": len(files)}, "%d pages in %s", len(files), plainText(a[0]))
	})
}

// eachCommand visits a command and all below it that help shows.
func eachCommand(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			eachCommand(sub, visit)
		}
	}
}

// manPage is the page of a command in the macros of man(7).
func manPage(c *cobra.Command) string {
	var b strings.Builder
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	fmt.Fprintf(&b, ".TH %q 1 \"\" \"writ\"\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.B %s\n", strings.ToUpper(name), name,
		roff(c.Short), roff(c.UseLine()))
	fmt.Fprintf(&b, ".SH DESCRIPTION\n%s\n", roff(description(c)))
	if c.HasAvailableSubCommands() {
		b.WriteString(".SH COMMANDS\n")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(sub.Name()), roff(sub.Short))
			}
		}
	}
	b.WriteString(".SH OPTIONS\n")
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(flagLine(f)), roff(flagUsage(f)))
		}
	})
	if more := c.Annotations[moreHelp]; more != "" {
		fmt.Fprintf(&b, ".SH MEMBERS\n.nf\n%s\n.fi\n", roff(strings.Trim(more, "\n")))
	}
	if c.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(c.Example))
	}
	b.WriteString(".SH EXIT STATUS\n0 done, 1 failed, 2 called in a wrong way; a few commands have further ones.\n")
	if c.HasParent() {
		fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\n", roff(strings.ReplaceAll(c.Parent().CommandPath(), " ", "-")))
	}
	return b.String()
}

// description is what the help of a command says.
func description(c *cobra.Command) string {
	if c.Long != "" {
		return strings.TrimSpace(c.Long)
	}
	return c.Short + "."
}

// roff writes a text so that no character of it is a request.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(strings.TrimRight(text, "\n"))
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}

// flagLine is a flag with its short form and the name of its value.
func flagLine(f *pflag.Flag) string {
	name, _ := pflag.UnquoteUsage(f)
	line := "--" + f.Name
	if f.Shorthand != "" {
		line = "-" + f.Shorthand + ", " + line
	}
	return strings.TrimSpace(line + " " + name)
}

// flagUsage is what a flag means, with its default.
func flagUsage(f *pflag.Flag) string {
	_, usage := pflag.UnquoteUsage(f)
	switch f.DefValue {
	case "", "false", "0", "[]", "0s":
		return usage
	}
	return usage + " (default " + f.DefValue + ")"
}
