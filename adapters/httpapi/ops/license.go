package ops

import (
	"context"
	"net/http"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/system"
)

// LicenseBody is the licence of the install.
type LicenseBody struct {
	Tier     string     `json:"tier" enum:"community,pro,team" doc:"The tier in force; community without a licence."`
	State    string     `json:"state" enum:"none,valid,ended"`
	ID       string     `json:"id" doc:"Empty without a licence."`
	Customer string     `json:"customer"`
	NotAfter *time.Time `json:"not_after" doc:"When the licence ends; null without one."`
	Features []string   `json:"features" doc:"What the licence adds to the tier."`
	Problem  string     `json:"problem" doc:"Why the present file is not used; the last good one stays in force."`
	// Licensed tells which features need a licence.
	Licensed map[string]string `json:"licensed" doc:"The features that need a licence, with the lowest tier of each."`
}

func (h *handlers) license(r *httpapi.Router) {
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/license", ID: "get-license", Tag: tag, Summary: "Read the licence",
		Description: "The licence is a file that the server reads again when it changes. After its end the install is of " +
			"the tier community: what exists continues to work.",
		Access: httpapi.Needs("license", "read"), Status: http.StatusOK, Example: licenseExample(),
		Errors: []int{http.StatusInternalServerError},
	}, func(ctx context.Context, _ *struct{}) (*httpapi.Output[LicenseBody], error) {
		return httpapi.Show(licenseBody)(h.Licenses.License(ctx), nil)
	})
}

func licenseBody(s system.LicenseStatus) LicenseBody {
	l := s.License
	out := LicenseBody{Tier: string(s.Tier), State: string(s.State), ID: l.ID, Customer: l.Customer,
		Features: append([]string{}, l.Features...), Problem: s.Problem, Licensed: map[string]string{}}
	if l.ID != "" {
		out.NotAfter = &l.NotAfter
	}
	for feature, tier := range system.LicensedFeatures() {
		out.Licensed[feature] = string(tier)
	}
	return out
}

func licenseExample() LicenseBody {
	return licenseBody(system.LicenseStatus{State: system.LicenseValid, Tier: system.Team, License: system.License{
		ID: "2026-0042", Customer: "Example Inc.", Tier: system.Team, NotAfter: httpapi.ExampleTime(),
	}})
}
