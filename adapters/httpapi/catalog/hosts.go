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
	b := HostBody{Name: e.Name, Groups: append([]string{}, e.Groups...), Vars: e.Vars}
	if b.Vars == nil {
		b.Vars = map[string]any{}
	}
	return b
}

// HostList is a list of hosts in inventory order.
type HostList struct {
	Hosts []HostBody `json:"hosts"`
	httpapi.Listed
}

// HostsOutput is the response with hosts.
type HostsOutput struct{ Body HostList }

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

// ResolutionOutput is the response with a ResolutionBody.
type ResolutionOutput struct{ Body ResolutionBody }

func (h *handlers) listHosts(ctx context.Context, in *HostsInput) (*HostsOutput, error) {
	list, total, err := h.Inventories.Hosts(ctx, in.ID, in.Page())
	if err != nil {
		return nil, err
	}
	rows, listed := httpapi.List(list, total, in.Window, hostBody)
	return &HostsOutput{Body: HostList{Hosts: rows, Listed: listed}}, nil
}

func (h *handlers) resolve(ctx context.Context, in *LimitInput) (*ResolutionOutput, error) {
	limit := ""
	if in.Body != nil {
		limit = in.Body.Limit
	}
	r, err := h.Inventories.Resolve(ctx, in.ID, limit)
	if err != nil {
		return nil, err
	}
	return &ResolutionOutput{Body: ResolutionBody{
		Count: r.Count, Groups: append([]string{}, r.Groups...), Sample: append([]string{}, r.Sample...),
		Warnings: append([]string{}, r.Warnings...),
	}}, nil
}

func (h *handlers) hosts(r *httpapi.Router) {
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: inventoriesPath + "/{id}/hosts", ID: "list-inventory-hosts", Tag: tag,
		Description: "In inventory order. Variables are those of the host itself, without those of its groups.",
		Summary:     "List an inventory's hosts with their groups and variables", Access: read(), Status: http.StatusOK,
		Errors: getStatuses(),
		Example: HostList{Hosts: []HostBody{{Name: "web1", Groups: []string{"web"}, Vars: map[string]any{"http_port": 8080}}},
			Listed: httpapi.ExampleListed()},
	}, h.listHosts)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: inventoriesPath + "/{id}/resolve", ID: "resolve-inventory", Tag: tag, Harmless: true,
		Description: "The hosts that Ansible selects with the same --limit. Nothing is run.",
		Summary:     "List the hosts that a limit selects", Access: read(), Status: http.StatusOK,
		Request: LimitBody{Limit: "web:!web9"}, Errors: getStatuses(),
		Example: ResolutionBody{Count: 2, Groups: []string{"web"}, Sample: []string{"web1", "web2"}, Warnings: []string{}},
	}, h.resolve)
}
