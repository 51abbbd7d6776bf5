package cli

import (
	cmdline "flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var update = cmdline.Bool("update", false, "write the commands into docs/reference/cli.md")

const (
	commandsBegin = "<!-- commands:begin -->\n"
	commandsEnd   = "<!-- commands:end -->\n"
)

// TestCommandPageGolden: the reference of the command line has every command that help shows.
func TestCommandPageGolden(t *testing.T) {
	t.Parallel()
	name := filepath.Join("..", "..", "docs", "reference", "cli.md")
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, begun := strings.Cut(string(raw), commandsBegin)
	_, tail, ended := strings.Cut(rest, commandsEnd)
	if !begun || !ended {
		t.Fatal("docs/reference/cli.md has no place for the commands")
	}
	want := head + commandsBegin + commandPage() + commandsEnd + tail
	if *update {
		if err := os.WriteFile(name, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(raw) != want {
		t.Error("docs/reference/cli.md differs from the commands: run make golden")
	}
}

// commandPage is the help of all commands by group.
func commandPage() string {
	var b strings.Builder
	root := rootCommand(environment{})
	for _, g := range commandGroups() {
		fmt.Fprintf(&b, "\n## %s\n", g[0])
		for _, c := range root.Commands() {
			if c.GroupID == strings.ToLower(g[0]) && c.IsAvailableCommand() {
				eachCommand(c, func(c *cobra.Command) { b.WriteString(helpOf(c)) })
			}
		}
	}
	return b.String() + "\n"
}

// helpOf is the help of a command without the flags that many commands have.
func helpOf(c *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s\n\n```text\n%s\n\nUsage: %s\n", c.CommandPath(), description(c), c.UseLine())
	if len(c.Aliases) > 0 {
		fmt.Fprintf(&b, "Also: %s\n", strings.Join(c.Aliases, ", "))
	}
	if c.Example != "" {
		fmt.Fprintf(&b, "\n%s\n", strings.TrimRight(c.Example, "\n"))
	}
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		switch f.Name {
		case "help", "server", "token", "output", "json", "jq", "no-color", "context", "ca-file":
		default:
			own.AddFlag(f)
		}
	})
	for line := range strings.Lines(own.FlagUsagesWrapped(110)) {
		if b.Len() > 0 && !strings.Contains(b.String(), "\n\nFlags:\n") {
			b.WriteString("\nFlags:\n")
		}
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	b.WriteString(c.Annotations[moreHelp] + "```\n")
	return b.String()
}

// TestConfigurationPage finds each flag of serve and of worker in the reference of the configuration.
func TestConfigurationPage(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	root := rootCommand(environment{})
	for _, name := range []string{"serve", "worker"} {
		child(root, name).Flags().VisitAll(func(f *pflag.Flag) {
			if !strings.Contains(string(raw), "`--"+f.Name+"`") {
				t.Errorf("docs/reference/configuration.md lacks --%s of writ %s", f.Name, name)
			}
		})
	}
}

// TestCommandsAreExplained: each command says what it is for and how it is called, and a short flag has one meaning.
func TestCommandsAreExplained(t *testing.T) {
	t.Parallel()
	short := map[string]string{}
	eachCommand(rootCommand(environment{}), func(c *cobra.Command) {
		if c.Short == "" {
			t.Errorf("%s has no short help", c.CommandPath())
		}
		_, arguments, _ := strings.Cut(c.Use, " ")
		if takes := c.Args != nil && c.Args(c, []string{"x"}) == nil; takes && arguments == "" && c.Example == "" {
			t.Errorf("%s takes arguments, and neither its use nor an example shows them", c.CommandPath())
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Shorthand == "" {
				return
			}
			if was := short[f.Shorthand]; was != "" && was != f.Name {
				t.Errorf("%s: -%s is --%s, and --%s elsewhere", c.CommandPath(), f.Shorthand, f.Name, was)
			}
			short[f.Shorthand] = f.Name
		})
	})
	for letter, name := range map[string]string{"f": "follow", "i": "inventory", "o": "output", "q": "query",
		"v": "verbose"} {
		if short[letter] != name {
			t.Errorf("-%s is --%s, not --%s", letter, short[letter], name)
		}
	}
}

// TestServeSections: the help of serve has a heading for each kind of its flags, and every flag once.
func TestServeSections(t *testing.T) {
	t.Parallel()
	code, out, errs := nounCall(t, "")("serve", "--help")
	for _, h := range serveSections() {
		if !strings.Contains(out, "\n"+h[0]+":\n      --") && !strings.Contains(out, "\n"+h[0]+":\n  -") {
			t.Errorf("no %s in %s%s", h[0], out, errs)
		}
	}
	child(rootCommand(environment{}), "serve").Flags().VisitAll(func(f *pflag.Flag) {
		if n := strings.Count(out, " --"+f.Name+" "); n < 1 {
			t.Errorf("the help of serve lacks --%s", f.Name)
		}
	})
	if code != exitDone {
		t.Error(code)
	}
}
