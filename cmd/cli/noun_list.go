package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/cmd/cli/internal/apidoc"
)

// mostListed is how many rows a list has without --limit.
const mostListed = 10_000

// listed is what a list reads: rows as the server sent them, and the other members of the last answer.
type listed struct {
	rows  []json.RawMessage
	extra map[string]json.RawMessage
	more  bool // the server has more rows
}

// document is the list as one answer: the members of its last page that are not of that page alone, with all rows.
func (l listed) document(list string) map[string]any {
	doc := map[string]any{}
	for k, v := range l.extra {
		doc[k] = v
	}
	for _, k := range []string{"offset", "next_offset", "limit", "$schema"} {
		delete(doc, k)
	}
	doc[list], doc["count"] = l.rows, len(l.rows)
	return doc
}

// checkLimit checks the value of --limit.
func checkLimit(limit int) error {
	if limit < 1 {
		return usagef("--limit: expected a number above zero")
	}
	return nil
}

// whole reads the pages of a list as one answer.
func (c *client) whole(
	ctx context.Context, id, path string, query url.Values, limit int,
) (json.RawMessage, error) {
	if err := checkLimit(limit); err != nil {
		return nil, err
	}
	o, _ := apidoc.Find(id)
	all, err := c.list(ctx, o, path, query, limit)
	if err != nil {
		return nil, err
	}
	return marshal(all.document(o.List), "")
}

// list reads the pages of a list until it has a number of rows.
func (c *client) list(
	ctx context.Context, o apidoc.Operation, path string, query url.Values, limit int,
) (listed, error) {
	all := listed{rows: []json.RawMessage{}}
	query = maps.Clone(query) // the next reading begins with the first page again
	for {
		if hasMember(o.Query, "limit") {
			query.Set("limit", strconv.Itoa(min(pageRows, limit-len(all.rows))))
		}
		if pagedByOffset(o) {
			query.Set("offset", strconv.Itoa(len(all.rows)))
		}
		raw, err := c.fetch(ctx, path, query)
		if err != nil {
			return all, err
		}
		var rows []json.RawMessage
		all.extra = nil
		if err := json.Unmarshal(raw, &all.extra); err == nil && all.extra[o.List] != nil {
			err = json.Unmarshal(all.extra[o.List], &rows)
			if err != nil {
				return all, fmt.Errorf("the answer of %s has an unknown format: %w", c.base, err)
			}
		}
		all.rows = append(all.rows, rows...)
		next := c.next(o, all, query)
		all.more = next && len(rows) > 0
		if !all.more || len(all.rows) >= limit {
			all.more = all.more || len(all.rows) > limit
			all.rows = all.rows[:min(len(all.rows), limit)]
			return all, nil
		}
	}
}

// pagedByOffset reports whether a page is found by its offset. A cursor is better: it stays correct while rows come.
func pagedByOffset(o apidoc.Operation) bool {
	return hasMember(o.Query, "offset") && !hasMember(o.Query, "cursor")
}

// next moves a query to the page after the last answer, and reports whether there is one. A page is found by its
// offset, or by the member next_X of the answer, which is the parameter X.
func (c *client) next(o apidoc.Operation, all listed, query url.Values) bool {
	if pagedByOffset(o) {
		var total int
		_ = json.Unmarshal(all.extra["total"], &total)
		return len(all.rows) < total
	}
	for _, m := range o.Query {
		next := strings.Trim(string(all.extra["next_"+m.Name]), `"`)
		if next != "" && next != "null" && m.Name != "offset" {
			query.Set(m.Name, next)
			return true
		}
	}
	return false
}

func (n *noun) listCommand(w environment, o operation) *cobra.Command {
	limit, watch := 0, false
	c := n.verbCommand(o, "")
	query := queryFlags(w, c, o)
	c.Flags().IntVar(&limit, "limit", mostListed, "maximum number of rows")
	c.Flags().BoolVar(&watch, "watch", false, "draw the list again every 2 seconds until interrupted")
	return n.completed(w, o, c, func(ctx context.Context, cl *client, a []string, out printer) error {
		if err := checkLimit(limit); err != nil {
			return err
		}
		q, err := query(w)
		if err != nil {
			return err
		}
		if err := cl.references(ctx, q); err != nil {
			return err
		}
		path, err := n.path(ctx, cl, o, a)
		if err != nil {
			return err
		}
		return watched(ctx, out, watch, watchEvery, func(ctx context.Context) error {
			return n.list(ctx, cl, o, path, q, limit, out)
		})
	})
}

func (n *noun) list(
	ctx context.Context, c *client, o operation, path string, query url.Values, limit int, out printer,
) error {
	all, err := c.list(ctx, o.Operation, path, query, limit)
	if err != nil {
		return err
	}
	if out.json {
		out.list = o.List
		return out.document(all.document(o.List))
	}
	if len(all.rows) == 0 {
		_, _ = fmt.Fprintf(out.err, "writ: no %s\n", n.rowsOf(o))
		return nil
	}
	printRows(out, n.columnsOf(o, out.wide, all.rows), all.rows)
	if all.more {
		out.cutOff(len(all.rows), n.rowsOf(o))
	}
	return nil
}

// cutOff tells that a list ends at its limit.
func (o printer) cutOff(rows int, what string) {
	_, _ = fmt.Fprintf(o.err, "writ: these are the first %d %s; --limit shows more\n", rows, what)
}

// rowsOf is what the rows of a list are, in people's words.
func (n *noun) rowsOf(o operation) string {
	if o.verb == "list" {
		return n.many()
	}
	return strings.ReplaceAll(o.List, "_", " ")
}

// mostColumns is how many members are columns unless all are.
const mostColumns = 8

