package policy

import (
	"context"

	"github.com/writ-automation/writ/modules/policy/internal/inforce"
	"github.com/writ-automation/writ/modules/policy/internal/manage"
	"github.com/writ-automation/writ/ports/system"
)

// check reports a file of policies that is not used, and enabled policies that name who does not exist.
type check struct {
	set      *inforce.Set
	subjects manage.Subjects
	problem  func() string
}

var _ system.Check = (*check)(nil)

func (*check) Name() string { return "policies" }

func (c *check) Examine(ctx context.Context) (system.Examination, error) {
	list, _, err := c.set.Read(ctx)
	if err != nil {
		return system.Examination{}, err
	}
	out := system.Examination{Examined: len(list)}
	if problem := c.problem(); problem != "" {
		out.Findings = append(out.Findings, system.Finding{Severity: system.Error,
			Object:  system.Subject{Kind: "policy_file", ID: "policy_file", Name: "policy file"},
			Problem: "the policies are those of an earlier file, since the present one is not valid: " + problem,
			Fix:     "correct the file; it is read again when it changes", Link: "/v1/policies"})
	}
	for _, p := range list {
		missing, err := c.subjects.Missing(ctx, p)
		if err != nil {
			return out, err
		}
		for _, who := range missing {
			out.Findings = append(out.Findings, system.Finding{Severity: system.Warning,
				Object:  system.Subject{Kind: "policy", ID: p.ID, Name: p.Name},
				Problem: who + " does not exist", Fix: "remove it from the policy, or name another one",
				Link: "/v1/policies/" + p.ID})
		}
	}
	return out, nil
}
