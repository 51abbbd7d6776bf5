package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/platform/clock"
)

// change is a change as the API shows it.
type change struct {
	Change  string    `json:"change"`
	Outcome string    `json:"outcome"`
	FirstAt time.Time `json:"first_at"`
	LastAt  time.Time `json:"last_at"`
	Actors  []string  `json:"actors"`
	Hosts   int       `json:"hosts"`
	Partial bool      `json:"partial"`
}

func changesCommand(w environment) *cobra.Command {
	limit := 0
	c := &cobra.Command{
		Use: "changes", Short: "List changes, newest first: runs with one value of change", Args: args(cobra.NoArgs),
		Example: "  writ changes --limit 5",
	}
	c.Flags().IntVar(&limit, "limit", 20, "maximum number of changes")
	return clientCommand(w, c, watching(c, func(ctx context.Context, c *client, _ []string, out printer) error {
		return listChanges(ctx, c, limit, out)
	}))
}

func listChanges(ctx context.Context, c *client, limit int, out printer) error {
	raw, err := c.whole(ctx, "list-changes", "/v1/changes", url.Values{}, limit)
	if err != nil {
		return err
	}
	if out.json {
		out.list = "changes"
		return out.document(raw)
	}
	var page struct {
		Changes []struct {
			change
			Runs int `json:"runs"`
		} `json:"changes"`
		Total   int  `json:"total"`
		Partial bool `json:"partial"`
	}
	if err := json.Unmarshal(raw, &page); err != nil {
		return fmt.Errorf("the answer of %s has an unknown format: %w", c.base, err)
	}
	if len(page.Changes) == 0 {
		_, _ = fmt.Fprintln(out.err, "writ: no changes")
		return nil
	}
	s, now := newScreen(out.environment), clock.New().Now()
	rows := make([][]field, len(page.Changes))
	for i, x := range page.Changes {
		rows[i] = []field{{text: oneLine(x.Outcome, 20), status: x.Outcome}, {text: oneLine(x.Change, mostName)},
			{text: strconv.Itoa(x.Runs), number: true}, {text: strconv.Itoa(x.Hosts), number: true},
			{text: age(now.Sub(x.LastAt)), number: true}, {text: oneLine(strings.Join(x.Actors, ", "), mostName)}}
	}
	s.table([]string{"OUTCOME", "CHANGE", "RUNS", "HOSTS", "AGE", "WHO"}, rows)
	if len(page.Changes) < page.Total {
		_, _ = fmt.Fprintf(s.w, "%d of %d changes; --limit shows more\n", len(page.Changes), page.Total)
	}
	if page.Partial {
		_, _ = fmt.Fprintln(s.w, "older runs were not read")
	}
	return nil
}

func changeCommand(w environment) *cobra.Command {
	file, limit := "", 0
	c := &cobra.Command{
		Use: "change NAME", Short: "Show a change with its runs, or write its report", Args: args(cobra.ExactArgs(1)),
		Example: "  writ change CHG-1042\n  writ change CHG-1042 --html report.html",
	}
	c.Flags().StringVar(&file, "html", "", "write the report for an auditor to a file, - for standard output")
	c.Flags().IntVar(&limit, "limit", mostListed, "maximum number of its runs")
	show := watching(c, func(ctx context.Context, c *client, a []string, out printer) error {
		path := "/v1/changes/" + url.PathEscape(a[0])
		if file != "" {
			return writeReport(ctx, c, path, file, out)
		}
		return showChange(ctx, c, path, limit, out)
	})
	c.MarkFlagsMutuallyExclusive("html", "watch")
	c.MarkFlagsMutuallyExclusive("html", "limit")
	return objectsCommand(w, c, show, "change")
}

func writeReport(ctx context.Context, c *client, path, file string, out printer) error {
	c.header = http.Header{"Accept": {"text/html"}}
	ctx, cancel := c.within(ctx, http.MethodGet)
	defer cancel()
	resp, err := c.request(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	return writeFile(out.environment, file, func(to io.Writer) error {
		_, err := io.Copy(to, io.LimitReader(resp.Body, maxAnswer))
		return err
	})
}

func showChange(ctx context.Context, c *client, path string, limit int, out printer) error {
	raw, err := c.whole(ctx, "get-change", path, url.Values{}, limit)
	if err != nil {
		return err
	}
	if out.json {
		out.list = "runs"
		return out.document(raw)
	}
	var x struct {
		change
		Runs     []record `json:"runs"`
		Total    int      `json:"total"`
		Withheld int      `json:"withheld"`
	}
	if err := json.Unmarshal(raw, &x); err != nil {
		return fmt.Errorf("the answer of %s has an unknown format: %w", c.base, err)
	}
	s := newScreen(out.environment)
	_, _ = fmt.Fprintf(s.w, "%s %s\n", oneLine(x.Change, 255), s.paint(x.Outcome, x.Outcome))
	s.paragraph("  ", fmt.Sprintf("%s to %s, %d hosts, by %s", x.FirstAt.Format(time.RFC3339),
		x.LastAt.Format(time.RFC3339), x.Hosts, strings.Join(x.Actors, ", ")))
	runsTable(s, x.Runs, clock.New().Now())
	for _, note := range []struct {
		set  bool
		text string
	}{
		{len(x.Runs) < x.Total, fmt.Sprintf("%d of %d runs", len(x.Runs), x.Total)},
		{x.Withheld > 0, fmt.Sprintf("%d runs may not be read", x.Withheld)},
		{x.Partial, "older runs were not read"},
	} {
		if note.set {
			_, _ = fmt.Fprintln(s.w, note.text)
		}
	}
	return nil
}
