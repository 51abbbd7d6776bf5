package probes

import (
	"context"
	"errors"
	"fmt"

	"github.com/writ-automation/writ/ports/system"
)

// Schema compares the schema of the database with the migrations of this binary.
type Schema struct {
	versions func(context.Context) (applied, newest int64, err error)
}

var _ system.Check = (*Schema)(nil)

// NewSchema returns the check for a function that returns the newest applied and the newest existing migration. It
// returns an error if the function is missing.
func NewSchema(versions func(ctx context.Context) (applied, newest int64, err error)) (*Schema, error) {
	if versions == nil {
		return nil, errors.New("probes: the check of the schema lacks its versions")
	}
	return &Schema{versions: versions}, nil
}

func (*Schema) Name() string { return "schema" }

func (s *Schema) Examine(ctx context.Context) (system.Examination, error) {
	applied, newest, err := s.versions(ctx)
	if err != nil {
		return system.Examination{}, fmt.Errorf("read the schema's version: %w", err)
	}
	out := system.Examination{Examined: 1}
	switch {
	case applied < newest:
		out.Findings = append(out.Findings, system.Finding{
			Severity: system.Error, Problem: fmt.Sprintf("the database has schema %d and this binary needs %d", applied, newest),
			Fix: "start the server again, which brings the schema up to date; an older backup may have been restored under it",
		})
	case applied > newest:
		out.Findings = append(out.Findings, system.Finding{
			Severity: system.Warning, Problem: fmt.Sprintf(
				"the database has schema %d and this binary knows no newer one than %d", applied, newest),
			Fix: "bring this server to the version of the newest one that uses the database",
		})
	}
	return out, nil
}
