package template

import (
	"context"
	"slices"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/runs"
)

// checkKept refuses a change of what a template executes if the caller may not use each credential that stays: the
// change decides what becomes of it.
func (k *Templates) checkKept(ctx context.Context, t, was catalog.Template) error {
	if was.ID == "" {
		return nil // nothing stays in a new template
	}
	restore(&t, &was)
	same, err := runs.Alike(executed(t), executed(was))
	if err != nil || same {
		return err
	}
	return k.CheckKept(ctx, references(t), references(alike(was, t)))
}

// executed returns what decides what a launch executes, and where. Credentials are compared as references.
func executed(t catalog.Template) catalog.TemplateSpec {
	s := t.TemplateSpec
	s.Controls, s.TimeoutSeconds, s.Notifications, s.Labels, s.Change = runs.Controls{}, 0, nil, nil, ""
	s.CredentialIDs, s.SelectableCredentialIDs, s.FailOn, s.RequireApproval = nil, nil, nil, false
	s.MaxConcurrent, s.WhenBusy, s.Locks, s.ExclusiveHosts = 0, "", nil, false
	s.Steps = slices.Clone(s.Steps)
	for i := range s.Steps {
		s.Steps[i].CredentialIDs, s.Steps[i].FailOn, s.Steps[i].RequireApproval = nil, nil, false
	}
	return s
}
