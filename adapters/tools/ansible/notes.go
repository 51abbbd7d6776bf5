package ansible

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
)

// maxNotes bounds how many unmatched patterns and hosts are named.
const maxNotes = 10

// notes collects the signs that a run reached other hosts than intended.
type notes struct {
	limit       []string // the user's patterns
	tagged      bool
	missing     string // the missing inventory path
	unparsed    bool
	causes      []string // what Ansible's plugins said about sources that they could not read
	empty       bool
	limitFailed bool // Ansible refused to start since the limit leaves no host
	unmatched   []string
	emptyPlays  []string // patterns of plays without hosts, unless a limit explains that
	hosts       int      // in the inventory, -1 if unknown
	matched     int      // by all plays
	tasks       int
	changedKeys map[string]bool // hosts with another key than the known one
	unknownKeys map[string]bool // hosts whose unknown key was refused
}

// newNotes checks the inventory's path before the start.
func newNotes(p execution.Play) *notes {
	n := &notes{limit: splitLimit(p.Limit), tagged: len(p.Tags)+len(p.SkipTags) > 0, hosts: -1,
		changedKeys: map[string]bool{}, unknownKeys: map[string]bool{}}
	if p.Inventory == "" || strings.Contains(p.Inventory, ",") || strings.HasPrefix(p.Inventory, "~") {
		return n
	}
	path := p.Inventory
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.WorkDir, path)
	}
	if _, err := os.Stat(path); os.IsNotExist(err) {
		n.missing = p.Inventory
	}
	return n
}

// warning reads one warning of Ansible.
func (n *notes) warning(text string) {
	text = strings.Join(strings.Fields(text), " ")
	switch {
	case strings.HasPrefix(text, "Could not match supplied host pattern, ignoring: "):
		_, pattern, _ := strings.Cut(text, "ignoring: ")
		if len(n.unmatched) < maxNotes && !slices.Contains(n.unmatched, pattern) {
			n.unmatched = append(n.unmatched, pattern)
		}
	case strings.Contains(text, "Failed to parse ") && strings.Contains(text, " plugin: "):
		if len(n.causes) < maxNotes && !slices.Contains(n.causes, text) {
			n.causes = append(n.causes, strings.TrimPrefix(text, "* "))
		}
	case strings.HasPrefix(text, "Unable to parse ") && strings.HasSuffix(text, " as an inventory source"),
		strings.HasPrefix(text, "No inventory was parsed"):
		n.unparsed = true
	case strings.HasPrefix(text, "provided hosts list is empty"):
		n.empty = true
	}
}

// hostKey reads why a host could not be reached, and returns a sentence about its key, empty for another reason.
func (n *notes) hostKey(r record) string {
	hosts, text := n.changedKeys, changedKey
	switch changed, unknown := refusedKey(r.Msg); {
	case unknown:
		hosts, text = n.unknownKeys, unknownKey
	case !changed:
		return ""
	}
	if len(hosts) < maxHosts {
		hosts[r.Host] = true
	}
	return text
}

func (n *notes) play(r record) {
	if r.Inventory != nil {
		n.hosts = *r.Inventory
	}
	if r.Matched == nil {
		return
	}
	n.matched += *r.Matched
	if *r.Matched == 0 && n.hosts != 0 && len(n.limit) == 0 && len(n.emptyPlays) < maxNotes {
		n.emptyPlays = append(n.emptyPlays, patterns(r.Pattern)...)
	}
}

// patterns reads a play's pattern: JSON of a string or of a list of them.
func patterns(raw string) []string {
	var one string
	var many []string
	if json.Unmarshal([]byte(raw), &one) == nil {
		return []string{one}
	}
	if json.Unmarshal([]byte(raw), &many) == nil {
		return many
	}
	return []string{raw}
}

