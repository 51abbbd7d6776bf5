package schedulingtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/scheduling"
)

func triggerCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"whole records":       triggerWhole,
		"names and tokens":    triggerNames,
		"updates":             triggerUpdate,
		"a new secret":        triggerSecret,
		"deletion":            triggerDelete,
		"filters and windows": triggerList,
	}
}

func triggerWhole(t *testing.T, e *env) {
	if err := e.Orgs(t.Context(), "org_1"); err != nil {
		t.Fatal(err)
	}
	want := e.hook(t, func(x *scheduling.StoredTrigger) {
		x.Name, x.Org, x.CreatedBy, x.Owner, x.UpdatedAt, x.Revision = hard, "org_1", hard, "", epoch.Add(time.Hour), 3
		x.RequireSignature, x.Branch, x.Events = false, hard, []string{"push", "tag_push"}
		x.LastFiredAt, x.LastRunID, x.LastError = epoch.Add(time.Microsecond), "run_1", hard
	})
	same(t, "by id", want, e.stored(t, want.ID))
	got, err := e.Triggers.TriggerByToken(t.Context(), want.TokenHash)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "by token", want, got)
	list, n, err := e.Triggers.ListTriggers(t.Context(), access.Everything(), scheduling.Filter{}, page.Window{})
	if n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	same(t, "in the list", []scheduling.Trigger{want.Trigger}, list)
	bare := e.hook(t)
	same(t, "one with little", bare, e.stored(t, bare.ID))
	_, err = e.Triggers.TriggerByID(t.Context(), "trg_none")
	refused(t, "an unknown one", err, scheduling.TriggerNotFound)
	for _, hash := range [][32]byte{{}, {9}} {
		_, err = e.Triggers.TriggerByToken(t.Context(), hash)
		refused(t, "an unknown token", err, scheduling.TriggerNotFound)
	}
}

func triggerNames(t *testing.T, e *env) {
	if err := e.Orgs(t.Context(), "org_1"); err != nil {
		t.Fatal(err)
	}
	named := func(name, org string) func(*scheduling.StoredTrigger) {
		return func(x *scheduling.StoredTrigger) { x.Name, x.Org = name, org }
	}
	first := e.hook(t, named("push", ""))
	e.hook(t, named("push", "org_1"))
	// A schedule may have the same name.
	e.add(t, func(s *scheduling.Schedule) { s.Name = "push" })
	insert := func(edit ...func(*scheduling.StoredTrigger)) error {
		return e.do(t, func(ctx context.Context) error { return e.Triggers.InsertTrigger(ctx, e.trigger(edit...)) })
	}
	err := insert(named("push", ""))
	refused(t, "the name again", err, scheduling.NameTaken)
	if field(err) != "name" {
		t.Errorf("the fault names %q", field(err))
	}
	if err := insert(func(x *scheduling.StoredTrigger) { x.TokenHash = first.TokenHash }); err == nil {
		t.Error("two triggers have one token")
	}
	other := e.hook(t)
	other.Name = "push"
	refused(t, "a rename", e.do(t, func(ctx context.Context) error {
		_, err := e.Triggers.UpdateTrigger(ctx, other.Trigger, 0)
		return err
	}), scheduling.NameTaken)
}

