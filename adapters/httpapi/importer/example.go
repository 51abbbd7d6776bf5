package importer

import (
	"time"

	"github.com/writ-automation/writ/ports/importer"
)

// examplePlan is a preview for the API's document.
func examplePlan() importer.Body {
	day := time.Date(2026, time.May, 4, 2, 30, 0, 0, time.UTC)
	return importer.Body{
		Format: "awx", Counts: importer.Counts{Create: 2, Skip: 1, Same: 1, Adapted: 1, NoHome: 1},
		Objects: []importer.PlannedBody{
			{
				Kind: importer.Template, Name: "Patch web servers", Action: importer.Create, SourceRef: "job_templates[0]",
				Changes: []string{}, Class: importer.Adapted, Mapping: []string{"The job template becomes a template."},
			},
			{
				Kind: importer.Schedule, Name: "Nightly", Action: importer.Create, SourceRef: "schedules[0]",
				Changes: []string{}, Class: importer.Same, Mapping: []string{"The rule DAILY at 02:30 becomes 30 2 * * *."},
				NextFires: &importer.FiresBody{Source: []time.Time{day}, Writ: []time.Time{day}},
			},
			{
				Kind: "user", Name: "ada", Action: importer.Skip, SourceRef: "users[0]", Changes: []string{},
				Reason: "Accounts are not imported.", Class: importer.NoHome, Mapping: []string{},
			},
		},
		Warnings: []importer.WarningBody{{
			Kind: importer.Template, Object: "Patch web servers", Field: "verbosity", Message: "The verbosity 5 becomes 4.",
		}},
	}
}
