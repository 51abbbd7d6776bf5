package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestPagesNameEverything finds each command in the reference of the command line, and each flag of serve and of worker
// in the reference of the configuration.
func TestPagesNameEverything(t *testing.T) {
	t.Parallel()
	page := func(name string) string {
		raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	commands, settings := page("cli.md"), page("configuration.md")
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			if sub.Name() == "help" {
				continue
			}
			// The page lists the commands of a group as "writ token new\\|list".
			inGroup := regexp.MustCompile("`" + c.CommandPath() + `[^` + "`" + `]*\b` + sub.Name() + `\b`)
			if !inGroup.MatchString(commands) && !strings.Contains(commands, sub.CommandPath()) {
				t.Errorf("docs/reference/cli.md lacks %q", sub.CommandPath())
			}
			if name := sub.CommandPath(); name == "writ serve" || name == "writ worker" {
				sub.Flags().VisitAll(func(f *pflag.Flag) {
					if !strings.Contains(settings, "`--"+f.Name+"`") {
						t.Errorf("docs/reference/configuration.md lacks --%s of %s", f.Name, name)
					}
				})
			}
			walk(sub)
		}
	}
	walk(rootCommand(environment{}))
}
