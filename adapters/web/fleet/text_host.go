package fleet

import (
	"fmt"
	"strings"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/runs"
)

func stripText(list []runs.Outcome) string {
	failed := 0
	for _, o := range list {
		if bad(o) {
			failed++
		}
	}
	return shell.Plural(len(list), "run") + ", the oldest first; " + shell.Count(failed) + " failed"
}

func flipsText(x estate.HostRank) string {
	if x.Flaky {
		return "Flaky: " + shell.Plural(x.Flips, "flip") + " between success and failure"
	}
	return shell.Plural(x.Flips, "flip")
}

const shownGroups = 12

func groupsText(groups []string) string {
	switch n := len(groups); {
	case n == 0:
		return "in no group"
	case n > shownGroups:
		return "in " + strings.Join(groups[:shownGroups], ", ") + " and " + shell.Plural(n-shownGroups, "other group")
	}
	return "in " + strings.Join(groups, ", ")
}

// tasksOf counts the results of a run on a host, without those that are none.
func tasksOf(x estate.HostRun) string {
	var parts []string
	for _, c := range []struct {
		n    int
		word string
	}{{x.OK, "ok"}, {x.Changed, "changed"}, {x.Failed, "failed"}, {x.Unreachable, "out of reach"}, {x.Skipped,
		"skipped"},
		{x.Rescued, "rescued"}, {x.Ignored, "ignored"}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", shell.Count(c.n), c.word))
		}
	}
	return strings.Join(parts, ", ")
}

func factsText(v factsView) string {
	text := shell.Plural(v.Of, "fact")
	if v.Query != "" {
		text += " with “" + v.Query + "”"
	}
	if v.More > 0 {
		text += "; the first " + shell.Count(len(v.Rows)) + " are shown, search to see the others"
	}
	return text + ". Times of changes are those of readings that you may read."
}
