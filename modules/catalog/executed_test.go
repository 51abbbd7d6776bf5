package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
)

// script returns the input for a source that runs a program.
func script(name, inventoryID string) catalog.InventorySource {
	s := catalog.InventorySource{Kind: catalog.ScriptSource, InventoryID: inventoryID,
		Config: catalog.SourceConfig{Content: "#!/bin/sh\n"}}
	s.Name = name
	return s
}

// executes makes the context again with an executor of some queues, and starts it.
func (b *bundle) executes(worker string, queues ...string) {
	b.t.Helper()
	b.material.Config.Worker, b.material.Config.Queues, b.material.Config.SourceQueue = worker, queues, "default"
	b.make()
	b.Background.StartWork()
}

// server returns another process on the same database, which executes nothing.
func (b *bundle) server() *bundle {
	b.t.Helper()
	other := setup(b.t, b.d)
	other.material.Config.SourceQueue = "default"
	other.make()
	return other
}

// TestExecutedRefresh refreshes by an executor of another process, with success and failure.
// Keeps T43.
func TestExecutedRefresh(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		server := b.server()
		b.executes("w", "other", "default")
		inv := server.inventory("estate")
		s := must[catalog.InventorySource](t)(server.Sources.Create(ctx, script("s", inv.ID)))
		server.trail.Take()
		b.collector.set("[x]\nh1 ansible_connection=local\nh2\n", nil)
		s = must[catalog.InventorySource](t)(server.Sources.Refresh(ctx, s.ID))
		got := must[catalog.Inventory](t)(server.Inventories.Get(ctx, inv.ID))
		if got.Hosts != 2 || s.SyncedAt.IsZero() || s.Dropped != "ansible_connection" {
			t.Errorf("%+v %+v", got, s)
		}
		b.collector.set("", catalog.RefreshFailed.New("the door is shut"))
		if _, err := server.Sources.Refresh(ctx, s.ID); !catalog.RefreshFailed.Is(err) || err.Error() != "the door is shut" {
			t.Error(err)
		}
		if s = must[catalog.InventorySource](t)(server.Sources.Get(ctx, s.ID)); s.LastError != "the door is shut" {
			t.Errorf("%+v", s)
		}
		list := server.trail.Take()
		if len(list) != 2 || list[0].Detail["changed"] != true || list[1].Outcome != audit.Failure {
			t.Errorf("entries %+v", list)
		}
		if b.collector.count() != 2 || server.collector.count() != 0 || len(b.trail.Take()) != 0 {
			t.Errorf("the executor collected %d times, the server %d", b.collector.count(), server.collector.count())
		}
	})
}

// asking counts the questions that were stored.
type asking struct {
	catalog.RefreshStore
	asked atomic.Int32
}

func (a *asking) AskRefresh(ctx context.Context, id string, revision int64, queue string) (int64, error) {
	tx.OnCommit(ctx, func() { a.asked.Add(1) })
	return a.RefreshStore.AskRefresh(ctx, id, revision, queue)
}

// TestExecutedOnce refreshes one source by requests to several servers at once, one to each: a later one of a server
// may find the refresh over. TestRefreshesTogether has many requests to one server.
// Keeps T43.
func TestExecutedOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		b.executes("w", "default")
		servers := []*bundle{b, b.server(), b.server()}
		count := &asking{RefreshStore: b.store}
		for _, server := range servers {
			server.material.Refreshes = count
			server.make()
		}
		inv := b.inventory("estate")
		s := must[catalog.InventorySource](t)(b.Sources.Create(ctx, script("s", inv.ID)))
		b.collector.set("one\n", nil)
		begun, free := b.collector.block()
		var asked sync.WaitGroup
		for _, server := range servers {
			asked.Go(func() {
				if _, err := server.Sources.Refresh(ctx, s.ID); err != nil {
					t.Error(err)
				}
			})
		}
		<-begun
		b.eventually("every server waits", func() bool { return count.asked.Load() == 3 })
		free()
		asked.Wait()
		got := must[catalog.Inventory](t)(b.Inventories.Get(ctx, inv.ID))
		if b.collector.count() != 1 || string(got.Content) != "one\n" || got.Revision != inv.Revision+1 {
			t.Errorf("%d executions, revision %d", b.collector.count(), got.Revision)
		}
	})
}

