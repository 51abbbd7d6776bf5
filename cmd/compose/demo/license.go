package demo

import (
	"context"

	"github.com/writ-automation/writ/ports/system"
)

// License lets the demo show the features of every tier. It is for content that nobody can change.
type License struct{}

var _ system.Licenses = License{}

// License returns a licence of the tier team.
func (License) License(context.Context) system.LicenseStatus {
	return system.LicenseStatus{State: system.LicenseValid, Tier: system.Team,
		License: system.License{ID: "demo", Customer: "Demo", Tier: system.Team, NotAfter: epoch().AddDate(100, 0, 0)}}
}

// Require accepts every feature.
func (License) Require(context.Context, string) error { return nil }
