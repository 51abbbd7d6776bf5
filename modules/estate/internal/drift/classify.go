package drift

import (
	"encoding/json"
	"strings"

	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/runs"
)

// applies reports whether a skipped task, by its message, would apply to the host. One that would could not be
// checked, whatever its message says.
func applies(message string) bool {
	switch message {
	case "Conditional result was False", "No items in the list", "All items skipped":
		return false
	default:
		return true
	}
}

// name returns the last part of a module's name.
func name(action string) string { return action[strings.LastIndexByte(action, '.')+1:] }

// unchecked reports whether the result of a module never says what a real run would change.
func unchecked(action string) bool {
	switch name(action) {
	case "raw", "script", "uri":
		return true
	default:
		return false
	}
}

// command reports whether a module executes a command. If a dry run really executes it, its ok checks nothing.
func command(action string) bool {
	switch strings.TrimPrefix(name(action), "win_") {
	case "command", "shell", "expect":
		return true
	default:
		return false
	}
}

// manages reports whether a module makes a host be something, so that its ok means that nothing differs.
func manages(action string) bool {
	n := name(action)
	switch n {
	case "setup", "debug", "set_fact", "set_stats", "add_host", "group_by", "assert", "fail", "pause", "meta", "stat",
		"slurp", "fetch", "find", "getent", "ping", "wait_for", "wait_for_connection", "validate_argument_spec", "tempfile",
		"async_status":
		return false
	default:
		return !strings.HasPrefix(n, "include") && !strings.HasPrefix(n, "import_") && !strings.HasPrefix(n, "gather_") &&
			!strings.HasSuffix(n, "_facts") && !strings.HasSuffix(n, "_info")
	}
}

// classify returns what a result tells of a task. The whole loop tells more than an item that changed nothing.
func (r *reader) classify(t *task, e *runs.Event) estate.TaskState {
	switch e.Type {
	case runs.EventHostSkipped, runs.EventItemSkipped:
		if applies(e.Message) {
			return estate.Unknown
		}
		return estate.Untold
	case runs.EventHostUnreachable:
		return estate.Unknown
	case runs.EventHostFailed, runs.EventItemFailed:
		if r.real || !e.Changed { // an ignored failure may report a change
			return estate.Unknown
		}
	case runs.EventItemOK:
		if r.real || !e.Changed {
			return estate.Untold
		}
	}
	if r.real {
		if e.Changed && t.CheckMode { // it is only checked, also in a real run
			return estate.Untold
		}
		return estate.Known
	}
	switch {
	case unchecked(t.Action):
		return estate.Unknown
	case !e.Changed && (!manages(t.Action) || !t.CheckMode && command(t.Action)):
		return estate.Untold // it only looked
	case e.Changed && !t.CheckMode && len(e.Diff) == 0:
		return estate.Unknown // the task was really executed: that it changed something is its nature
	}
	return estate.Known
}

// onlyTouched reports whether all that differs are the times of a file that is there, as of file with state=touch,
// which always reports a change.
func onlyTouched(diff json.RawMessage) bool {
	var parts []struct {
		Before, After string
	}
	if len(diff) == 0 || json.Unmarshal(diff, &parts) != nil {
		return false
	}
	for _, p := range parts {
		var before, after map[string]any
		if json.Unmarshal([]byte(p.Before), &before) != nil || json.Unmarshal([]byte(p.After), &after) != nil ||
			after["state"] != "touch" || before["state"] == "absent" || before["state"] == nil {
			return false
		}
		for _, m := range []map[string]any{before, after} {
			for _, k := range []string{"state", "mtime", "atime", "path"} {
				delete(m, k)
			}
			if len(m) > 0 {
				return false
			}
		}
	}
	return len(parts) > 0
}