// columnsOf chooses the members that are columns: the name first and the id last. A wide table has all that fit a cell,
// others those that the noun chooses, or else the first ones that a row has.
func (n *noun) columnsOf(o operation, wide bool, rows []json.RawMessage) []apidoc.Member {
	chosen := strings.Split(n.columns, ",")
	label := n.label
	if o.verb != "list" || n.columns == "" {
		chosen = nil
		for _, m := range o.Answer {
			plain := m.Type != "object" && (m.Type != "array" || m.Items == "string")
			if plain && m.Name != "created_by" && len(chosen) < mostColumns && hasValue(rows, m.Name) {
				chosen = append(chosen, m.Name)
			}
		}
	}
	if wide {
		chosen = nil
		for _, m := range o.Answer {
			if m.Type != "object" && (m.Type != "array" || m.Items == "string") {
				chosen = append(chosen, m.Name)
			}
		}
	}
	if o.verb != "list" {
		label = ""
	}
	chosen = slices.DeleteFunc(chosen, func(s string) bool { return s == label || s == "id" })
	var out []apidoc.Member
	for _, name := range append(append([]string{label}, chosen...), "id") {
		if m, ok := memberOf(o.Answer, name); ok {
			out = append(out, m)
		}
	}
	return out
}

// hasValue reports whether a row has a member.
func hasValue(rows []json.RawMessage, name string) bool {
	return slices.ContainsFunc(rows, func(raw json.RawMessage) bool {
		var row map[string]json.RawMessage
		return json.Unmarshal(raw, &row) == nil && row[name] != nil
	})
}

// printRows prints objects as a table.
func printRows(out printer, columns []apidoc.Member, rows []json.RawMessage) {
	heading, table := make([]string, len(columns)), make([][]field, 0, len(rows))
	for i, m := range columns {
		heading[i] = strings.ToUpper(strings.ReplaceAll(strings.TrimSuffix(m.Name, "_at"), "_", " "))
	}
	width := 60
	if out.wide {
		width = 200
	}
	for _, raw := range rows {
		v, _ := decoded(raw)
		row, _ := v.(map[string]any)
		cells := make([]field, len(columns))
		for i, m := range columns {
			cells[i] = field{text: oneLine(cellText(row[m.Name], m.Name), width), number: m.Type == "integer"}
			if m.Name == "status" {
				cells[i].status = stringField(row, m.Name)
			}
		}
		table = append(table, cells)
	}
	newScreen(out.environment).table(heading, table)
}

// cellText is a value as a reader wants it: instants in local time, lists joined.
func cellText(v any, name string) string {
	switch x := v.(type) {
	case nil:
		return "-"
	case string:
		if t, err := time.Parse(time.RFC3339, x); err == nil && (strings.HasSuffix(name, "_at") || name == "at") {
			return instant(t)
		}
		if x == "" {
			return "-"
		}
		return x
	case bool:
		if x {
			return "yes"
		}
		return "no"
	case []any:
		texts := make([]string, len(x))
		for i := range x {
			texts[i] = cellText(x[i], "")
		}
		if len(texts) == 0 {
			return "-"
		}
		return strings.Join(texts, ",")
	case map[string]any:
		if name := stringField(x, "name"); name != "" {
			return name
		}
		if id := stringField(x, "id"); id != "" {
			return strings.TrimPrefix(stringField(x, "kind")+"/"+id, "/")
		}
		text, _ := compactJSON(x)
		return text
	}
	return fmt.Sprint(v)
}

// watchEvery is the time between two drawings of --watch and of watch.
const watchEvery = 2 * time.Second

// watched draws once, or again and again until an interrupt. On a terminal each drawing replaces the one before.
func watched(
	ctx context.Context, out printer, again bool, every time.Duration, draw func(context.Context) error,
) error {
	if !again {
		return draw(ctx)
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if newScreen(out.environment).tty {
			_, _ = fmt.Fprint(out.out, "\x1b[H\x1b[2J")
		}
		if err := draw(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// watching adds --watch to a command that shows what is now. It returns run as it is with that flag.
func watching[T any](
	c *cobra.Command, run func(context.Context, T, []string, printer) error,
) func(context.Context, T, []string, printer) error {
	again := c.Flags().Bool("watch", false, "show it again every 2 seconds until interrupted")
	return func(ctx context.Context, from T, a []string, out printer) error {
		return watched(ctx, out, *again, watchEvery, func(ctx context.Context) error { return run(ctx, from, a, out) })
	}
}

// queryFlags make the query of a request. A list has a flag of its own for what chooses the page.
func queryFlags(w environment, c *cobra.Command, o operation) func(environment) (url.Values, error) {
	omitted := []string{"download"}
	if o.List != "" {
		omitted = append(omitted, "offset", "limit", "cursor")
	}
	flags := bodyFlags{read: map[string]func(environment) (any, error){}}
	for _, m := range o.Query {
		if slices.Contains(omitted, m.Name) {
			continue
		}
		if read := memberFlag(w, c, m); read != nil {
			flags.read[m.Name] = read
			flags.members = append(flags.members, m)
		}
	}
	return func(w environment) (url.Values, error) {
		q := url.Values{}
		for _, m := range flags.members {
			if !c.Flags().Changed(flagOf(m)) {
				if m.Required {
					return nil, usagef("expected --%s\nSee '%s --help'", flagOf(m), c.CommandPath())
				}
				continue
			}
			v, err := flags.read[m.Name](w)
			if err != nil {
				return nil, err
			}
			list, isList := v.([]any)
			if !isList {
				list = []any{v}
			}
			for _, x := range list {
				q.Add(m.Name, fmt.Sprint(x))
			}
		}
		return q, nil
	}
}
