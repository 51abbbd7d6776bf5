package template

import (
	"context"
	"slices"

	"github.com/writ-automation/writ/modules/catalog/internal/check"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
)

// Templates implements catalog.Templates.
type Templates struct {
	object.Protected[catalog.Template, catalog.Filter]
	store   catalog.TemplateStore
	checker runs.Checker
	targets notify.Targets
	// limits keeps how many runs of a template have a slot at a time; nil keeps no limits.
	limits runs.Limits
	// privileged reports whether an isolation profile lets runs become root, or is not known.
	privileged func(profile string) bool
	guard      *object.Permissions
}

var _ catalog.Templates = (*Templates)(nil)

// New returns a Templates.
func New(
	kernel object.Kernel, p *object.Permissions, s catalog.TemplateStore, c runs.Checker, n notify.Targets,
	l runs.Limits, privileged func(profile string) bool,
) *Templates {
	k := &Templates{
		store: s, checker: c, targets: n, limits: l, privileged: privileged, guard: p,
	}
	k.Protected = object.Protect(kernel, p, s.TemplateByID, s.ListTemplates, k.remove)
	k.Show = k.shown
	return k
}

// checkLaunch returns the errors of a launch without answers. The error now is an invalid request. The error later
// concerns referenced objects, so callers return it only after the check of rights; checkReferences checks the
// credentials.
func (k *Templates) checkLaunch(ctx context.Context, t *catalog.Template) (later, now error) {
	var err error
	if t.Workflow() {
		p := pipeline(t)
		p.Vouched, p.Notifications = inheritedCredentials(t), notify.AsStored(p.Notifications)
		err = k.checker.CheckPipeline(ctx, p)
	} else {
		s := submission(t)
		s.Vouched, s.Notifications = inheritedCredentials(t), notify.AsStored(s.Notifications)
		err = k.checker.Check(ctx, s)
	}
	switch {
	case fault.Is(err, fault.Invalid):
		return nil, err
	case secrets.SecretMissing.Is(err), secrets.KeyLost.Is(err):
		return nil, nil // not an error of the template, since the credential may get its secret later
	default:
		return err, nil
	}
}

func (k *Templates) Create(ctx context.Context, t catalog.Template) (catalog.Template, error) {
	t, err := checked(t)
	if err != nil {
		return catalog.Template{}, err
	}
	refused, err := k.checkLaunch(ctx, &t)
	if err != nil {
		return catalog.Template{}, err
	}
	if err := k.CheckOrgs(ctx, identity.KindTemplate, t.Org); err != nil {
		return catalog.Template{}, err
	}
	if err := k.checkProfile(ctx, t); err != nil {
		return catalog.Template{}, err
	}
	if err := k.checkReferences(ctx, t, catalog.Template{}, refused); err != nil {
		return catalog.Template{}, err
	}
	k.Created(ctx, ids.Template, &t.Record)
	sealed, err := k.sealTargets(ctx, t.Notifications, nil)
	if err != nil {
		return catalog.Template{}, err
	}
	made := t
	err = k.Store(ctx, "template created", t.Record, func(ctx context.Context) error {
		if made.Notifications, err = k.targets.Save(ctx, sealed); err != nil {
			return err
		}
		if err := k.store.InsertTemplate(ctx, made); err != nil {
			return err
		}
		if err := check.NewLimit(ctx, k.limits, runs.TemplateSlot+made.ID, made.MaxConcurrent); err != nil {
			return err
		}
		return k.put(ctx, audit.TemplateCreate, made)
	})
	if err != nil {
		return catalog.Template{}, err
	}
	return made, nil
}

// checkProfile refuses a template whose runs could become root on their executor, unless an admin saves it: whoever
// changes it decides what is executed there.
func (k *Templates) checkProfile(ctx context.Context, t catalog.Template) error {
	if t.IsolationProfile == "" || !k.privileged(t.IsolationProfile) {
		return nil
	}
	// Profiles carry no grants: only admins have rights on them as such.
	ok, err := k.guard.May(ctx, access.Manage, "isolation_profile")
	if err != nil || ok {
		return err
	}
	return catalog.NotAllowed.New("isolation_profile: only an admin may save a template with %s, since its runs can "+
		"become root there", t.IsolationProfile)
}

