package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

type listFlags struct {
	conn        connection
	status      []string
	tool, query string
	limit       int
	asJSON      bool
}

func runsCommand(w world) *cobra.Command {
	var f listFlags
	c := &cobra.Command{
		Use: "runs [ID]", Short: "List runs, newest first, or show one", Args: args(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, a []string) error {
			cl, err := f.conn.client(w)
			if err != nil {
				return err
			}
			if len(a) == 1 {
				return f.one(c.Context(), w, cl, a[0])
			}
			return f.list(c.Context(), w, cl)
		},
	}
	f.conn.register(c)
	c.Flags().StringSliceVar(&f.status, "status", nil, "only runs in these states")
	c.Flags().StringVar(&f.tool, "tool", "", "only runs of this tool")
	c.Flags().StringVarP(&f.query, "query", "q", "", "free text and terms such as label:k=v or host:web1")
	c.Flags().IntVar(&f.limit, "limit", 20, "at most this many")
	jsonFlag(c, &f.asJSON)
	return c
}

func (f *listFlags) list(ctx context.Context, w world, c *client) error {
	q := url.Values{"limit": {strconv.Itoa(f.limit)}}
	if len(f.status) > 0 {
		q["status"] = f.status
	}
	if f.tool != "" {
		q.Set("tool", f.tool)
	}
	if f.query != "" {
		q.Set("q", f.query)
	}
	if f.asJSON {
		var raw map[string]any
		if err := c.call(ctx, http.MethodGet, "/v1/runs?"+q.Encode(), nil, &raw); err != nil {
			return err
		}
		return printJSON(w.out, raw)
	}
	var page struct {
		Runs    []record `json:"runs"`
		Count   int      `json:"count"`
		Total   int      `json:"total"`
		HasMore bool     `json:"has_more"`
	}
	if err := c.call(ctx, http.MethodGet, "/v1/runs?"+q.Encode(), nil, &page); err != nil {
		return err
	}
	return f.table(newScreen(w), page.Runs, page.Total, page.HasMore)
}

func (f *listFlags) table(s screen, rows []record, total int, more bool) error {
	tw := tabwriter.NewWriter(s.w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(tw, "ID\tSTATUS\tCREATED\tTOOK\tHOSTS\tNAME")
	for i := range rows {
		r := &rows[i]
		_, _ = fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%d\t%s\n", plainText(r.ID), plainText(r.Status), r.CreatedAt.Local().Format("2006-01-02 15:04:05"),
			seconds(r.DurationMS), r.HostsTouched, oneLine(r.title(), 50))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if more {
		_, _ = fmt.Fprintf(s.w, "%d of %d runs\n", len(rows), total)
	}
	return nil
}

func (f *listFlags) one(ctx context.Context, w world, c *client, id string) error {
	var r record
	if err := c.call(ctx, http.MethodGet, runPath(id, ""), nil, &r); err != nil {
		return err
	}
	if f.asJSON {
		return printJSON(w.out, r)
	}
	p := newProgress(newScreen(w), true)
	p.say("%s", oneLine(r.title(), 100))
	p.end(r, nil)
	return nil
}
