package work

import (
	"context"

	"github.com/writ-automation/writ/modules/runs/internal/lifecycle"
	"github.com/writ-automation/writ/modules/runs/internal/record"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
)

// Redactor implements runs.Redactor.
type Redactor struct{ machine *lifecycle.Machine }

var _ runs.Redactor = (*Redactor)(nil)

// NewRedactor returns a redactor of the machine's runs.
func NewRedactor(m *lifecycle.Machine) *Redactor { return &Redactor{machine: m} }

// Nearly always no text holds a secret; then nothing is written.
func (x *Redactor) HideSecrets(ctx context.Context, runID string, secrets []secret.Text) error {
	for id := runID; id != "" && len(secrets) > 0; {
		r, err := x.machine.Store.ByID(ctx, id)
		if err != nil {
			return err
		}
		if digests := record.Holding(r, secrets); len(digests) > 0 {
			err = x.machine.Do(ctx, func(ctx context.Context) error {
				if err := x.machine.Store.Amend(ctx, r.ID, runs.Amendment{Hidden: digests}); err != nil {
					return err
				}
				return x.machine.Touch(ctx, r.ID)
			})
		}
		if err != nil {
			return err
		}
		id = r.ParentID
	}
	return nil
}
