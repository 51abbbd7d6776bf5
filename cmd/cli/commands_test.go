package cli

import (
	"net/http"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/cmd/cli/internal/apidoc"
)

// withoutFlags are the parameters that have no flag, each with the reason.
func withoutFlags() map[string]string {
	const page, whole = "the command reads all pages", "the command reads it as a whole"
	return map[string]string{
		"offset": page, "cursor": page, "download": "for browsers", "read-log line": whole, "read-log lines": whole,
	}
}

// TestEveryOperationHasACommand: each operation of the API is a command, or says what takes its place. A command has a
// flag for each parameter, and what reads can be drawn again.
func TestEveryOperationHasACommand(t *testing.T) {
	t.Parallel()
	root := rootCommand(environment{})
	without, unused := withoutCommand(), withoutFlags()
	have := map[string]string{}
	for _, n := range nouns() {
		parent := root
		if n.under != "" {
			parent = child(root, n.under)
		}
		for _, o := range n.operations() {
			c := child(child(parent, n.use()), o.verb)
			if c == nil {
				t.Errorf("%s: there is no writ %s %s", o.ID, n.name, o.verb)
				continue
			}
			have[o.ID] = c.CommandPath()
			checkParameters(t, c, o, unused)
			if !strings.HasPrefix(c.Long, o.Summary) {
				continue // it is written by hand
			}
			for _, m := range writable(o.Body) {
				plain := m.Type != "array" || m.Items == "string"
				argument := o.verb == "add" && m.Name == "user_id"
				if plain && !argument && len(m.Members) == 0 && m.Type != "" && c.Flag(flagOf(m)) == nil {
					t.Errorf("%s has no flag for %s", c.CommandPath(), m.Name)
				}
			}
		}
	}
	for _, o := range apidoc.Operations() {
		reason, excepted := without[o.ID]
		if command := have[o.ID]; (command == "") != excepted || excepted && reason == "" {
			t.Errorf("%s: the command is %q, what takes its place is %q", o.ID, command, reason)
		}
		delete(without, o.ID)
	}
	for id := range without {
		t.Errorf("there is no operation %s", id)
	}
	for parameter := range unused {
		t.Errorf("there is no parameter %s, or it has a flag", parameter)
	}
}

// checkParameters: a command, also one written by hand, has a flag for each parameter. One that reads has --limit for
// rows, and --watch or another way to see what is new.
func checkParameters(t *testing.T, c *cobra.Command, o operation, unused map[string]string) {
	t.Helper()
	without := withoutFlags()
	for _, m := range o.Query {
		if c.Flag(flagOf(m)) != nil || c.Flag(strings.ReplaceAll(m.Name, "_", "-")) != nil {
			continue
		}
		found := false
		for _, name := range []string{m.Name, o.ID + " " + m.Name} {
			found = found || without[name] != ""
			delete(unused, name)
		}
		if !found {
			t.Errorf("%s has no flag for %s", c.CommandPath(), m.Name)
		}
	}
	if o.Method != http.MethodGet {
		return
	}
	if o.List != "" && c.Flag("limit") == nil {
		t.Errorf("%s has no --limit", c.CommandPath())
	}
	if c.Flag("watch") == nil && c.Flag("file") == nil && c.Flag("follow") == nil {
		t.Errorf("%s has no --watch", c.CommandPath())
	}
}

// TestHelpOfTheProgram: the version, the commands below their headings, and the completions of shells, which the
// reference and the manual pages have too.
func TestHelpOfTheProgram(t *testing.T) {
	t.Parallel()
	do := nounCall(t, "")
	version := "writ version " + readBuild().Version + "\n"
	if code, out, errs := do("--version"); code != exitDone || errs != "" || out != version {
		t.Errorf("--version: %d %q %q", code, out, errs)
	}
	for _, args := range [][]string{{}, {"--help"}, {"help"}} {
		code, out, errs := do(args...)
		if code != exitDone || errs != "" {
			t.Errorf("%q: %d %s", args, code, errs)
		}
		for _, g := range commandGroups() {
			_, below, found := strings.Cut(out, "\n"+g[0]+":\n")
			below, _, _ = strings.Cut(below, "\n\n")
			for name := range strings.FieldsSeq(g[1]) {
				if !found || !strings.Contains("\n"+below, "\n  "+name+" ") {
					t.Errorf("%q: no %s below %s in\n%s", args, name, g[0], out)
				}
			}
		}
	}
	code, out, errs := do("completion", "bash")
	if code != exitDone || errs != "" || !strings.Contains(out, "__start_writ") {
		t.Errorf("completion bash: %d %.100q %s", code, out, errs)
	}
	have := map[string]bool{}
	eachCommand(rootCommand(environment{}), func(c *cobra.Command) { have[c.CommandPath()] = true })
	for _, shell := range []string{"bash", "fish", "powershell", "zsh"} {
		if !have["writ completion "+shell] {
			t.Errorf("the pages have no writ completion %s", shell)
		}
	}
}
