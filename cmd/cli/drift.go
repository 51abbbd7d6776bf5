package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/ports/page"
)

const driftPath = "/v1/drift"

// driftAnswer is the answer about drift.
type driftAnswer struct {
	Resources []map[string]any `json:"resources"`
	Coverage  []struct {
		Host      string    `json:"host"`
		Checked   int       `json:"checked"`
		Drifted   int       `json:"drifted"`
		Unknown   int       `json:"unknown"`
		CheckedAt time.Time `json:"checked_at"`
	} `json:"coverage"`
	Count    int `json:"count"`
	Total    int `json:"total"`
	Hosts    int `json:"hosts"`
	Ignored  int `json:"ignored"`
	Withheld int `json:"withheld"`
}

func driftCommand(w environment) *cobra.Command {
	var host, target, run string
	limit := 0
	below := []*cobra.Command{driftReconcileCommand(w), driftIgnoreCommand(w)}
	w.conn = &connection{}
	c := &cobra.Command{
		Use: "drift", Short: "List what differs from what playbooks say, and repair it", Args: args(cobra.NoArgs),
		Long: "List the resources that differ from what playbooks say, from the newest dry runs, and what was checked\n" +
			"on each host. A host has no drift only if something was checked and nothing is unknown.",
	}
	c.Flags().StringVar(&host, "host", "", "only this host")
	c.Flags().StringVar(&target, "target", "", "only this target, by its id or the name of its template or playbook")
	c.Flags().StringVar(&run, "reconcile-run-id", "", "only what this run was made to repair, by its `id`")
	c.Flags().IntVar(&limit, "limit", mostListed, "maximum number of resources, and of hosts")
	completeFlags(w, c, map[string]string{"host": "host", "target": "template"})
	c = clientCommand(w, c, watching(c, func(ctx context.Context, c *client, _ []string, out printer) error {
		id, err := c.target(ctx, host, target)
		if err != nil {
			return err
		}
		query := url.Values{"host": {host}, "target": {id}, "reconcile_run_id": {run}}
		all, err := c.drift(ctx, query, limit)
		switch {
		case err != nil:
			return err
		case out.json:
			out.list = "resources"
			return out.document(all)
		case all.Hosts == 0 && target != "":
			_, _ = fmt.Fprintf(w.err, "writ: no host is known to drift from %q\n", oneLine(target, 100))
			return nil
		case all.Hosts == 0:
			_, _ = fmt.Fprintln(w.err, "writ: no dry run has checked a host")
			return nil
		}
		printDrift(w, all)
		if limit < max(all.Total, all.Hosts) {
			out.cutOff(limit, "resources, and hosts")
		}
		return nil
	}))
	c.AddCommand(below...)
	return c
}

// drift reads the pages of drift until it has a number of resources, and of hosts.
func (c *client) drift(ctx context.Context, query url.Values, limit int) (driftAnswer, error) {
	for name, values := range query {
		if values[0] == "" {
			query.Del(name)
		}
	}
	all := driftAnswer{Resources: []map[string]any{}}
	if err := checkLimit(limit); err != nil {
		return all, err
	}
	for offset := 0; ; {
		rows := min(page.MaxRows, limit-offset)
		query.Set("offset", strconv.Itoa(offset))
		query.Set("limit", strconv.Itoa(rows))
		var got driftAnswer
		if err := c.call(ctx, http.MethodGet, driftPath+"?"+query.Encode(), nil, &got); err != nil {
			return all, err
		}
		found, hosts := append(all.Resources, got.Resources...), append(all.Coverage, got.Coverage...)
		all = got
		all.Resources, all.Coverage, all.Count = found, hosts, len(found)
		offset += rows
		if last := len(got.Resources) < rows && len(got.Coverage) < rows; last || offset >= limit {
			return all, nil
		}
	}
}

