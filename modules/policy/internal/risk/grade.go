// Package risk grades requests by fixed rules. The page docs/reference/risk.md prints them.
//
// The rules look at what the record of a run says. They warn of what people write; they are no boundary, since a
// command can build its text where no rule sees it.
package risk

import (
	"slices"

	"github.com/writ-automation/writ/modules/policy/internal/subject"
	"github.com/writ-automation/writ/ports/runs"
)

// Grade returns the risk of one subject.
func Grade(s *subject.Subject) runs.Risk {
	level, matched := grade(s)
	return runs.Risk{Level: level, Reasons: reasons(matched)}
}

// GradeAll returns the risk of a request, the highest of its subjects with the reasons of all, and the level of each
// subject.
func GradeAll(list []subject.Subject) (runs.Risk, []runs.RiskLevel) {
	all, levels := runs.Risk{Level: runs.LowRisk}, make([]runs.RiskLevel, len(list))
	var matched uint64
	for i := range list {
		level, m := grade(&list[i])
		levels[i], matched = level, matched|m
		if level.AtLeast(all.Level) {
			all.Level = level
		}
	}
	all.Reasons = reasons(matched)
	return all, levels
}

// grade returns the level, and the rules that matched as bits in their order.
func grade(s *subject.Subject) (runs.RiskLevel, uint64) {
	x := facts{Subject: s, found: find(s.Command)}
	level, matched := runs.LowRisk, uint64(0)
	for i, r := range rules() {
		switch {
		case r.Level == "" && level == runs.LowRisk || !r.match(&x):
			continue
		case r.Level == "":
			level = below(level)
		case !level.AtLeast(r.Level):
			level = r.Level
		}
		matched |= 1 << i
	}
	return level, matched
}

func below(level runs.RiskLevel) runs.RiskLevel {
	all := runs.RiskLevels()
	return all[max(0, slices.Index(all, level)-1)]
}

func reasons(matched uint64) []string {
	var out []string
	for i, r := range rules() {
		if matched&(1<<i) != 0 {
			out = append(out, r.Reason)
		}
	}
	return out
}
