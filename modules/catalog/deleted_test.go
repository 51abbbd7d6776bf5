package catalog_test

import (
	"testing"

	"github.com/writ-automation/writ/ports/catalog"
)

// TestDeletedElsewhere checks that a server removes its mirror of a project that another server deleted, and keeps the
// others.
func TestDeletedElsewhere(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		gone, kept := b.project("gone"), b.project("kept")
		other := setup(t, b.d)
		for _, p := range []catalog.Project{gone, kept} {
			if _, err := other.Projects.Sync(t.Context(), p.ID); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Projects.Delete(t.Context(), gone.ID, 0); err != nil {
			t.Fatal(err)
		}
		other.Background.Start()
		other.eventually("the mirror is removed", func() bool { return other.checkouts.forgotten(gone.ID) })
		if other.checkouts.forgotten(kept.ID) {
			t.Error("the mirror of a project that exists was removed")
		}
	})
}

// TestReadOnlyFetchesNothing checks that a read-only server returns the stored values.
func TestReadOnlyFetchesNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		p, inv := b.project("site"), b.inventory("hosts")
		s := source("cmdb", inv.ID)
		s.SyncInterval, s.UpdateOnLaunch = 60, true
		s = must[catalog.InventorySource](t)(b.Sources.Create(ctx, s))
		r := setup(t, b.d)
		r.material.Config.ReadOnly = true
		r.make()
		r.Background.Start()
		if _, _, err := r.References.Pin(ctx, p.ID, true); !catalog.SyncFailed.Is(err) {
			t.Errorf("pin without a commit: %v", err)
		}
		if _, err := b.Projects.Sync(ctx, p.ID); err != nil {
			t.Fatal(err)
		}
		commit, stale, err := r.References.Pin(ctx, p.ID, true)
		if commit != firstCommit || stale != "this server is read-only and fetches nothing" || err != nil {
			t.Errorf("pin: %q %q %v", commit, stale, err)
		}
		if _, err := r.Projects.Sync(ctx, p.ID); !catalog.SyncFailed.Is(err) {
			t.Errorf("sync: %v", err)
		}
		if _, err := r.Sources.Refresh(ctx, s.ID); !catalog.RefreshFailed.Is(err) {
			t.Errorf("refresh: %v", err)
		}
		if text, warnings, err := r.Materials.Inventory(ctx, inv.ID, true); string(text.Content) != hostsINI ||
			len(warnings) == 0 || err != nil {
			t.Errorf("inventory: %s %v %v", text.Content, warnings, err)
		}
		if err := r.Background.Stop(ctx); err != nil {
			t.Fatal(err)
		}
		now := must[catalog.InventorySource](t)(b.Sources.Get(ctx, s.ID))
		if r.checkouts.count() != 0 || len(r.collector.asked) != 0 || now.LastError != "" || !now.SyncedAt.IsZero() {
			t.Errorf("%d fetches, %d refreshes, %+v", r.checkouts.count(), len(r.collector.asked), now)
		}
	})
}
