package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/ports/lazyregexp"
)

// maxGroups bounds the groups of failures that are kept of one run.
const maxGroups = 1000

// failure is one message that hosts share.
type failure struct {
	Task    string   `json:"task"`
	Message string   `json:"message"`
	Outcome string   `json:"outcome"`
	Count   int      `json:"count"`
	Hosts   []string `json:"hosts"`
}

func failuresCommand(w environment) *cobra.Command {
	c := &cobra.Command{
		Use: "failures RUN", Short: "Show why a run failed: its failures by message", Args: args(cobra.ExactArgs(1)),
		Long: "Shows the failures of a run, alike messages together with their hosts. Failures that the play ignored are\n" +
			"shown with -o wide.\n" + latestHelp, Example: "  writ failures latest",
	}
	return ofRuns(w, c, func(ctx context.Context, c *client, a []string, out printer) error {
		id, err := c.runID(ctx, a[0])
		if err != nil {
			return err
		}
		var raw json.RawMessage
		if err := c.call(ctx, http.MethodGet, runPath(id, "/failures"), nil, &raw); err != nil {
			return err
		}
		if out.json {
			return out.document(raw)
		}
		var x struct {
			Groups []failure `json:"groups"`
		}
		if err := json.Unmarshal(raw, &x); err != nil {
			return fmt.Errorf("the answer of %s has an unknown format: %w", c.base, err)
		}
		if !out.wide {
			x.Groups = slices.DeleteFunc(x.Groups, isIgnored)
		}
		if len(x.Groups) > 0 {
			printFailures(newScreen(out.environment), x.Groups)
			return nil
		}
		return c.noFailures(ctx, id, out)
	})
}

// noFailures says how a run without failures of hosts ended, which may be with an error.
func (c *client) noFailures(ctx context.Context, id string, out printer) error {
	var r record
	if err := c.call(ctx, http.MethodGet, runPath(id, ""), nil, &r); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(out.err, "writ: no host failed")
	s := newScreen(out.environment)
	_, _ = fmt.Fprintln(s.w, r.ending(s))
	return nil
}

func isIgnored(g failure) bool { return g.Outcome == "ignored" }

// failures reads the groups from the server, and groups the observed failures itself if the server does not answer.
func (c *client) failures(ctx context.Context, id string, seen *outcome) []failure {
	var out struct {
		Groups []failure `json:"groups"`
	}
	if err := c.call(ctx, http.MethodGet, runPath(id, "/failures"), nil, &out); err != nil {
		out.Groups = seen.failures()
	}
	out.Groups = slices.DeleteFunc(out.Groups, isIgnored)
	for i := range out.Groups {
		g := &out.Groups[i]
		if len(g.Hosts) > 0 && g.Outcome == "failed" && !slices.ContainsFunc(g.Hosts, func(h string) bool {
			return !seen.rescued[h]
		}) {
			g.Outcome = "rescued"
		}
	}
	return out.Groups
}

// alike matches the parts of a message that differ between hosts with the same failure.
var alike = lazyregexp.New(`/[^\s'"]+|\b[0-9a-fA-F]{8,}\b|\d+`)

func (o *outcome) group(e event, what string) {
	message := e.detail()
	key := e.Task + "\x00" + what + "\x00" + alike.ReplaceAllString(strings.ReplaceAll(message, e.Host, "<host>"), "<x>")
	g := o.groups[key]
	if g == nil {
		if len(o.groups) >= maxGroups {
			return
		}
		g = &failure{Task: e.Task, Message: message, Outcome: what}
		o.groups[key] = g
	}
	g.Count++
	if len(g.Hosts) < 20 {
		g.Hosts = append(g.Hosts, e.Host)
	}
}

// failures lists the groups, the largest first.
func (o *outcome) failures() []failure {
	out := make([]failure, 0, len(o.groups))
	for _, g := range o.groups {
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b failure) int {
		if a.Count != b.Count {
			return b.Count - a.Count
		}
		return strings.Compare(a.Task+a.Message, b.Task+b.Message)
	})
	return out
}

// maxPrintedGroups bounds the groups that are printed; the rest is counted.
const maxPrintedGroups = 20

func printFailures(s screen, groups []failure) {
	for _, g := range groups[:min(len(groups), maxPrintedGroups)] {
		hosts := strings.Join(g.Hosts, ", ")
		if more := g.Count - len(g.Hosts); more > 0 {
			hosts += fmt.Sprintf(" and %d more", more)
		}
		_, _ = fmt.Fprintf(s.w, "\n%s %s\n", s.paint(g.Outcome, mark(g.Outcome)),
			s.paint("bold", oneLine(firstOf(g.Task, "no task"), s.width()-2)))
		s.paragraph("  ", g.Outcome+" on "+count(g.Count, "host")+": "+strings.Join(strings.Fields(hosts), " "))
		s.paragraph("    ", firstOf(g.Message, "no message"))
	}
	if more := len(groups) - maxPrintedGroups; more > 0 {
		_, _ = fmt.Fprintf(s.w, "\nand %s\n", count(more, "other kind")+" of failure")
	}
}
