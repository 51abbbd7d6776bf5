package policy

import (
	"context"
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/policy"
)

type handlers struct{ Params }

// New returns the routes of the policy context.
func New(p Params) httpapi.Routes {
	return httpapi.Routes{Name: "policy", Register: func(r *httpapi.Router) {
		h := &handlers{p}
		h.manage(r)
		h.simulate(r)
		h.windows(r)
		httpapi.Handle(r, httpapi.Route{
			Method: http.MethodGet, Path: "/relay/v1/policies", ID: "list-policies-in-force", Tag: "relay",
			Summary: "List the policies in force", Access: httpapi.Worker(), Status: http.StatusOK,
			Description: "The enabled ones by name. The answer has an ETag; If-None-Match answers 304 while they " +
				"are the same.",
			Example: InForceBody{Policies: []Body{example()}, Count: 1},
			Errors:  []int{http.StatusServiceUnavailable},
		}, h.inForce)
	}}
}

const licensed = " Without a licence an install has one enabled policy that requires approval, with the tier pro " +
	"five. More of them, the effect deny, risk_at_least, actors and distinct_approver need the tier team."

func (h *handlers) manage(r *httpapi.Router) {
	k := httpapi.Kind[policy.Policy, Body]{
		Path: "/v1/policies", Noun: "policy", Tag: "policy", Read: httpapi.Needs("policy", "read"),
		Write: httpapi.Needs("policy", "write"), Example: example(), Request: exampleFields(),
		Body: body, Record: func(p policy.Policy) object.Record { return p.Record },
	}
	partly := func(route httpapi.Route) httpapi.Route {
		route.License, route.LicensedPart = policy.FeatureDeny, true
		return route
	}
	httpapi.Handle(r, partly(k.Create(audit.PolicyCreate, "Create a policy",
		"It applies to every request from now on. Where a file is the only source of policies, every write is a conflict."+
			licensed)), httpapi.Creator(k, (*Fields).policy, h.Policies.Create))
	httpapi.HandleList(r, k.List("List policies by name", "Ordered by name, those that are disabled too."), list, body,
		httpapi.Filtered((*ListInput).filter, h.Policies.List), k.Example)
	httpapi.Handle(r, k.Get("Read one policy", "With everything that it matches."), k.Getter(h.Policies.Get))
	httpapi.Handle(r, partly(k.Update(audit.PolicyUpdate, "Replace a policy",
		"An omitted member clears, and an omitted enabled is true. What the policy held stays held by its former terms. "+
			"Disabling needs no licence."+licensed)),
		httpapi.Updater(k, h.Policies.Get, (*Body).policy, h.Policies.Update))
	remove := k.Delete(audit.PolicyDelete, "Delete a policy", "What the policy held stays held.")
	remove.Errors = append(remove.Errors, http.StatusConflict)
	httpapi.Handle(r, remove, httpapi.Deleter(h.Policies.Delete))
}

// InForceInput has the version that the worker holds.
type InForceInput struct {
	NoneMatch string `header:"If-None-Match"`
}

// InForceBody lists the policies in force.
type InForceBody struct {
	Policies []Body `json:"policies"`
	Count    int    `json:"count"`
}

// InForceOutput answers with the policies in force, or without a body if the worker has them.
type InForceOutput struct {
	Status int
	ETag   string `header:"ETag"`
	Body   *InForceBody
}

func (h *handlers) inForce(ctx context.Context, in *InForceInput) (*InForceOutput, error) {
	found, tag, err := h.Policies.InForce(ctx)
	if err != nil {
		return nil, err
	}
	out := &InForceOutput{Status: http.StatusOK, ETag: httpapi.Quoted(tag)}
	if httpapi.Unchanged(in.NoneMatch, out.ETag) {
		out.Status = http.StatusNotModified
		return out, nil
	}
	rows := httpapi.Rows(found, body)
	out.Body = &InForceBody{Policies: rows, Count: len(rows)}
	return out, nil
}
