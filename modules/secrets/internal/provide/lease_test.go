package provide_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/secrets"
)

// canaryConfig is the secret member of the engine's config.
func canaryConfig() map[string]any { return map[string]any{"key": "canary-config"} }

// minting installs an engine that mints and returns a credential of it.
func minting(w *fixture, m extension.SecretMinter) string {
	w.engines["mint"] = extension.Engine{Minter: m}
	return w.sourced(secrets.Token, "mint", canaryConfig())
}

func provide(t *testing.T, w *fixture, o secrets.Owner, ids ...string) secrets.Injection {
	t.Helper()
	got, err := w.Provider.Provide(t.Context(), o, ids)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestReleaseRevokesWhatWasMinted(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *fixture) {
		m := newMint()
		id := minting(w, revoker{m})
		got := provide(t, w, owner, id)
		if got.Env["TOKEN"].Reveal() != "minted-1" || m.living() != 1 || w.leases(owner) != 1 {
			t.Fatalf("gave %v; %d live, %d leases", reveal(got), m.living(), w.leases(owner))
		}
		later := secrets.Owner{ID: owner.ID, Epoch: 2}
		provide(t, w, later, id)
		w.Provider.Release(t.Context(), owner)
		if m.living() != 1 || w.leases(owner) != 0 || w.leases(later) != 1 {
			t.Errorf("%d live, leases %d and %d", m.living(), w.leases(owner), w.leases(later))
		}
		w.Provider.Release(t.Context(), later)
		w.Provider.Release(t.Context(), later)
		if m.living() != 0 || w.leases(later) != 0 {
			t.Errorf("%d live, %d leases", m.living(), w.leases(later))
		}
	})
}

func TestLeasesStoreNothingInTheOpen(t *testing.T) {
	t.Parallel()
	w := onSQLite(t)
	provide(t, w, owner, minting(w, revoker{newMint()}))
	list, err := w.store.LeasesOf(t.Context(), owner)
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	for _, hidden := range []string{"handle-1", "canary-config", "minted-1"} {
		if strings.Contains(string(list[0].Sealed), hidden) {
			t.Errorf("%s is not sealed", hidden)
		}
	}
	plain, err := w.box.Open(t.Context(), secrets.LeaseRecord(list[0].ID), list[0].Sealed)
	if err != nil || !strings.Contains(string(plain), "handle-1") {
		t.Errorf("it holds no handle: %v", err)
	}
}

// TestAnotherProcessRevokes simulates the death of a process between minting and release.
func TestAnotherProcessRevokes(t *testing.T) {
	for name, with := range map[string]bool{"by closure and handle": false, "by handle alone": true} {
		t.Run(name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, w *fixture) {
				m := newMint()
				m.forever = with
				provide(t, w, owner, minting(w, revoker{m}))
				idle := w.another(true)
				idle.Background.Start()
				if err := idle.Background.Stop(t.Context()); err != nil || m.living() != 1 {
					t.Fatalf("%v; a process that only reads left %d", err, m.living())
				}
				next := w.another(false)
				next.Background.Start()
				if got := <-m.revoked; got != "handle-1" {
					t.Errorf("revoked %s", got)
				}
				if err := next.Background.Stop(t.Context()); err != nil {
					t.Fatal(err)
				}
				if w.leases(owner) != 0 || m.living() != 0 {
					t.Errorf("%d leases, %d live", w.leases(owner), m.living())
				}
			})
		})
	}
}

func TestReleaseByAProcessThatDidNotMint(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *fixture) {
		m := newMint()
		provide(t, w, owner, minting(w, revoker{m}))
		w.another(true).Provider.Release(t.Context(), owner)
		if m.living() != 0 || w.leases(owner) != 0 {
			t.Errorf("%d live, %d leases", m.living(), w.leases(owner))
		}
	})
}

func TestAFaultLeavesNothingMinted(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *fixture) {
		m := newMint()
		w.engines["mint"] = extension.Engine{Minter: revoker{m}}
		minted := w.sourced(secrets.Env, "mint", canaryConfig()) // a text instead of an object of strings
		w.resolve("down", func(context.Context, map[string]any) (string, error) { return "", errors.New("down") })
		down := w.sourced(secrets.AWS, "down", nil)
		token := w.sourced(secrets.Token, "mint", canaryConfig())
		clash := w.add(secrets.Credential{Kind: secrets.Env}, secrets.Values{"vars": `{"TOKEN":"x"}`}, nil)
		for name, ids := range map[string][]string{
			"of what was minted itself": {minted}, "of another engine": {token, down},
			"of what they are together": {token, clash},
		} {
			_, err := w.Provider.Provide(t.Context(), owner, ids)
			if err == nil {
				t.Errorf("%s: no fault", name)
			}
			if m.living() != 0 || w.leases(owner) != 0 {
				t.Errorf("%s: %d live, %d leases", name, m.living(), w.leases(owner))
			}
		}
	})
}

func TestWhatCannotBeRevokedIsTriedAgain(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *fixture) {
		m := newMint()
		provide(t, w, owner, minting(w, revoker{m}))
		m.set(func() { m.broken = errors.New("handle-1 is locked, says canary-config") })
		w.Provider.Release(t.Context(), owner)
		if w.leases(owner) != 1 || m.living() != 1 {
			t.Fatalf("%d leases, %d live", w.leases(owner), m.living())
		}
		m.set(func() { m.broken = nil })
		w.Background.Start()
		<-m.revoked
		if err := w.Background.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if w.leases(owner) != 0 {
			t.Error("the lease is still there")
		}
		logged := w.journal.String()
		if !strings.Contains(logged, "lse_") || !strings.Contains(logged, "engine=mint") ||
			!strings.Contains(logged, "crd_") {
			t.Errorf("the log does not name the lease: %s", logged)
		}
		if strings.Contains(logged, "handle-") || strings.Contains(logged, "canary") {
			t.Errorf("the log tells what is secret: %s", logged)
		}
	})
}

