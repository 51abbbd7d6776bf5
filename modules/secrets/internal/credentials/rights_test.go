package credentials_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/secrets"
)

// detailOf returns a detail of a fault.
func detailOf(err error, name string) any {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Detail[name]
	}
	return nil
}

// act is one call on a credential that exists, with the level that it requires.
type act struct {
	name string
	want access.Level
	do   func(ctx context.Context, b *bundle, id string) error
}

func acts() []act {
	return []act{
		{"get", access.Read, func(ctx context.Context, b *bundle, id string) error {
			_, err := b.Credentials.Get(ctx, id)
			return err
		}},
		{"update", access.Manage, func(ctx context.Context, b *bundle, id string) error {
			_, _, err := b.Credentials.Update(ctx, id, 0, change("a", secrets.AWS, nil))
			return err
		}},
		{"delete", access.Manage, func(ctx context.Context, b *bundle, id string) error {
			return b.Credentials.Delete(ctx, id, 0)
		}},
	}
}

// TestLevels: an unreadable credential gives the same error as a missing one; a readable one gives NotAllowed.
func TestLevels(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		id, absent := b.create(change("a", secrets.AWS, nil)).ID, b.ids.New("crd_")
		for _, level := range []access.Level{access.None, access.Read, access.Use, access.Manage} {
			b.guard.become(access.None, map[string]access.Level{id: level})
			for _, a := range acts() {
				err := a.do(t.Context(), b, id)
				switch {
				case level.Covers(a.want):
					if err != nil {
						t.Errorf("%s with %q: %v", a.name, level, err)
					}
				case level == access.None:
					none := a.do(t.Context(), b, absent)
					if !secrets.CredentialNotFound.Is(err) || none == nil ||
						strings.ReplaceAll(none.Error(), absent, id) != err.Error() {
						t.Errorf("%s of what may not be read: %v; of what is not there: %v", a.name, err, none)
					}
				case !catalog.NotAllowed.Is(err):
					t.Errorf("%s with %q: %v", a.name, level, err)
				}
			}
		}
	})
}

// TestNobodyDecides: without a decision nothing is shown or done.
func TestNobodyDecides(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	ctx := t.Context()
	id := b.create(change("a", secrets.AWS, nil)).ID
	custom1 := b.custom("pager")
	b.guard.fails = errors.New("no rights can be read")
	check := func(name string, err error) {
		if !errors.Is(err, b.guard.fails) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, a := range acts() {
		check(a.name, a.do(ctx, b, id))
	}
	_, _, err := b.Credentials.Create(ctx, change("b", secrets.AWS, nil))
	check("create", err)
	_, _, err = b.Credentials.List(ctx, secrets.Filter{}, window)
	check("list", err)
	_, err = b.Types.Get(ctx, custom1.ID)
	check("get type", err)
}

// TestTypesAreForAdmins: only admins read types, and other callers can still store credentials of them.
func TestTypesAreForAdmins(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx, org := t.Context(), b.org("org_1")
		made := b.custom("pager")
		b.guard.become(access.Manage, nil, org, "")
		_, created := b.Types.Create(ctx, custom("x"))
		_, read := b.Types.Get(ctx, made.ID)
		_, absent := b.Types.Get(ctx, b.ids.New("cty_"))
		_, _, listed := b.Types.List(ctx, "", window)
		_, updated := b.Types.Update(ctx, made.ID, 0, custom("x"))
		for i, err := range []error{created, read, absent, listed, updated, b.Types.Delete(ctx, made.ID, 0)} {
			if !catalog.NotAllowed.Is(err) {
				t.Errorf("%d: %v", i, err)
			}
		}
		c := ofType("mine", made.ID, map[string]any{"user": "ops", "key": canary})
		c.Org = org
		b.create(c)
	})
}

// TestOrgs: credentials are created in, and moved to, organizations in which the caller may create them.
func TestOrgs(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		ours, theirs := b.org("org_1"), b.org("org_2")
		b.guard.become(access.Manage, nil, ours)
		c := change("a", secrets.AWS, nil)
		if _, _, err := b.Credentials.Create(ctx, c); !catalog.NotAllowed.Is(err) {
			t.Error(err)
		}
		c.Org = ours
		id := b.create(c).ID
		c.Org = theirs
		if _, _, err := b.Credentials.Update(ctx, id, 0, c); !catalog.NotAllowed.Is(err) {
			t.Error(err)
		}
		c.Org, c.Name = ours, "renamed"
		if got := b.update(id, c); got.Org != ours {
			t.Errorf("%+v", got)
		}
		// Validation of the request comes before the permission to change its object.
		b.guard.become(access.None, nil)
		if _, _, err := b.Credentials.Update(ctx, id, 0, change("a", "nope", nil)); field(err) != "kind" {
			t.Error(err)
		}
	})
}

// TestLists: lists contain what the caller may read.
func TestLists(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		b.create(change("a", secrets.AWS, nil))
		for i, want := range []int{1, 0} {
			if i == 1 {
				b.guard.become(access.None, nil)
			}
			if _, total, err := b.Credentials.List(t.Context(), secrets.Filter{}, window); err != nil || total != want {
				t.Error(total, err)
			}
		}
	})
}

// TestInUse: a credential that an object references or an unfinished run needs is not deleted, and the fault names
// those references that the caller may read.
func TestInUse(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		id := b.create(change("a", secrets.AWS, secrets.Values{"secret_access_key": canary})).ID
		template, hidden := b.ids.New("tpl_"), b.ids.New("tpl_")
		b.names(template, id)
		b.names(hidden, id)
		b.runs.run(id, "run_1")
		before := b.all()
		b.guard.become(access.Manage, map[string]access.Level{hidden: access.None})
		err := b.Credentials.Delete(ctx, id, 0)
		want := []map[string]any{{"kind": "template", "id": template}}
		if d := cmp.Diff(want, detailOf(err, "used_by")); d != "" || !object.InUse.Is(err) || detailOf(err, "others") != 2 {
			t.Error(d, err)
		}
		if d := cmp.Diff(before, b.all()); d != "" || b.opened(id).Empty() {
			t.Errorf("a refusal changed something: %s", d)
		}
		b.names(template)
		b.names(hidden)
		if err := b.Credentials.Delete(ctx, id, 0); !object.InUse.Is(err) || detailOf(err, "others") != 1 {
			t.Error(err)
		}
		b.runs.run(id)
		if err := b.Credentials.Delete(ctx, id, 0); err != nil {
			t.Error(err)
		}
		list, _, err := b.rights.Readable(ctx, identity.KindCredential, access.Everything(), window)
		if err != nil || len(list) != 0 {
			t.Errorf("what is gone can carry grants: %v %v", list, err)
		}
		if err := b.d.Do(ctx, func(ctx context.Context) error {
			return b.usage.Name(ctx, template, []string{id})
		}); !catalog.ObjectNotFound.Is(err) {
			t.Errorf("what is gone can be named: %v", err)
		}
	})
}
