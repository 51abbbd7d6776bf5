package trigger

import (
	"context"

	"github.com/writ-automation/writ/modules/scheduling/internal/records"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/scheduling"
)

// reach returns a trigger that the caller may manage, in its own organization and in its new ones.
func (t *Triggers) reach(ctx context.Context, id string, revision int64, orgs ...string) (scheduling.Trigger, error) {
	was, err := t.Get(ctx, id)
	if err != nil {
		return was, err
	}
	if err := t.permissions.CheckOrgs(ctx, kind, append([]string{was.Org}, orgs...)...); err != nil {
		return was, err
	}
	if revision != 0 && revision != was.Revision {
		return was, scheduling.RevisionChanged.New("the trigger was changed meanwhile")
	}
	return was, nil
}

// Errors: those of Create, and RevisionChanged.
func (t *Triggers) Update(
	ctx context.Context, id string, revision int64, x scheduling.Trigger,
) (out scheduling.Trigger, err error) {
	err = t.Retry(ctx, revision, func() error {
		out, err = t.update(ctx, id, revision, x)
		return err
	})
	if err != nil {
		return scheduling.Trigger{}, err
	}
	t.Log.InfoContext(ctx, "trigger changed", "trigger", id, "revision", out.Revision, "by", object.Author(ctx))
	return out, nil
}

// update changes only the revision whose rights were checked.
func (t *Triggers) update(
	ctx context.Context, id string, revision int64, x scheduling.Trigger,
) (out scheduling.Trigger, err error) {
	was, err := t.reach(ctx, id, revision, x.Org)
	if err != nil {
		return out, err
	}
	if err := t.settle(ctx, &x); err != nil {
		return out, err
	}
	next := was
	next.Name, next.Org, next.Owner, next.UpdatedAt = x.Name, x.Org, records.Owner(ctx), t.Clock.Now()
	next.TemplateID, next.RequireSignature, next.Branch, next.Events = x.TemplateID, x.RequireSignature, x.Branch, x.Events
	err = t.Unit.Do(ctx, func(ctx context.Context) error {
		if out, err = t.store.UpdateTrigger(ctx, next, was.Revision); err != nil {
			return err
		}
		return t.note(ctx, audit.TriggerUpdate, &out)
	})
	return out, err
}

// The owner of the trigger does not change.
func (t *Triggers) Rotate(ctx context.Context, id string) (scheduling.NewTrigger, error) {
	if _, err := t.reach(ctx, id, 0); err != nil {
		return scheduling.NewTrigger{}, err
	}
	signing, sealed, err := t.secret(ctx, id)
	if err != nil {
		return scheduling.NewTrigger{}, err
	}
	at := t.Clock.Now()
	var out scheduling.Trigger
	err = t.Unit.Do(ctx, func(ctx context.Context) error {
		if out, err = t.store.ReplaceSecret(ctx, id, sealed, at); err != nil {
			return err
		}
		return t.record(ctx, audit.TriggerRotate, &out)
	})
	if err != nil {
		return scheduling.NewTrigger{}, err
	}
	t.Log.InfoContext(ctx, "signing secret replaced", "trigger", id, "by", object.Author(ctx))
	return scheduling.NewTrigger{Trigger: out, SigningSecret: signing}, nil
}

func (t *Triggers) Delete(ctx context.Context, id string, revision int64) error {
	err := t.Retry(ctx, revision, func() error { return t.remove(ctx, id, revision) })
	if err == nil {
		t.Log.InfoContext(ctx, "trigger deleted", "trigger", id, "by", object.Author(ctx))
	}
	return err
}

func (t *Triggers) remove(ctx context.Context, id string, revision int64) error {
	was, err := t.reach(ctx, id, revision)
	if err != nil {
		return err
	}
	return t.Unit.Do(ctx, func(ctx context.Context) error {
		if err := t.store.DeleteTrigger(ctx, id, was.Revision); err != nil {
			return err
		}
		if err := t.permissions.Usage.Name(ctx, id, nil); err != nil {
			return err
		}
		return t.record(ctx, audit.TriggerDelete, &was)
	})
}
