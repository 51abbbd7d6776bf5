package manage

import (
	"context"
	"time"

	"github.com/writ-automation/writ/modules/policy/internal/check"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/policy"
)

// Simulate takes drafts of administrators, also while a file is the source of policies.
func (s *Policies) Simulate(
	ctx context.Context, p policy.Policy, from, to time.Time,
) (policy.Simulation, error) {
	if err := s.admins(ctx); err != nil {
		return policy.Simulation{}, err
	}
	p, err := check.Policy(p)
	if err == nil {
		err = s.p.Subjects.exist(ctx, p)
	}
	if err != nil {
		return policy.Simulation{}, fault.Below("policy", err)
	}
	if to.IsZero() {
		to = s.Clock.Now()
	}
	if from.IsZero() {
		from = to.AddDate(0, 0, -policy.SimulatedDays)
	}
	if !from.Before(to) {
		return policy.Simulation{}, fault.BadField("from", "must be before to")
	}
	return s.p.Past.Simulate(ctx, p, from.UTC(), to.UTC())
}
