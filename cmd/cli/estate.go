package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/config"
)

const estateExample = `  writ estate --keys ansible_distribution --keys ansible_kernel
  writ estate --at 2026-05-01T12:00:00Z
  writ estate --diff 7d`

type estateFlags struct {
	at, diff, query, after string
	keys                   []string
	limit                  int
}

func estateCommand(w environment) *cobra.Command {
	var f estateFlags
	c := &cobra.Command{
		Use: "estate", Short: "Show the facts of the hosts at an instant, or what changed", Example: estateExample,
		Args: args(cobra.NoArgs),
	}
	c.Flags().StringVar(&f.at, "at", "",
		"`time` of the answer: an RFC 3339 instant, or an age such as 2h or 7d (default now)")
	c.Flags().StringVar(&f.diff, "diff", "", "earlier `time` to compare with")
	c.Flags().StringVarP(&f.query, "query", "q", "", "only hosts whose facts fit, such as 'ansible_distribution=Debian'")
	c.Flags().StringArrayVar(&f.keys, "keys", nil, "`key` of a fact to show, with all below it (repeatable)")
	c.Flags().StringVar(&f.after, "after", "", "only hosts whose names come after this `name`")
	c.Flags().IntVar(&f.limit, "limit", 0, "maximum number of hosts; 0 is all of them")
	c.MarkFlagsMutuallyExclusive("diff", "after")
	c.MarkFlagsMutuallyExclusive("diff", "limit")
	return clientCommand(w, c, watching(c, func(ctx context.Context, c *client, _ []string, out printer) error {
		if f.diff != "" {
			return f.compare(ctx, c, out)
		}
		return f.list(ctx, c, out)
	}))
}

// standardKeys are the columns of a list without --keys.
func standardKeys() []string {
	return []string{"ansible_distribution", "ansible_distribution_version", "ansible_kernel"}
}

// moment returns the parameter of an instant, given as one or as an age.
func moment(flag, v string) (string, error) {
	if _, err := time.Parse(time.RFC3339, v); err == nil || v == "" {
		return v, nil
	}
	var ago time.Duration
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	config.DaysVar(fs, &ago, flag, 0, "")
	if err := fs.Set(flag, v); err != nil {
		return "", usagef("--%s: expected an RFC 3339 instant, or an age such as 2h or 7d", flag)
	}
	return clock.New().Now().Add(-ago).Format(time.RFC3339Nano), nil
}