func TestAfterTenAttemptsALeaseIsForgotten(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *fixture) {
		m := newMint()
		m.broken = errors.New("never")
		w.engines["mint"] = extension.Engine{Minter: revoker{m}}
		for _, attempts := range []int{8, 9} {
			l := secrets.Lease{ID: fmt.Sprintf("lse_%026d", attempts), Owner: owner, CredentialID: "crd_1", Engine: "mint",
				Attempts: attempts}
			var err error
			const tracked = `{"handle":"handle-1","config":{"path":"app","key":"canary-config"}}`
			if l.Sealed, err = w.box.Seal(t.Context(), secrets.LeaseRecord(l.ID), []byte(tracked)); err != nil {
				t.Fatal(err)
			}
			if err := w.d.Do(t.Context(), func(ctx context.Context) error { return w.store.InsertLease(ctx, l) }); err != nil {
				t.Fatal(err)
			}
		}
		w.Background.Start()
		for w.leases(owner) != 1 {
			select {
			case <-t.Context().Done():
				t.Fatal(t.Context().Err())
			case <-time.After(5 * time.Millisecond):
			}
		}
		if err := w.Background.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		logged := w.journal.String()
		if strings.Count(logged, "it ends by itself") != 1 || !strings.Contains(logged, "level=ERROR") {
			t.Errorf("logged %s", logged)
		}
	})
}

// TestWhatHasNoHandle: a secret without a handle is revoked only by the process that minted it.
func TestWhatHasNoHandle(t *testing.T) {
	t.Parallel()
	w := onSQLite(t)
	m := newMint()
	m.plain = true
	provide(t, w, owner, minting(w, m))
	if w.leases(owner) != 0 {
		t.Fatal("a lease that nobody else can revoke is stored")
	}
	m.set(func() { m.broken = errors.New("away") })
	w.Provider.Release(t.Context(), owner)
	m.set(func() { m.broken = nil })
	w.Background.Start()
	<-m.revoked
	if m.living() != 0 {
		t.Errorf("%d live", m.living())
	}
}

func TestStopRevokesWhatOnlyThisProcessCan(t *testing.T) {
	t.Parallel()
	w := onSQLite(t)
	m := newMint()
	m.plain = true
	if _, err := w.Logins.Login(t.Context(), minting(w, m)); err != nil {
		t.Fatal(err)
	}
	if m.living() != 1 {
		t.Fatalf("%d live", m.living())
	}
	if err := w.Background.Stop(t.Context()); err != nil || m.living() != 0 {
		t.Errorf("%v; %d live", err, m.living())
	}
}

func TestWhatNobodyCanRevoke(t *testing.T) {
	t.Parallel()
	w := onSQLite(t)
	m := newMint()
	m.plain, m.forever = true, true
	provide(t, w, owner, minting(w, m))
	w.Provider.Release(t.Context(), owner)
	if w.leases(owner) != 0 || m.living() != 1 {
		t.Errorf("%d leases, %d live", w.leases(owner), m.living())
	}
}

// TestAnEngineThatDoesNotHeedItsTime: the call times out, and a secret that it mints afterwards is revoked.
func TestAnEngineThatDoesNotHeedItsTime(t *testing.T) {
	t.Parallel()
	w := onSQLite(t)
	m := newMint()
	m.blocked = make(chan struct{})
	id := minting(w, revoker{m})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := w.Provider.Provide(ctx, owner, []string{id})
	if want := "the credential " + id + ": its engine mint did not answer in time"; !secrets.Unresolved.Is(err) ||
		err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	close(m.blocked)
	if err := w.Background.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m.living() != 0 || w.leases(owner) != 0 {
		t.Errorf("%d live, %d leases", m.living(), w.leases(owner))
	}
}

func TestACallerThatLeaves(t *testing.T) {
	t.Parallel()
	w := onSQLite(t)
	asked := make(chan struct{})
	w.resolve("slow", func(ctx context.Context, _ map[string]any) (string, error) {
		close(asked)
		<-ctx.Done()
		return "", ctx.Err()
	})
	id := w.sourced(secrets.Token, "slow", nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	if _, err := w.Provider.Provide(ctx, owner, []string{id}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestManyOwnersAtOnce mints and releases concurrently while a sweeper runs, and checks that no secret remains.
func TestManyOwnersAtOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *fixture) {
		m := newMint()
		id := minting(w, revoker{m})
		w.Background.Start()
		var work sync.WaitGroup
		for i := range 24 {
			work.Go(func() {
				o := secrets.Owner{ID: fmt.Sprintf("src_%026d", i%6), Epoch: int64(i)}
				if _, err := w.Provider.Provide(t.Context(), o, []string{id}); err != nil {
					t.Error(err)
				}
				w.Provider.Release(t.Context(), o)
				if n := w.leases(o); n != 0 {
					t.Errorf("%d leases are left of %v", n, o)
				}
			})
		}
		work.Wait()
		if m.living() != 0 {
			t.Errorf("%d live", m.living())
		}
	})
}
