package credentials_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/secrets"
)

// both calls two functions concurrently.
func both(a, b func()) {
	var work sync.WaitGroup
	work.Go(a)
	work.Go(b)
	work.Wait()
}

// TestNamedWhileDeleted: if a credential is referenced and deleted at the same time, exactly one of the two fails.
func TestNamedWhileDeleted(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		for n := range 10 {
			c := b.create(change(fmt.Sprint("a", n), secrets.AWS, nil))
			template := b.ids.New("tpl_")
			var named, deleted error
			both(func() {
				named = b.d.Do(ctx, func(ctx context.Context) error { return b.usage.Name(ctx, template, []string{c.ID}) })
			}, func() {
				deleted = b.Credentials.Delete(ctx, c.ID, 0)
			})
			switch {
			case named == nil && object.InUse.Is(deleted):
			case deleted == nil && catalog.ObjectNotFound.Is(named):
			default:
				t.Errorf("named: %v, deleted: %v", named, deleted)
			}
		}
	})
}

// TestNamedBeforeItIsAnother: the kind of a credential does not change while an object that references it is created.
// The change waits for the new reference and is then refused.
func TestNamedBeforeItIsAnother(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		c := b.create(change("a", secrets.AWS, nil))
		done := make(chan error, 1)
		var work sync.WaitGroup
		err := b.d.Do(ctx, func(ctx context.Context) error {
			if err := b.usage.Name(ctx, b.ids.New("tpl_"), []string{c.ID}); err != nil {
				return err
			}
			work.Go(func() {
				_, _, err := b.Credentials.Update(t.Context(), c.ID, 0, change("a", secrets.Token, nil))
				done <- err
			})
			select { // time for the other call to fail
			case err := <-done:
				done <- err
			case <-time.After(200 * time.Millisecond):
			}
			return nil
		})
		work.Wait()
		if changed := <-done; err != nil || !object.InUse.Is(changed) {
			t.Errorf("named: %v, changed: %v", err, changed)
		}
	})
}

// TestTypeWhileUsed: no credential has a type that was deleted or lost a field which the credential has.
func TestTypeWhileUsed(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		for n := range 10 {
			x := b.custom(fmt.Sprint("deleted", n))
			var created, deleted error
			both(func() {
				_, _, created = b.Credentials.Create(ctx, ofType(fmt.Sprint("d", n), x.ID, map[string]any{"user": "u"}))
			}, func() { deleted = b.Types.Delete(ctx, x.ID, 0) })
			switch {
			case created == nil && object.InUse.Is(deleted):
			case deleted == nil && secrets.TypeNotFound.Is(created) && field(created) == "type_id":
			default:
				t.Errorf("created: %v, deleted: %v", created, deleted)
			}
		}
		for n := range 10 {
			x := b.custom(fmt.Sprint("changed", n))
			less := custom(x.Name)
			less.Fields = append(less.Fields[:3:3], less.Fields[4:]...)
			var created, changed error
			both(func() {
				_, _, created = b.Credentials.Create(ctx,
					ofType(fmt.Sprint("c", n), x.ID, map[string]any{"user": "u", "note": "n"}))
			}, func() { _, changed = b.Types.Update(ctx, x.ID, 0, less) })
			switch {
			case created == nil && secrets.TypeInUse.Is(changed):
			case changed == nil && field(created) == "fields.note":
			default:
				t.Errorf("created: %v, changed: %v", created, changed)
			}
		}
	})
}

// TestChangesAtOnce: no concurrent change is lost, and the stored version opens its sealed text.
func TestChangesAtOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		made := b.create(full(secrets.AWS))
		for range 5 {
			var one, two error
			both(func() {
				_, _, one = b.Credentials.Update(ctx, made.ID, 0,
					change("a", secrets.AWS, secrets.Values{"secret_access_key": "left"}))
			}, func() {
				_, _, two = b.Credentials.Update(ctx, made.ID, 0,
					change("a", secrets.AWS, secrets.Values{"session_token": "right"}))
			})
			if one != nil || two != nil {
				t.Fatal(one, two)
			}
			doc := b.opened(made.ID)
			if doc.Secret["secret_access_key"] != "left" || doc.Secret["session_token"] != "right" {
				t.Errorf("%d members", len(doc.Secret))
			}
			b.update(made.ID, full(secrets.AWS))
		}
		var first, second error
		now := must[secrets.Credential](t)(b.Credentials.Get(ctx, made.ID))
		both(func() { _, _, first = b.Credentials.Update(ctx, made.ID, now.Revision, change("a", secrets.AWS, nil)) },
			func() { _, _, second = b.Credentials.Update(ctx, made.ID, now.Revision, change("b", secrets.AWS, nil)) })
		if (first == nil) == (second == nil) || first != nil && !catalog.RevisionChanged.Is(first) ||
			second != nil && !catalog.RevisionChanged.Is(second) {
			t.Errorf("one of two with the same revision: %v, %v", first, second)
		}
	})
}