// copy copies the answer of a path.
func (c *client) copy(ctx context.Context, path string, out io.Writer) error {
	resp, err := c.request(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(out, resp.Body); err != nil {
		return fmt.Errorf("the answer is not complete: %w", err)
	}
	return nil
}

// printAnswer prints an answer as a document, as it comes if it may be.
func (c *client) printAnswer(ctx context.Context, path string, q url.Values, list string, out printer) error {
	if out.streams() {
		return c.copy(ctx, path+"?"+q.Encode(), out.out)
	}
	raw, err := c.fetch(ctx, path, q)
	if err != nil {
		return err
	}
	out.list = list
	return out.document(raw)
}

// history is what an answer leaves out.
type history struct {
	Withheld      int        `json:"withheld"`
	Horizon       *time.Time `json:"horizon"`
	BeforeHistory bool       `json:"before_history"`
}

func (h history) print(s screen) {
	if h.Withheld > 0 {
		_, _ = fmt.Fprintf(s.w, "%s withheld, since you may not read the run that gathered them\n", count(h.Withheld, "host"))
	}
	if h.BeforeHistory {
		_, _ = fmt.Fprintf(s.w, "The oldest facts are of %s\n", h.Horizon.Format(time.RFC3339))
	}
}

func (f *estateFlags) list(ctx context.Context, c *client, out printer) error {
	at, err := moment("at", f.at)
	if err != nil {
		return err
	}
	q := url.Values{}
	for name, v := range map[string]string{"at": at, "q": f.query, "after": f.after} {
		if v != "" {
			q.Set(name, v)
		}
	}
	if f.limit != 0 {
		q.Set("limit", strconv.Itoa(f.limit))
	}
	if q["keys"] = f.keys; out.json {
		return c.printAnswer(ctx, "/v1/estate", q, "hosts", out)
	}
	if len(f.keys) == 0 {
		q["keys"] = standardKeys()
	}
	var page struct {
		Hosts []struct {
			Host       string                     `json:"host"`
			Facts      map[string]json.RawMessage `json:"facts"`
			GatheredAt time.Time                  `json:"gathered_at"`
		} `json:"hosts"`
		At   time.Time `json:"at"`
		More bool      `json:"has_more"`
		history
	}
	if err := c.call(ctx, http.MethodGet, "/v1/estate?"+q.Encode(), nil, &page); err != nil {
		return err
	}
	found := map[string]bool{}
	for _, h := range page.Hosts {
		for k := range h.Facts {
			found[k] = true
		}
	}
	keys, s := slices.Sorted(maps.Keys(found)), newScreen(out.environment)
	heading := []string{"HOST", "GATHERED"}
	for _, k := range keys {
		heading = append(heading, oneLine(k, 40))
	}
	rows := make([][]field, 0, len(page.Hosts))
	for _, h := range page.Hosts {
		row := []field{{text: oneLine(h.Host, 60)}, {text: age(page.At.Sub(h.GatheredAt))}}
		for _, k := range keys {
			row = append(row, field{text: shownFact(h.Facts[k])})
		}
		rows = append(rows, row)
	}
	s.table(heading, rows)
	page.print(s)
	if page.More {
		out.cutOff(len(page.Hosts), "hosts")
	}
	return nil
}

// shownFact is a value in a table: a text without its quotes, and nothing if there is none.
func shownFact(v json.RawMessage) string {
	text := string(v)
	if strings.HasPrefix(text, `"`) {
		_ = json.Unmarshal(v, &text) // the answer was decoded, so each value is JSON
	}
	return oneLine(text, 60)
}

func (f *estateFlags) compare(ctx context.Context, c *client, out printer) error {
	if f.query != "" || len(f.keys) > 0 {
		return usagef("--diff compares all facts of all hosts: it takes neither --query nor --keys")
	}
	q := url.Values{}
	for name, flag := range map[string][2]string{"from": {"diff", f.diff}, "to": {"at", f.at}} {
		at, err := moment(flag[0], flag[1])
		if err != nil {
			return err
		}
		if at != "" {
			q.Set(name, at)
		}
	}
	if out.json {
		return c.printAnswer(ctx, "/v1/estate/diff", q, "changed", out)
	}
	var d struct {
		Changed []struct {
			Host  string `json:"host"`
			Facts []struct {
				Key      string          `json:"key"`
				From, To json.RawMessage `json:",omitempty"`
			} `json:"facts"`
		} `json:"changed"`
		Added      []string `json:"added"`
		Unobserved []string `json:"unobserved"`
		Unchanged  int      `json:"unchanged"`
		history
	}
	if err := c.call(ctx, http.MethodGet, "/v1/estate/diff?"+q.Encode(), nil, &d); err != nil {
		return err
	}
	s := newScreen(out.environment)
	var rows [][]field
	for _, h := range d.Changed {
		for _, fact := range h.Facts {
			rows = append(rows, []field{{text: oneLine(h.Host, 60)}, {text: oneLine(fact.Key, 60)}, {text: shownFact(fact.From)},
				{text: shownFact(fact.To)}})
		}
	}
	if len(rows) > 0 {
		s.table([]string{"HOST", "FACT", "FROM", "TO"}, rows)
	}
	for _, host := range d.Added {
		_, _ = fmt.Fprintf(s.w, "%s is new\n", oneLine(host, 60))
	}
	for _, host := range d.Unobserved {
		_, _ = fmt.Fprintf(s.w, "%s was not gathered\n", oneLine(host, 60))
	}
	_, _ = fmt.Fprintf(s.w, "%d changed, %d unchanged, %d new, %d not gathered\n", len(d.Changed), d.Unchanged,
		len(d.Added), len(d.Unobserved))
	d.print(s)
	return nil
}
