package catalog_test

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
)

// limits keeps what units set that committed.
type limits struct {
	mu    sync.Mutex
	kept  map[runs.SlotKey]int
	calls int
	fails error
}

func (l *limits) SetLimit(ctx context.Context, key runs.SlotKey, n int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	tx.OnCommit(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.kept[key] = n; n == 0 {
			delete(l.kept, key)
		}
	})
	return l.fails
}

func (l *limits) AddLimit(ctx context.Context, key runs.SlotKey, n int) error {
	return l.SetLimit(ctx, key, n)
}

func (l *limits) Limits(context.Context, ...runs.SlotKey) (map[runs.SlotKey]int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.kept), nil
}

// expect compares the limits that are kept, by object.
func (b *bundle) expect(what string, want map[string]int) {
	b.t.Helper()
	got := map[string]int{}
	for key, n := range must[map[runs.SlotKey]int](b.t)(b.limits.Limits(b.t.Context())) {
		got[string(key)] = n
	}
	if d := cmp.Diff(want, got); d != "" {
		b.t.Errorf("%s: %s", what, d)
	}
}

// limited are the changes of an object with a limit.
type limited struct {
	prefix string
	create func(n int) (id string, err error)
	update func(id string, n int) error
	remove func(id string) error
}

func (b *bundle) limitedKinds(ctx context.Context) map[string]limited {
	return map[string]limited{
		"template": {runs.TemplateSlot, func(n int) (string, error) {
			x := template("t")
			x.MaxConcurrent = n
			x, err := b.Templates.Create(ctx, x)
			return x.ID, err
		}, func(id string, n int) error {
			x := template("t")
			x.MaxConcurrent = n
			_, err := b.Templates.Update(ctx, id, 0, x)
			return err
		}, func(id string) error { return b.Templates.Delete(ctx, id, 0) }},
		"inventory": {runs.InventorySlot, func(n int) (string, error) {
			x := inventory("i")
			x.MaxConcurrent = n
			x, err := b.Inventories.Create(ctx, x)
			return x.ID, err
		}, func(id string, n int) error {
			x := inventory("i")
			x.Content, x.MaxConcurrent = nil, n
			_, err := b.Inventories.Update(ctx, id, 0, x)
			return err
		}, func(id string) error { return b.Inventories.Delete(ctx, id, 0) }},
	}
}

// TestLimits passes the limits of templates and inventories on in the unit that stores them.
func TestLimits(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		for name, k := range b.limitedKinds(t.Context()) {
			id, err := k.create(2)
			if err != nil {
				t.Fatal(err)
			}
			key := k.prefix + id
			b.expect(name+" created", map[string]int{key: 2})
			calls := b.limits.calls
			if err := k.update(id, 2); err != nil || b.limits.calls != calls {
				t.Errorf("%s: an equal limit is set again, %v", name, err)
			}
			if err := k.update(id, 5); err != nil {
				t.Error(err)
			}
			b.expect(name+" changed", map[string]int{key: 5})

			b.limits.fails = errors.New("no limits")
			for what, err := range map[string]error{"changed": k.update(id, 1), "deleted": k.remove(id)} {
				if !errors.Is(err, b.limits.fails) {
					t.Errorf("%s: %s without its limit: %v", name, what, err)
				}
			}
			b.limits.fails = nil
			b.trail.Fail(audit.Unrecorded.New("no trail"), nil)
			if err := k.update(id, 0); !audit.Unrecorded.Is(err) {
				t.Error(err)
			}
			b.trail.Fail(nil, nil)
			b.expect(name+" not changed", map[string]int{key: 5})
			if err := k.update(id, 0); err != nil {
				t.Error(err)
			}
			b.expect(name+" without a limit", map[string]int{})
			if err := k.update(id, 7); err != nil {
				t.Error(err)
			}
			if err := k.remove(id); err != nil {
				t.Error(err)
			}
			b.expect(name+" deleted", map[string]int{})
		}
	})
}

// TestWithoutLimits saves templates and inventories where nothing keeps limits.
func TestWithoutLimits(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	b.params.Limits = nil
	b.make()
	for name, k := range b.limitedKinds(t.Context()) {
		id, err := k.create(2)
		if err := errors.Join(err, k.update(id, 3), k.remove(id)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	b.expect("kept", map[string]int{})
}

// TestBusyMembers keeps what is done while a template is busy, which the trail names.
func TestBusyMembers(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		x := template("t")
		x.MaxConcurrent, x.WhenBusy, x.Locks, x.ExclusiveHosts = 3, runs.BusySkip, []string{"db", "dns"}, true
		made := b.template(x)
		got := must[catalog.Template](t)(b.Templates.Get(t.Context(), made.ID))
		if d := cmp.Diff(x.TemplateSpec, got.TemplateSpec); d != "" {
			t.Error(d)
		}
		detail := b.trail.Take()[0].Detail
		want := map[string]any{"max_concurrent": 3, "when_busy": "skip", "exclusive_hosts": true, "locks": []any{"db", "dns"}}
		for k, v := range want {
			if d := cmp.Diff(v, detail[k]); d != "" {
				t.Errorf("%s in the trail: %s", k, d)
			}
		}
		b.runs.refuses = runs.TemplateBusy.New("run_1 of the template is not finished")
		if _, _, err := b.Launcher.Launch(t.Context(), made.ID, catalog.Launch{}); !runs.TemplateBusy.Is(err) {
			t.Errorf("a refused launch: %v", err)
		}
	})
}
