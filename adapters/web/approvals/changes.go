package approvals

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/runs"
)

// The bounds of what is read and shown of a dry run.
const (
	maxPages  = 4
	pageSize  = 500
	maxGroups = 8
	maxLines  = 12
	// minFolded is the length from which the name of a host is no part of other words.
	minFolded = 3
)

// changeView is what a dry run would change, by identical change.
type changeView struct {
	groups []change
	more   int // groups that are not shown
	odd    int // hosts that differ from most
	hosts  int // hosts with a change that was read
	cut    bool
}

// change is one change that is the same on some hosts.
type change struct {
	what  string
	hosts []string
	lines []line
	cut   bool
}

// line is a line of a difference: removed or added.
type line struct {
	added bool
	text  string
}

// previewed reads the changes of a dry run, within bounds.
func (h *handlers) previewed(ctx context.Context, id string) (changeView, error) {
	var all []runs.Event
	after, end := int64(0), false
	for range maxPages {
		p, err := h.Runs.Events(ctx, id, after, pageSize)
		if err != nil {
			return changeView{}, err //nolint:wrapcheck // a fault
		}
		all, after = append(all, p.Events...), p.NextAfter
		if end = p.End || len(p.Events) < pageSize; end {
			break
		}
	}
	v := grouped(all)
	v.cut = !end
	return v, nil
}

// grouped groups the changes of events. The largest group is the first.
func grouped(all []runs.Event) (v changeView) {
	byKey := map[string]*change{}
	of := map[string][]string{} // the keys of a host
	var order []*change
	for i := range all {
		e := &all[i]
		if !e.Changed || e.Host == "" || len(e.Diff) == 0 {
			continue
		}
		what := without(e.Host, cmp.Or(e.Resource, e.Task))
		lines := differences(json.RawMessage(without(e.Host, string(e.Diff))))
		key := fmt.Sprint(e.Task, "\x00", what, "\x00", lines)
		c := byKey[key]
		if c == nil {
			c = &change{what: what, lines: lines[:min(len(lines), maxLines)], cut: len(lines) > maxLines}
			byKey[key], order = c, append(order, c)
		}
		if !slices.Contains(c.hosts, e.Host) {
			c.hosts = append(c.hosts, e.Host)
			of[e.Host] = append(of[e.Host], key)
		}
	}
	alike := map[string]int{}
	most := 0
	for _, keys := range of {
		sign := strings.Join(keys, "\x00")
		alike[sign]++
		most = max(most, alike[sign])
	}
	v.hosts, v.odd = len(of), len(of)-most
	slices.SortStableFunc(order, func(a, b *change) int { return cmp.Compare(len(b.hosts), len(a.hosts)) })
	for i, c := range order {
		if i == maxGroups {
			v.more = len(order) - maxGroups
			break
		}
		v.groups = append(v.groups, *c)
	}
	return v
}

// without folds the name of a host in a text, so that changes which differ in it alone are identical.
func without(host, text string) string {
	if len(host) < minFolded {
		return text
	}
	return strings.ReplaceAll(text, host, "(host)")
}

// differences reads the differences that Ansible reports: a list of texts before and after, or prepared ones. Headers
// are left out: they name temporary files, which differ on each host.
func differences(raw json.RawMessage) (out []line) {
	type side struct {
		Before, After any
		Prepared      string
	}
	var list []side
	if json.Unmarshal(raw, &list) != nil {
		var one side
		if json.Unmarshal(raw, &one) != nil {
			return nil
		}
		list = []side{one}
	}
	for _, s := range list {
		if s.Prepared != "" {
			out = append(out, prepared(s.Prepared)...)
			continue
		}
		before, after := linesOf(s.Before), linesOf(s.After)
		for len(before) > 0 && len(after) > 0 && before[0] == after[0] {
			before, after = before[1:], after[1:]
		}
		for len(before) > 0 && len(after) > 0 && before[len(before)-1] == after[len(after)-1] {
			before, after = before[:len(before)-1], after[:len(after)-1]
		}
		for _, t := range before {
			out = append(out, line{false, t})
		}
		for _, t := range after {
			out = append(out, line{true, t})
		}
	}
	return out
}

// prepared reads the lines of a unified difference.
func prepared(text string) (out []line) {
	for _, t := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(t, "+++"), strings.HasPrefix(t, "---"):
		case strings.HasPrefix(t, "+"):
			out = append(out, line{true, t[1:]})
		case strings.HasPrefix(t, "-"):
			out = append(out, line{false, t[1:]})
		}
	}
	return out
}

// linesOf returns the lines of a side. One that is no text is shown as JSON.
func linesOf(v any) []string {
	text, ok := v.(string)
	if !ok && v != nil {
		raw, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return nil
		}
		text = string(raw)
	}
	if text = strings.TrimSuffix(text, "\n"); text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