// list returns the warnings of a run that touched so many hosts. The argument ended reports whether the run completed.
func (n *notes) list(touched int, stats map[string]hostStats, bound, ended bool) []runs.Warning {
	out := n.inventory()
	add := func(code, format string, args ...any) {
		out = append(out, runs.Warning{Code: code, Message: fmt.Sprintf(format, args...)})
	}
	var lost, partly []string
	for _, p := range n.unmatched {
		if slices.Contains(n.limit, p) && !n.limitFailed && n.hosts != 0 {
			partly = append(partly, p)
		} else {
			lost = append(lost, p)
		}
	}
	if !bound { // a shard or a relaunch usually has plays without hosts
		for _, p := range n.emptyPlays {
			if !slices.Contains(lost, p) {
				lost = append(lost, p)
			}
		}
	}
	switch {
	case len(lost) > 0:
		add(runs.WarnPatternUnmatched, "No host matches %s.", strings.Join(lost, ", "))
	case n.limitFailed:
		add(runs.WarnPatternUnmatched, "No host of the inventory is within the limit.")
	}
	if len(partly) > 0 {
		add(runs.WarnLimitPartlyUnmatched, "No host matches this part of the limit: %s.", strings.Join(partly, ", "))
	}
	if ended && n.tagged && n.matched > 0 && n.tasks == 0 && touched == 0 {
		add(runs.WarnTagsMatchedNothing, "No task of the playbook is selected by the tags.")
	}
	if ended && touched == 0 {
		add(runs.WarnNoHostsMatched, "The run touched no host.")
	}
	if len(n.changedKeys) > 0 {
		add(runs.WarnHostKeyChanged, "Hosts with another key than the known one, on which nothing was executed: %s (%d).",
			enumerate(slices.Sorted(maps.Keys(n.changedKeys))), len(n.changedKeys))
	}
	if len(n.unknownKeys) > 0 {
		add(runs.WarnHostKeyUnknown, "Hosts whose key is not known, on which nothing was executed: %s (%d).",
			enumerate(slices.Sorted(maps.Keys(n.unknownKeys))), len(n.unknownKeys))
	}
	if names := unreachable(stats); len(names) > 0 {
		add(runs.WarnHostsUnreachable, "Hosts that could not be reached: %s (%d).", enumerate(names), len(names))
	}
	return out
}

// inventory returns the one warning about the inventory that explains the others.
func (n *notes) inventory() []runs.Warning {
	switch {
	case n.missing != "":
		return []runs.Warning{{Code: runs.WarnInventoryPathMissing, Message: fmt.Sprintf("The inventory %q is a path "+
			"on the executing machine, and nothing is there. A stored inventory is chosen by its id.", n.missing)}}
	case n.unparsed:
		return []runs.Warning{{Code: runs.WarnInventoryUnparsed,
			Message: strings.TrimSpace("An inventory source could not be read. " + n.cause())}}
	case n.empty || n.hosts == 0:
		return []runs.Warning{{Code: runs.WarnInventoryEmpty, Message: "The inventory holds no host."}}
	}
	return nil
}

// maxCause bounds what is repeated of Ansible's reasons, in bytes.
const maxCause = 4000

// cause returns what the plugins said about a source that could not be read. If a script failed, the others tried to
// read its text, which says nothing. The end of a long reason is what the script said last.
func (n *notes) cause() string {
	list := n.causes
	for _, c := range n.causes {
		if strings.Contains(c, " with script plugin: ") && !strings.Contains(c, "declined parsing") {
			list = []string{c}
		}
	}
	out := strings.Join(list, "; ")
	if len(out) > maxCause {
		out = "…" + strings.ToValidUTF8(out[len(out)-maxCause:], "")
	}
	return out
}

func unreachable(stats map[string]hostStats) []string {
	var out []string
	for _, h := range slices.Sorted(maps.Keys(stats)) {
		if stats[h].Unreachable > 0 {
			out = append(out, h)
		}
	}
	return out
}

func enumerate(names []string) string {
	if len(names) <= maxNotes {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNotes], ", "), len(names)-maxNotes)
}
