package fleet

import (
	"strings"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
)

// queuesText is the sentence of the page: what waits, and whether somebody serves it.
func queuesText(v queuesView) string {
	unserved, waits := 0, int64(0)
	for _, q := range v.Queues {
		waits += q.Pending
		if q.Pending > 0 && q.Workers == 0 {
			unserved++
		}
	}
	text := "Nothing waits"
	if waits > 0 {
		text = shell.Plural(waits, "run") + " " + form(waits == 1, "waits", "wait")
	}
	switch {
	case unserved > 0:
		text += "; " + shell.Plural(unserved, "queue") + " with waiting runs " + form(unserved == 1, "has", "have") +
			" no fresh worker."
	case v.Executors == 0:
		text += "; no worker is fresh."
	default:
		text += "; " + shell.Count(v.Busy) + " of " + shell.Plural(v.Executors, "executor") + " " +
			form(v.Busy == 1, "is", "are") + " busy."
	}
	return text
}

func form(one bool, single, many string) string {
	if one {
		return single
	}
	return many
}

func queueState(q queueRow) shell.State {
	switch {
	case q.Pending > 0 && q.Workers == 0:
		return shell.State{Glyph: "lost", Word: "No fresh worker"}
	case q.Pending > 0 && q.MaxConcurrent > 0 && q.Running >= int64(q.MaxConcurrent):
		return shell.State{Glyph: "wait", Word: "At its limit"}
	case q.Pending > 0:
		return shell.State{Glyph: "wait", Word: "Waiting"}
	case q.Running > 0:
		return shell.State{Glyph: "now", Word: "Running"}
	case q.Workers == 0:
		return shell.State{Glyph: "skip", Word: "Not served"}
	}
	return shell.State{Glyph: "done", Word: "Free"}
}

func servedText(workers int) string {
	if workers == 0 {
		return "no fresh worker takes its runs"
	}
	return shell.Plural(workers, "fresh worker")
}

func limitText(n int) string {
	if n == 0 {
		return "any number"
	}
	return shell.Plural(n, "run")
}

func pendingText(v queuesView) string {
	if v.PendingMore {
		return "the " + shell.Count(len(v.Pending)) + " of " + shell.Count(v.PendingTotal) + " that wait longest"
	}
	return shell.Plural(len(v.Pending), "run") + ", the longest first"
}

func workersText(v queuesView) string {
	stale := 0
	for _, w := range v.Workers {
		if !w.Fresh {
			stale++
		}
	}
	text := rangeText(0, len(v.Workers), v.WorkerTotal, "worker")
	if stale > 0 {
		text += ", " + shell.Count(stale) + " stale: a worker reports every 10 s"
	}
	return text
}

func kindText(w execution.Worker) string {
	kind := map[execution.WorkerKind]string{execution.ServerWorker: "within a server",
		execution.DatabaseWorker: "over the database", execution.RelayWorker: "over the relay"}[w.Kind]
	if w.Version != "" {
		kind += ", version " + w.Version
	}
	if w.Isolation.Level != "" {
		kind += ", isolation " + w.Isolation.Level
	}
	return kind
}

// reasonText joins what a run waits for with what has to happen next.
func reasonText(r runs.Reason) string {
	if r.Next == "" {
		return r.Text
	}
	return strings.TrimSuffix(r.Text, ".") + "; " + r.Next
}

func idleText(held int) string {
	if held > 0 {
		return shell.Plural(held, "run") + " that you may not read, or that just ended"
	}
	return "nothing"
}

func usedText(w execution.Worker) string {
	return shell.Count(w.Running) + " of " + shell.Count(w.Executors) + " used"
}

func mintedText(name string) string {
	return "This is the token of " + name + ". It is shown only now: copy it to the worker."
}
