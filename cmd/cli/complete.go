package cli

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/ports/ids"
)

// completionTime bounds the request of a completion.
const completionTime = time.Second

// completeArguments completes arguments by the names of objects, which the server of w.conn is asked for: each by the
// noun in its place, and those after by the last one. It is silent if that fails.
func completeArguments(w environment, of ...string) cobra.CompletionFunc {
	return func(c *cobra.Command, given []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(given) > 0 && c.Args != nil && c.Args(c, append(slices.Clone(given), begun)) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completeNames(w, of[min(len(given), len(of)-1)])(c, given, begun)
	}
}

// completeNames completes the value of a flag by the names of the objects of a noun.
func completeNames(w environment, of string) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		n, _ := findNoun(of)
		return n.names(c.Context(), w, begun), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeFlags completes the values of flags by the names of objects of their nouns.
func completeFlags(w environment, c *cobra.Command, nouns map[string]string) {
	for flag, of := range nouns {
		_ = c.RegisterFlagCompletionFunc(flag, completeNames(w, of))
	}
}

// orFiles lets files be completed where no name fits.
func orFiles(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(c *cobra.Command, given []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		names, _ := complete(c, given, begun)
		return names, cobra.ShellCompDirectiveDefault
	}
}

// completeContexts completes the names of the contexts on this machine, as a flag or as the first argument.
func completeContexts(w environment) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		f, _ := openContexts(w).read()
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(f.Contexts)), func(s string) bool {
			return !strings.HasPrefix(s, begun)
		})
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// names asks the server for the names of a noun's objects that begin with a text, each once, and returns none if that
// fails. Runs are completed by their ids.
func (n *noun) names(ctx context.Context, w environment, begun string) []cobra.Completion {
	list, ok := n.operation("list")
	if !ok {
		return nil
	}
	c, err := w.conn.client(ctx, w)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	query := url.Values{}
	if n.name == "host" && begun != "" { // a fleet has more hosts than a page
		query.Set("q", begun)
	}
	rows, _ := c.few(ctx, list, query)
	var names []cobra.Completion
	if n.prefix == ids.Run && len(rows) > 0 {
		names = append(names, cobra.CompletionWithDesc(latestRun, "the newest run"))
	}
	for _, r := range rows {
		names = append(names, n.complete(r))
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(names, func(s string) bool {
		again := seen[s]
		seen[s] = true
		return again || !strings.HasPrefix(s, begun)
	})
}

// complete returns what names an object on the command line: of one without a name its id, with what it is.
func (n *noun) complete(row map[string]any) cobra.Completion {
	switch {
	case n.prefix == ids.Run:
		return cobra.CompletionWithDesc(oneLine(stringField(row, "id"), 200),
			oneLine(stringField(row, "status")+" "+stringField(row, "name"), 80))
	case n.prefix != "" && n.label == "":
		var what []string
		for member := range strings.SplitSeq(n.columns, ",") {
			what = append(what, stringField(row, member))
		}
		return cobra.CompletionWithDesc(oneLine(stringField(row, "id"), 200), oneLine(strings.Join(what, " "), 80))
	}
	return oneLine(cmp.Or(stringField(row, n.label), stringField(row, "host"), stringField(row, "change"),
		stringField(row, "task")), 200)
}
