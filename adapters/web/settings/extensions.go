package settings

import (
	"cmp"
	"strings"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/system"
)

// extensions lists the plugins of the server, and what is compiled into it.
func (h *handlers) extensions(r *shell.Request) (*shell.Page, error) {
	list := h.Extensions.Extensions(r.Context())
	return show(r, head{Title: tabExtensions, Sentence: extensionsText(list)}, extensionsPage(extensionRows(list)))
}

func extensionRows(list []system.Extension) table {
	t := table{Caption: tabExtensions, Heads: []string{"Extension", "Adds", "Version", "State", "Restarts", "Error"},
		Empty: "No extensions", Why: extensionsWhy}
	for _, e := range list {
		kinds := make([]string, 0, len(e.Kinds))
		for _, k := range e.Kinds {
			kinds = append(kinds, kindText(k))
		}
		t.Rows = append(t.Rows, row{Cells: []cell{text(e.Name), text(cmp.Or(strings.Join(kinds, ", "), "not known")),
			mono(cmp.Or(e.Version, "not known")), extensionState(e.State), text(shell.Count(e.Restarts)),
			text(short(e.Error))}})
	}
	return t
}

// extensionState is a state as its glyph and its word.
func extensionState(s system.ExtensionState) cell {
	switch s {
	case system.ExtensionCompiled:
		return state("done", "Compiled in")
	case system.ExtensionRunning:
		return state("done", "Running")
	case system.ExtensionRestarting:
		return state("lost", "Restarting")
	case system.ExtensionFailed:
		return state("fail", "Failed")
	}
	return text(string(s))
}