func printDrift(w environment, all driftAnswer) {
	now, screen := clock.New().Now(), newScreen(w)
	rows := make([][]field, 0, len(all.Resources))
	for _, r := range all.Resources {
		tasks := make([]string, 0, 4)
		list, _ := r["changed_tasks"].([]any)
		for _, t := range list {
			tasks = append(tasks, fmt.Sprint(t))
		}
		seen, _ := time.Parse(time.RFC3339, stringField(r, "first_seen"))
		confidence := stringField(r, "confidence")
		if r["unconfirmed"] == true {
			confidence += ", unconfirmed"
		}
		rows = append(rows, []field{
			{text: oneLine(stringField(r, "host"), 60)}, {text: oneLine(stringField(r, "resource"), 80)},
			{text: oneLine(strings.Join(tasks, ", "), 80)}, {text: confidence}, {text: age(now.Sub(seen)), number: true},
		})
	}
	if len(rows) > 0 {
		screen.table([]string{"HOST", "RESOURCE", "TASKS", "CONFIDENCE", "SINCE"}, rows)
		_, _ = fmt.Fprintln(w.out)
	}
	rows = rows[:0]
	for _, h := range all.Coverage {
		rows = append(rows, []field{
			{text: oneLine(h.Host, 60)}, {text: strconv.Itoa(h.Checked), number: true},
			{text: strconv.Itoa(h.Drifted), number: true}, {text: strconv.Itoa(h.Unknown), number: true},
			{text: age(now.Sub(h.CheckedAt)), number: true},
		})
	}
	screen.table([]string{"HOST", "CHECKED", "DRIFTED", "UNKNOWN", "AGE"}, rows)
	for _, n := range []struct {
		n    int
		what string
	}{{all.Ignored, "left out by rules"}, {all.Withheld, "of runs that you may not read"}} {
		if n.n > 0 {
			_, _ = fmt.Fprintf(w.err, "writ: %d more, %s\n", n.n, n.what)
		}
	}
}

func driftReconcileCommand(w environment) *cobra.Command {
	var target string
	c := &cobra.Command{
		Use: "reconcile HOST", Short: "Make a held run that repairs the drift of a host", Args: args(cobra.ExactArgs(1)),
		Long: "Make a run with the settings of the dry run that found the drift, for real and on the host alone. It is\n" +
			"held until it is approved.",
	}
	c.Flags().StringVar(&target, "target", "",
		"the target, by its id or the name of its template or playbook, if the host drifts from several")
	w.conn = &connection{}
	completeFlags(w, c, map[string]string{"target": "template"})
	return objectsCommand(w, c, func(ctx context.Context, c *client, a []string, out printer) error {
		body := map[string]any{"host": a[0]}
		id, err := c.target(ctx, a[0], target)
		switch {
		case err != nil:
			return err
		case id != "" && !isTarget(id):
			return fmt.Errorf("the host %q does not drift from %q", a[0], target)
		case id != "":
			body["target"] = id
		}
		var r record
		err = c.call(ctx, http.MethodPost, driftPath+"/reconcile", body, &r)
		var api *apiError
		if errors.As(err, &api) && api.Status == http.StatusBadRequest && target == "" {
			return c.whichTarget(ctx, a[0], err)
		}
		if err != nil {
			return err
		}
		r.warn(out)
		return out.print(r, "%[1]s is held; approve it with 'writ approve %[1]s'", oneLine(r.ID, 80))
	}, "host")
}

func driftIgnoreCommand(w environment) *cobra.Command {
	return group("ignore", "List, add and delete rules that leave drift out", driftIgnoreAddCommand(w))
}

func driftIgnoreAddCommand(w environment) *cobra.Command {
	var reason, until string
	c := &cobra.Command{
		Use: "add HOST RESOURCE", Short: "Leave drift out", Args: args(cobra.ExactArgs(2)),
		Long: "Leave the drift out whose host and resource fit. Each is a name with * for any text.",
	}
	c.Flags().StringVarP(&reason, "reason", "m", "", "why; it is recorded")
	c.Flags().StringVar(&until, "until", "", "a date or an RFC 3339 time when drift is listed again; never if absent")
	return objectsCommand(w, c, func(ctx context.Context, c *client, a []string, out printer) error {
		body := map[string]any{"host": a[0], "resource": a[1], "reason": reason}
		if until != "" {
			t, err := dateOrTime(until)
			if err != nil {
				return usagef("--until: expected a date such as 2026-05-01, or an RFC 3339 time")
			}
			body["expires_at"] = t.Format(time.RFC3339)
		}
		rule, _, err := c.exchange(ctx, http.MethodPost, driftPath+"/ignores", "", body)
		switch {
		case err != nil:
			return err
		case out.json:
			return out.document(rule)
		}
		_, _ = fmt.Fprintln(w.out, oneLine(stringField(rule, "id"), 80))
		return nil
	}, "host", "")
}