func triggerUpdate(t *testing.T, e *env) {
	was := e.hook(t, func(x *scheduling.StoredTrigger) { x.LastFiredAt, x.LastRunID, x.LastError = epoch, "run_1", "why" })
	change := was.Trigger
	change.Name, change.Owner, change.UpdatedAt, change.TemplateID = hard, "usr_9", epoch.Add(time.Hour), "tpl_9"
	change.RequireSignature, change.Branch, change.Events = false, "main", []string{"push"}
	change.CreatedBy, change.CreatedAt, change.Revision = "usr_8", epoch.Add(-time.Hour), 40
	change.LastFiredAt, change.LastRunID, change.LastError = time.Time{}, "", ""
	update := func(x scheduling.Trigger, revision int64) (got scheduling.Trigger, err error) {
		err = e.do(t, func(ctx context.Context) (err error) {
			got, err = e.Triggers.UpdateTrigger(ctx, x, revision)
			return err
		})
		return got, err
	}
	got, err := update(change, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := was
	want.Trigger = change
	want.CreatedBy, want.CreatedAt, want.Revision = was.CreatedBy, was.CreatedAt, 2
	want.LastFiredAt, want.LastRunID, want.LastError = was.LastFiredAt, was.LastRunID, was.LastError
	same(t, "what it returns", want.Trigger, got)
	same(t, "what is stored", want, e.stored(t, was.ID))
	_, err = update(change, 1)
	refused(t, "an old revision", err, scheduling.RevisionChanged)
	change.ID = "trg_none"
	_, err = update(change, 0)
	refused(t, "an unknown one", err, scheduling.TriggerNotFound)
}

func triggerSecret(t *testing.T, e *env) {
	want := e.hook(t)
	var got scheduling.Trigger
	sealed, when := []byte{1, 0, 2}, epoch.Add(time.Hour)
	e.must(t, func(ctx context.Context) (err error) {
		got, err = e.Triggers.ReplaceSecret(ctx, want.ID, sealed, when)
		return err
	})
	want.Sealed, want.UpdatedAt, want.Revision = sealed, when, 2
	same(t, "what it returns", want.Trigger, got)
	same(t, "what is stored", want, e.stored(t, want.ID))
	refused(t, "an unknown one", e.do(t, func(ctx context.Context) error {
		_, err := e.Triggers.ReplaceSecret(ctx, "trg_none", sealed, when)
		return err
	}), scheduling.TriggerNotFound)
}

func triggerDelete(t *testing.T, e *env) {
	h := e.hook(t)
	e.remember(t, h.ID, "1", leaseTime, true)
	drop := func(id string, revision int64) error {
		return e.do(t, func(ctx context.Context) error { return e.Triggers.DeleteTrigger(ctx, id, revision) })
	}
	refused(t, "another revision", drop(h.ID, 2), scheduling.RevisionChanged)
	if err := drop(h.ID, 1); err != nil {
		t.Fatal(err)
	}
	_, byID := e.Triggers.TriggerByID(t.Context(), h.ID)
	_, byToken := e.Triggers.TriggerByToken(t.Context(), h.TokenHash)
	_, _, remember := e.Deliveries.Remember(t.Context(), h.ID, unsigned("2"), leaseTime)
	for _, err := range []error{byID, byToken, remember, drop(h.ID, 0)} {
		refused(t, "it is gone", err, scheduling.TriggerNotFound)
	}
	late := scheduling.Delivered{RunID: "run_1"}
	if err := e.Deliveries.SettleDelivery(t.Context(), h.ID, unsigned("1"), late, ""); err != nil {
		t.Errorf("a delivery ends after its trigger: %v", err)
	}
	if err := errors.Join(drop(e.hook(t).ID, 0)); err != nil {
		t.Error(err)
	}
}

func triggerList(t *testing.T, e *env) {
	if err := e.Orgs(t.Context(), "org_1"); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"b", "a", "C"} {
		e.hook(t, func(x *scheduling.StoredTrigger) {
			x.Name, x.Org, x.TemplateID = name, []string{"", "org_1", "org_1"}[i], []string{"tpl_1", "tpl_1", "tpl_2"}[i]
		})
	}
	for _, c := range []struct {
		f     scheduling.Filter
		w     page.Window
		want  []string
		total int
	}{
		{want: []string{"C", "a", "b"}, total: 3},
		{w: page.Window{Limit: 1, Offset: 1}, want: []string{"a"}, total: 3},
		{f: scheduling.Filter{Name: "a"}, want: []string{"a"}, total: 1},
		{f: scheduling.Filter{Org: "org_1"}, want: []string{"C", "a"}, total: 2},
		{f: scheduling.Filter{TemplateID: "tpl_1"}, want: []string{"a", "b"}, total: 2},
	} {
		list, total, err := e.Triggers.ListTriggers(t.Context(), access.Everything(), c.f, c.w)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, x := range list {
			names = append(names, x.Name)
		}
		same(t, "list", c.want, names)
		if total != c.total {
			t.Errorf("%+v: a total of %d", c.f, total)
		}
	}
}