// checkReferences refuses references to objects that the caller may not read, and credentials that the caller may not
// use, unless they are in the template already and it executes the same. If these are valid, it returns refused.
func (k *Templates) checkReferences(ctx context.Context, t, was catalog.Template, refused error) error {
	if err := k.CheckReferences(ctx, references(t), references(alike(was, t))); err != nil {
		return err
	}
	if err := k.checkKept(ctx, t, was); err != nil {
		return err
	}
	return refused
}

func (k *Templates) put(ctx context.Context, a audit.Action, t catalog.Template) error {
	e, err := entry(a, t)
	if err != nil {
		return err
	}
	if err := k.Upsert(ctx, t.ID, references(t), e); err != nil {
		return err
	}
	return k.checkSteps(ctx, t)
}

// shown leaves out the references to objects that the caller may not read.
func (k *Templates) shown(ctx context.Context, t catalog.Template) (catalog.Template, error) {
	hidden, err := k.Hidden(ctx, t.ID, references(t))
	if err != nil || len(hidden) == 0 {
		return t, err
	}
	drop := func(id *string) {
		if hidden[*id] {
			*id = ""
		}
	}
	drop(&t.ProjectID)
	drop(&t.InventoryID)
	t.CredentialIDs = check.Without(t.CredentialIDs, hidden)
	t.SelectableCredentialIDs = check.Without(t.SelectableCredentialIDs, hidden)
	t.Steps = slices.Clone(t.Steps)
	for i := range t.Steps {
		drop(&t.Steps[i].InventoryID)
		drop(&t.Steps[i].ProjectID)
		drop(&t.Steps[i].TemplateID)
		t.Steps[i].CredentialIDs = check.Without(t.Steps[i].CredentialIDs, hidden)
	}
	return t, nil
}

func (k *Templates) Update(
	ctx context.Context, id string, revision int64, t catalog.Template,
) (catalog.Template, error) {
	t, err := checked(t)
	if err != nil {
		return catalog.Template{}, err
	}
	refused, err := k.checkLaunch(ctx, &t)
	if err != nil {
		return catalog.Template{}, err
	}
	was, err := k.store.TemplateByID(ctx, id)
	if err != nil {
		return catalog.Template{}, err
	}
	if err := k.CheckChange(ctx, was.Record, t.Org); err != nil {
		return catalog.Template{}, err
	}
	if err := k.checkProfile(ctx, t); err != nil {
		return catalog.Template{}, err
	}
	if err := k.checkReferences(ctx, t, was, refused); err != nil {
		return catalog.Template{}, err
	}
	k.Updated(was.Record, &t.Record)
	sealed, err := k.sealTargets(ctx, t.Notifications, was.Notifications)
	if err != nil {
		return catalog.Template{}, err
	}
	var stored catalog.Template
	err = k.Store(ctx, "template changed", t.Record, func(ctx context.Context) error {
		now, err := k.store.TemplateByID(ctx, id)
		if err != nil {
			return err
		}
		if t.Workflow() && !now.Workflow() {
			if err := k.checkLaunched(ctx, t.Record); err != nil {
				return err
			}
		}
		next := t
		if next.Notifications, err = k.targets.Save(ctx, sealed); err != nil {
			return err
		}
		restore(&next, &now)
		if stored, err = k.store.UpdateTemplate(ctx, next, revision); err != nil {
			return err
		}
		if err := k.limit(ctx, id, now.MaxConcurrent, stored.MaxConcurrent); err != nil {
			return err
		}
		return k.put(ctx, audit.TemplateUpdate, stored)
	})
	if err != nil {
		return catalog.Template{}, k.explainLaunched(ctx, err)
	}
	return stored, nil
}

func (k *Templates) Delete(ctx context.Context, id string, revision int64) error {
	return k.Remove(ctx, id, revision,
		func(x catalog.Template) audit.Entry { return object.Deleted(audit.TemplateDelete, x.Record) })
}

// remove deletes a template and the limit of its runs.
func (k *Templates) remove(ctx context.Context, id string, revision int64) error {
	was, err := k.store.TemplateByID(ctx, id)
	if err != nil {
		return err
	}
	if err := k.store.DeleteTemplate(ctx, id, revision); err != nil {
		return err
	}
	return k.limit(ctx, id, was.MaxConcurrent, 0)
}

// limit passes on a changed limit in the open unit.
func (k *Templates) limit(ctx context.Context, id string, was, is int) error {
	return check.Limit(ctx, k.limits, runs.TemplateSlot+id, was, is)
}
