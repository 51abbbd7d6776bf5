package system

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/system"
)

// notes collects the findings of one check. It keeps a limited number of each severity and counts the rest.
type notes struct {
	kept [3][]system.Finding // by rank
	left [3]int
}

// rank orders severities, the highest first. An unknown severity ranks highest.
func rank(s system.Severity) int {
	switch s {
	case system.Notice:
		return 2
	case system.Warning:
		return 1
	default:
		return 0
	}
}

// severity returns the severity of a rank.
func severity(rank int) system.Severity {
	return [3]system.Severity{system.Error, system.Warning, system.Notice}[rank]
}

func (n *notes) add(f system.Finding) {
	r := rank(f.Severity)
	f.Severity = severity(r)
	if len(n.kept[r]) == system.MaxFindings {
		n.left[r]++
		return
	}
	n.kept[r] = append(n.kept[r], f)
}

// list returns the findings, the highest severity first, and by object within one severity. If there are more than
// MaxFindings, the last one contains the number of the rest and has their highest severity.
func (n *notes) list() []system.Finding {
	var out []system.Finding
	total := 0
	for r := range n.kept {
		slices.SortStableFunc(n.kept[r], func(a, b system.Finding) int { return byObject(a.Object, b.Object) })
		out = append(out, n.kept[r]...)
		total += len(n.kept[r]) + n.left[r]
	}
	if total <= system.MaxFindings {
		return out
	}
	const listed = system.MaxFindings - 1
	more := total - listed
	return append(out[:listed:listed], system.Finding{
		Severity: n.highestSeverity(listed), Problem: fmt.Sprintf("there are %d more findings of this check", more),
		Fix: "repair the listed findings, and examine the install again",
	})
}

// highestSeverity returns the severity of the first finding beyond the listed ones.
func (n *notes) highestSeverity(listed int) system.Severity {
	for r := range n.kept {
		if listed -= len(n.kept[r]) + n.left[r]; listed < 0 {
			return severity(r)
		}
	}
	return system.Notice
}

// byObject orders subjects by kind, name and id. The install itself comes last.
func byObject(a, b system.Subject) int {
	none := system.Subject{}
	if (a == none) != (b == none) {
		if a == none {
			return 1
		}
		return -1
	}
	return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
}

// report combines the results of checks, which are in the order of their names.
func report(runners []*checkRunner, found []system.Examination) system.Report {
	out := system.Report{OK: true, Findings: []system.Finding{}, Checked: make(map[string]int, len(runners))}
	for i, s := range runners {
		out.Checked[s.name] = found[i].Examined
		var n notes
		for _, f := range found[i].Findings {
			f.Check = s.name
			n.add(f)
		}
		for _, f := range n.list() {
			f.Check = s.name
			out.Findings = append(out.Findings, f)
		}
	}
	slices.SortStableFunc(out.Findings, func(a, b system.Finding) int { return rank(a.Severity) - rank(b.Severity) })
	out.OK = len(out.Findings) == 0 || out.Findings[0].Severity != system.Error
	return out
}

// shared returns a copy of a report with its own list and map.
func shared(r system.Report) system.Report {
	r.Findings, r.Checked = slices.Clone(r.Findings), maps.Clone(r.Checked)
	return r
}

// maxQuoted is the largest length of a stored message in a finding, in characters.
const maxQuoted = 300

// clip reduces a stored message to one line of bounded length without its final full stop.
func clip(s string) string {
	r := []rune(strings.TrimSuffix(strings.Join(strings.Fields(s), " "), "."))
	if len(r) > maxQuoted {
		return string(r[:maxQuoted-1]) + "…"
	}
	return string(r)
}
