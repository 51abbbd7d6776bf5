package run

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/runs"
)

// The bounds of a page of differences: how many groups it shows, and how many bytes of differences are kept for it.
const (
	maxDiffs     = 50
	maxDiffBytes = 32 << 20
)

// fileDiff is a difference that several hosts share.
type fileDiff struct {
	Task    string
	Changes []change
	Hosts   []string
	raw     json.RawMessage
}

// diffs are the differences of a run, those of the most hosts first.
type diffs struct {
	Head   *head
	Groups []*fileDiff
	More   int // groups that are left out
	Seen   scanned
	Next   string // the address of the rest
	size   int
}

// diff shows what changed in files, grouped by equal differences.
func (h *handlers) diff(r *shell.Request) (*shell.Page, error) {
	top, err := h.head(r, "diff")
	if err != nil {
		return nil, err
	}
	out := diffs{Head: top}
	after, _ := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
	found := map[[sha256.Size]byte]*fileDiff{}
	left := scanLimit
	for _, part := range parts(top, "") {
		seen, err := h.scan(r.Context(), part, max(after, 0), left, func(e *runs.Event) bool {
			if len(e.Diff) > 0 && e.Host != "" {
				out.put(found, e)
			}
			return true
		})
		if err != nil {
			return nil, err
		}
		left -= int(seen.Last - seen.After)
		if out.Seen = seen; seen.Next > 0 || left <= 0 {
			break
		}
	}
	slices.SortStableFunc(out.Groups, func(a, b *fileDiff) int { return cmp.Compare(len(b.Hosts), len(a.Hosts)) })
	if out.More = max(len(out.Groups)-maxDiffs, 0); out.More > 0 {
		out.Groups = out.Groups[:maxDiffs]
	}
	for _, g := range out.Groups {
		g.Changes = changesOf(g.raw)
	}
	if out.Seen.Next > 0 && !top.Run.Kind.Parent() {
		out.Next = address(top.Run, "diff", "after", strconv.FormatInt(out.Seen.Next, 10))
	}
	return page(top, diffView(out)), nil
}

// put adds the difference of a host to those that are equal.
func (d *diffs) put(found map[[sha256.Size]byte]*fileDiff, e *runs.Event) {
	key := sha256.Sum256(append([]byte(e.Task+"\x00"), alike(e.Diff)...))
	g := found[key]
	if g == nil {
		g = &fileDiff{Task: e.Task}
		if d.size += len(e.Diff); d.size <= maxDiffBytes {
			g.raw = slices.Clone(e.Diff)
		}
		found[key] = g
		d.Groups = append(d.Groups, g)
	}
	if !slices.Contains(g.Hosts[max(0, len(g.Hosts)-1):], e.Host) {
		g.Hosts = append(g.Hosts, e.Host)
	}
}

func diffSentence(d diffs) string {
	n := 0
	for _, g := range d.Groups {
		n += len(g.Hosts)
	}
	switch {
	case len(d.Groups) == 0 && d.Head.Run.Spec.DiffMode:
		return "No file of a host was changed in the events that are here."
	case len(d.Groups) == 0:
		return "The run recorded no differences. Set diff mode in the template to record them."
	}
	verb := "were made"
	if d.Head.Run.Spec.DryRun {
		verb = "would be made"
	}
	return shell.Plural(len(d.Groups)+d.More, "different change") + " " + verb +
		". Equal ones are shown once, with their hosts."
}

func seenText(s scanned) string {
	return "Events " + shell.Count(s.After+1) + " to " + shell.Count(s.Last) + " of " + shell.Count(s.Of) + " were read."
}
