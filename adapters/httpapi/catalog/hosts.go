package catalog

import (
	"context"
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/catalog"
)

// HostsInput is the request for the hosts of an inventory.
type HostsInput struct {
	ID string `path:"id"`
	httpapi.Window
}

// HostBody is a host of an inventory.
type HostBody struct {
	Name   string         `json:"name"`
	Groups []string       `json:"groups" doc:"The groups of the host, with their parents, without all and ungrouped."`
	Vars   map[string]any `json:"vars" doc:"Its own."`
}

func hostBody(e catalog.HostEntry) HostBody {
	b := HostBody{Name: e.Name, Groups: append([]string{}, e.Groups...), Vars: make(map[string]any, len(e.Vars))}
	for name, v := range e.Vars {
		b.Vars[name] = unmarked(v)
	}
	return b
}

// unmarked returns a value with its texts as they are, without the mark of those that are never templates.
func unmarked(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = unmarked(v[i])
		}
		return out
	case map[string]any:
		if text, ok := v["__ansible_unsafe"].(string); ok && len(v) == 1 {
			return text
		}
		out := make(map[string]any, len(v))
		for name, x := range v {
			out[name] = unmarked(x)
		}
		return out
	default:
		return v
	}
}

// HostList is a list of hosts in inventory order.
type HostList struct {
	Hosts []HostBody `json:"hosts"`
	httpapi.Listed
}

func hostList(rows []HostBody, l httpapi.Listed) HostList { return HostList{rows, l} }

// LimitBody is a host pattern.
type LimitBody struct {
	Limit string `json:"limit,omitempty" doc:"A host pattern of Ansible; all hosts where empty."`
}

// LimitInput is a request with a LimitBody; the body may be absent.
type LimitInput struct {
	ID   string `path:"id"`
	Body *LimitBody
}

// ResolutionBody is the set of hosts that a host pattern selects.
type ResolutionBody struct {
	Count    int      `json:"count" doc:"Hosts."`
	Groups   []string `json:"groups" doc:"The groups with at least one of the hosts, by name."`
	Sample   []string `json:"sample" doc:"The first hosts in inventory order, at most 100."`
	Warnings []string `json:"warnings"`
}

func resolutionBody(r catalog.Resolution) ResolutionBody {
	return ResolutionBody{
		Count: r.Count, Groups: append([]string{}, r.Groups...), Sample: append([]string{}, r.Sample...),
		Warnings: append([]string{}, r.Warnings...),
	}
}

func (h *handlers) resolve(ctx context.Context, in *LimitInput) (*httpapi.Output[ResolutionBody], error) {
	limit := ""
	if in.Body != nil {
		limit = in.Body.Limit
	}
	return httpapi.Show(resolutionBody)(h.Inventories.Resolve(ctx, in.ID, limit))
}

func (h *handlers) hosts(r *httpapi.Router, inventories string) {
	httpapi.HandleList(r, httpapi.Route{
		Method: http.MethodGet, Path: inventories + "/{id}/hosts", ID: "list-inventory-hosts", Tag: tag,
		Description: "In inventory order. Variables are those of the host itself, without those of its groups.",
		Summary:     "List an inventory's hosts with their groups and variables", Access: read(), Status: http.StatusOK,
		Errors: []int{http.StatusNotFound},
	}, hostList, hostBody, func(ctx context.Context, in *HostsInput) ([]catalog.HostEntry, int, error) {
		return h.Inventories.Hosts(ctx, in.ID, in.Page())
	}, HostBody{Name: "web1", Groups: []string{"web"}, Vars: map[string]any{"http_port": 8080}})
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: inventories + "/{id}/resolve", ID: "resolve-inventory", Tag: tag, Harmless: true,
		Description: "What Ansible would select with the same --limit. Nothing is run.",
		Summary:     "List the hosts that a limit selects", Access: read(), Status: http.StatusOK,
		Request: LimitBody{Limit: "web:!web9"}, Errors: []int{http.StatusNotFound},
		Example: ResolutionBody{Count: 2, Groups: []string{"web"}, Sample: []string{"web1", "web2"}, Warnings: []string{}},
	}, h.resolve)
}
