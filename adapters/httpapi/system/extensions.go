package system

import (
	"context"
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/system"
)

// ExtensionBody is an extension of the server that answers.
type ExtensionBody struct {
	Name     string   `json:"name" doc:"Of the plugin's executable, or of the extension that is compiled in."`
	Kinds    []string `json:"kinds" doc:"tool, notifier, secret_engine, ai_provider; none for a plugin that was skipped."`
	Version  string   `json:"version" doc:"Of the plugin, as it says."`
	State    string   `json:"state" enum:"compiled_in,running,restarting,failed"`
	Restarts int      `json:"restarts" doc:"How often its process was started again."`
	Error    string   `json:"error" doc:"Why it does not run; empty if it does."`
}

// ExtensionList lists extensions by name.
type ExtensionList struct {
	Extensions []ExtensionBody `json:"extensions"`
	httpapi.Listed
}

func extensionList(rows []ExtensionBody, l httpapi.Listed) ExtensionList {
	return ExtensionList{rows, l}
}

func extensionBody(e system.Extension) ExtensionBody {
	out := ExtensionBody{Name: e.Name, Kinds: make([]string, 0, len(e.Kinds)), Version: e.Version, State: string(e.State),
		Restarts: e.Restarts, Error: e.Error}
	for _, k := range e.Kinds {
		out.Kinds = append(out.Kinds, string(k))
	}
	return out
}

func listExtensions(r *httpapi.Router, extensions system.Extensions) {
	httpapi.HandleList(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/extensions", ID: "list-extensions", Tag: "system", Summary: "List extensions",
		Description: "The plugins of the server that answers and what is compiled into it. Workers have their own plugins.",
		Access:      httpapi.Needs("extension", "read"), Status: http.StatusOK,
		Errors: []int{http.StatusServiceUnavailable},
	}, extensionList, extensionBody, func(ctx context.Context, in *ListInput) ([]system.Extension, int, error) {
		list := extensions.Extensions(ctx)
		w := in.Page()
		from := min(max(w.Offset, 0), len(list))
		return list[from:min(from+w.Rows(), len(list))], len(list), nil
	}, ExtensionBody{Name: "tofu", Kinds: []string{"tool"}, Version: "v1.2.0", State: "running"})
}