// TestDeadExecutor has one executor die with a refresh. Another one does it, and what the dead one reports late is not
// stored.
// Keeps T43.
func TestDeadExecutor(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		server := b.server()
		inv := server.inventory("estate")
		s := must[catalog.InventorySource](t)(server.Sources.Create(ctx, script("s", inv.ID)))
		asked := make(chan error, 1)
		go func() { _, err := server.Sources.Refresh(ctx, s.ID); asked <- err }()
		var dead catalog.ClaimedRefresh
		b.eventually("there is a refresh", func() bool {
			ok := false
			err := b.d.Do(ctx, func(ctx context.Context) (err error) {
				dead, ok, err = b.store.ClaimRefresh(ctx, catalog.RefreshClaim{Worker: "dead", Queues: []string{"default"}})
				return err
			})
			return err == nil && ok
		})
		b.collector.set("alive\n", nil)
		b.executes("w", "default")
		if err := <-asked; err != nil {
			t.Fatal(err)
		}
		late := b.d.Do(ctx, func(ctx context.Context) error {
			return b.store.ReportRefresh(ctx, dead.RefreshLease, catalog.RefreshResult{Content: []byte("dead\n")})
		})
		got := must[catalog.Inventory](t)(server.Inventories.Get(ctx, inv.ID))
		if !runs.LeaseLost.Is(late) || string(got.Content) != "alive\n" || got.Revision != inv.Revision+1 {
			t.Errorf("%v %s %d", late, got.Content, got.Revision)
		}
	})
}

// TestStoppedExecutor stops an executor during a refresh, which another one then does.
func TestStoppedExecutor(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		server, next := b.server(), b.server()
		b.executes("w", "default")
		begun, free := b.collector.block()
		defer free()
		inv := server.inventory("estate")
		s := must[catalog.InventorySource](t)(server.Sources.Create(ctx, script("s", inv.ID)))
		asked := make(chan error, 1)
		go func() { _, err := server.Sources.Refresh(ctx, s.ID); asked <- err }()
		<-begun
		if err := b.Background.Stop(ctx); err != nil {
			t.Fatal(err)
		}
		next.collector.set("next\n", nil)
		next.executes("next", "default")
		if err := <-asked; err != nil {
			t.Fatal(err)
		}
		if got := must[catalog.Inventory](t)(server.Inventories.Get(ctx, inv.ID)); string(got.Content) != "next\n" {
			t.Errorf("%s", got.Content)
		}
	})
}

// TestChangedWhileExecuted changes a source while an executor refreshes it.
func TestChangedWhileExecuted(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		b.executes("w", "default")
		begun, free := b.collector.block()
		inv := b.inventory("estate")
		s := must[catalog.InventorySource](t)(b.Sources.Create(ctx, script("s", inv.ID)))
		b.collector.set("new\n", nil)
		asked := make(chan error, 1)
		go func() { _, err := b.Sources.Refresh(ctx, s.ID); asked <- err }()
		<-begun
		s.Config.Content = "#!/bin/sh\n:\n"
		must[catalog.InventorySource](t)(b.Sources.Update(ctx, s.ID, 0, s))
		free()
		if err := <-asked; !catalog.RefreshFailed.Is(err) || err.Error() != "the source was changed while it was refreshed" {
			t.Error(err)
		}
		if got := must[catalog.Inventory](t)(b.Inventories.Get(ctx, inv.ID)); string(got.Content) != hostsINI {
			t.Errorf("%s", got.Content)
		}
	})
}

// TestExecutorGetsWhatItNeeds refreshes a script of a project with a credential.
func TestExecutorGetsWhatItNeeds(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx, cred := t.Context(), b.credential()
		k := &fakeLogins{granted: map[string]int{}}
		b.material.Logins = k
		b.executes("w", "default")
		p := b.project("p")
		s := script("s", b.inventory("i").ID)
		s.Config.Content, s.Path, s.ProjectID, s.CredentialID = "", "hosts.ini", p.ID, cred
		s = must[catalog.InventorySource](t)(b.Sources.Create(ctx, s))
		must[catalog.InventorySource](t)(b.Sources.Refresh(ctx, s.ID))
		got := b.collector.asked[0]
		if got.Access.Env["TOKEN"].Reveal() != canary || got.Path != "hosts.ini" || got.Tree == "" || k.out != 0 {
			t.Errorf("%+v, %d are not given back", got, k.out)
		}
		k.fail(errors.New(canary))
		if _, err := b.Sources.Refresh(ctx, s.ID); fmt.Sprint(err) != "the source's credential cannot be used" {
			t.Error(err)
		}
	})
}
