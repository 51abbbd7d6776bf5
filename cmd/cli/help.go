package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commandGroups are the headings of the help, and the commands below each. Others are below the last one.
func commandGroups() [][2]string {
	return [][2]string{
		{"Runs", "run runs launch logs watch failures compare rerun retry relaunch cancel approve reject pipeline task"},
		{"Catalog", "project inventory source credential credential-type template schedule trigger apply export import"},
		{"Estate", "host hosts estate drift change changes"},
		{"Access", "login logout whoami context user token team org grant"},
		{"Rules", "policy window queue"},
		{"Audit", "audit license"},
		{"Server", "serve demo desktop worker worker-token dead-letter doctor"},
		{"Other", "api completion man version help"},
	}
}

const rootExample = `  writ run --playbook site.yml --inventory hosts.ini --limit web
  writ project create site --repo-url https://git.example.com/site.git
  writ launch deploy --answer release=1.4.0 --follow
  writ runs --status failed --since 1d -o json --jq '.runs[].id'
  source <(writ completion bash)`

// grouped puts the commands of the root below their headings.
func grouped(root *cobra.Command) {
	for _, g := range commandGroups() {
		id := strings.ToLower(g[0])
		root.AddGroup(&cobra.Group{ID: id, Title: g[0] + ":"})
		names := strings.Fields(g[1])
		for _, c := range root.Commands() {
			if slices.Contains(names, c.Name()) {
				c.GroupID = id
			}
		}
	}
	root.SetHelpCommandGroupID("other")
	root.SetCompletionCommandGroupID("other")
	for _, c := range root.Commands() {
		if c.GroupID == "" {
			c.GroupID = "other"
		}
	}
}

// unknownFlag explains a mistake in the flags, with the names that may have been meant.
func unknownFlag(c *cobra.Command, err error) error {
	hint := ""
	if _, name, found := strings.Cut(err.Error(), "unknown flag: --"); found {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		if meant := nearest(name, names); len(meant) > 0 {
			hint = "\nDid you mean --" + strings.Join(meant, " or --") + "?"
		}
		member := strings.ReplaceAll(name, "-", "_")
		if set := c.Flags().Lookup("set"); set != nil && slices.Contains(set.Annotations[withoutFlag], member) {
			hint = "\nGive it by --set '" + member + ":=JSON', or with --file"
		}
	}
	return usageError{fmt.Errorf("%w%s\nSee '%s --help'", err, hint, c.CommandPath())}
}

// unknownCommand are the commands that may have been meant by an argument of a group.
func unknownCommand(c *cobra.Command, a []string) string {
	if len(a) == 0 || !c.HasSubCommands() {
		return ""
	}
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(append(names, sub.Name()), sub.Aliases...)
		}
	}
	if meant := nearest(a[0], names); len(meant) > 0 {
		return "\nDid you mean '" + c.CommandPath() + " " + strings.Join(meant, "' or '"+c.CommandPath()+" ") + "'?"
	}
	return ""
}

// sections prints the flags of a command below headings: those that begin with one of the words of a heading. The rest
// is below the last one.
func sections(c *cobra.Command, headings [][2]string) {
	c.SetUsageFunc(func(c *cobra.Command) error {
		sets := make([]*pflag.FlagSet, len(headings))
		for i := range headings {
			sets[i] = pflag.NewFlagSet("", pflag.ContinueOnError)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) { sets[sectionOf(headings, f.Name)].AddFlag(f) })
		var b strings.Builder
		for i, h := range headings {
			if text := sets[i].FlagUsages(); text != "" {
				fmt.Fprintf(&b, "\n%s:\n%s", h[0], text)
			}
		}
		_, err := fmt.Fprintf(c.OutOrStderr(), "Usage:\n  %s\n%s", c.UseLine(), b.String())
		return err
	})
}

func sectionOf(headings [][2]string, flag string) int {
	at := slices.IndexFunc(headings, func(h [2]string) bool {
		return slices.ContainsFunc(strings.Fields(h[1]), func(word string) bool {
			return flag == word || strings.HasPrefix(flag, word+"-")
		})
	})
	if at < 0 {
		return len(headings) - 1
	}
	return at
}

// serveSections are the headings of the flags of serve and worker.
func serveSections() [][2]string {
	return [][2]string{
		{"Address and TLS", "addr tls public-url trusted-proxies insecure-cookies server ca-file admin"},
		{"Storage and keys", "config db data-dir encryption-key-file signing-key-file license runs-dir events retain"},
		{"Sign-in", "open session-ttl strict-grants read-only mcp oidc saml"},
		{"Execution", "executors queue worker source run name token default-forks drain-timeout kill-grace log-cap " +
			"work-dir " +
			"local-projects secret approval-ttl schedule-catchup policy-file volatile-facts " +
			"label allow-source-programs"},
		{"Isolation", "isolation allow-private-egress run-user"},
		{"Extensions and AI", "plugin ai"},
		{"Notifications", "notify smtp twilio"},
		{"Audit", "audit"},
		{"Logs, metrics and others", ""},
	}
}
