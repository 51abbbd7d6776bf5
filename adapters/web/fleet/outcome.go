package fleet

import (
	"strings"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/runs"
)

// outcomeState is how the outcome of a run on a host is shown.
func outcomeState(o runs.Outcome) shell.State {
	switch o {
	case runs.HostOK:
		return shell.State{Glyph: "done", Word: "OK"}
	case runs.HostChanged:
		return shell.State{Glyph: "chg", Word: "Changed"}
	case runs.HostFailed:
		return shell.State{Glyph: "fail", Word: "Failed"}
	case runs.HostUnreachable:
		return shell.State{Glyph: "lost", Word: "Out of reach"}
	case runs.HostRescued:
		return shell.State{Glyph: "chg", Word: "Rescued"}
	case runs.HostIgnored:
		return shell.State{Glyph: "chg", Word: "Ignored"}
	case runs.HostIncomplete:
		return shell.State{Glyph: "lost", Word: "Cut short"}
	}
	return shell.State{Glyph: "skip", Word: "Skipped"}
}

// bad reports whether an outcome is a failure, as the ranking counts it.
func bad(o runs.Outcome) bool {
	return o == runs.HostFailed || o == runs.HostUnreachable || o == runs.HostIncomplete
}

// markPath is the shape of an outcome in a box of 10 by 10, with the class of its hue. Each outcome differs by shape.
func markPath(o runs.Outcome) (hue, path string) {
	switch o {
	case runs.HostOK:
		return "done", "M3 3h4v4H3z"
	case runs.HostChanged:
		return "chg", "M5 1l4 4-4 4-4-4z"
	case runs.HostFailed:
		return "fail", "M0 0h10v10H0zM2.2 3.2L4 5 2.2 6.8l1 1L5 6l1.8 1.8 1-1L6 5l1.8-1.8-1-1L5 4 3.2 2.2z"
	case runs.HostUnreachable:
		return "lost", "M0 0h10v10H0zM4 2v6h2V2z"
	case runs.HostIncomplete:
		return "lost", "M0 0h10L0 10z"
	case runs.HostRescued, runs.HostIgnored:
		return "chg", "M1 1h8v8H1zM2.5 2.5v5h5v-5z"
	}
	return "idle", "M2 4.4h6v1.2H2z"
}

// marksText says in words what the squares show.
func marksText(list []runs.Outcome) string {
	if len(list) == 0 {
		return "No runs"
	}
	words := make([]string, 0, len(list))
	for i := 0; i < len(list); {
		n := i
		for n < len(list) && list[n] == list[i] {
			n++
		}
		word := strings.ToLower(outcomeState(list[i]).Word)
		if n-i > 1 {
			word += " " + shell.Count(n-i) + " times"
		}
		words, i = append(words, word), n
	}
	return "Oldest first: " + strings.Join(words, ", ")
}

// streak is how the newest runs of a host ended alike.
type streak struct {
	Failing bool
	Length  int
	First   estate.HostRun // the oldest of them
	Before  int            // runs of the other kind that came just before
	Whole   bool           // the runs that are kept end within the streak, so that it may be longer
}

func streakOf(list []estate.HostRun) (s streak) {
	if len(list) == 0 {
		return s
	}
	s.Failing = bad(list[0].Worst)
	for s.Length < len(list) && bad(list[s.Length].Worst) == s.Failing {
		s.First = list[s.Length]
		s.Length++
	}
	rest := list[s.Length:]
	for s.Before < len(rest) && bad(rest[s.Before].Worst) != s.Failing {
		s.Before++
	}
	s.Whole = s.Length+s.Before == len(list)
	return s
}
