package catalog_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// fakeLogins returns configured logins and access, and counts the unreleased ones.
type fakeLogins struct {
	mu      sync.Mutex
	fails   error
	granted map[string]int // by source
	out     int
}

func (k *fakeLogins) Login(context.Context, string) (catalog.Login, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return catalog.Login{Username: "git", Password: canary}, k.fails
}

func (k *fakeLogins) Access(_ context.Context, source, credential string) (catalog.Access, func(), error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.granted[source+" "+credential]++
	k.out++
	done := func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.out--
	}
	return catalog.Access{Env: map[string]secret.Text{"TOKEN": canary}}, done, k.fails
}

func (k *fakeLogins) fail(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fails = err
}

// TestACredentialThatFailsSaysSo checks that the error of a project or source contains the message of a fault, and
// nothing of other errors.
func TestACredentialThatFailsSaysSo(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx, cred := t.Context(), b.credential()
		k := &fakeLogins{granted: map[string]int{}}
		p := project("p")
		p.CredentialID = cred
		p = must[catalog.Project](t)(b.Projects.Create(ctx, p))
		s := source("s", b.inventory("i").ID)
		s.CredentialID = cred
		s = must[catalog.InventorySource](t)(b.Sources.Create(ctx, s))
		tell := func(project, source string) {
			t.Helper()
			_, sync := b.Projects.Sync(ctx, p.ID)
			_, refresh := b.Sources.Refresh(ctx, s.ID)
			if !catalog.SyncFailed.Is(sync) || !catalog.RefreshFailed.Is(refresh) {
				t.Fatal(sync, refresh)
			}
			p, s := must[catalog.Project](t)(b.Projects.Get(ctx, p.ID)),
				must[catalog.InventorySource](t)(b.Sources.Get(ctx, s.ID))
			for _, value := range []string{sync.Error(), p.LastError} {
				if value != project {
					t.Errorf("%q, want %q", value, project)
				}
			}
			for _, value := range []string{refresh.Error(), s.LastError} {
				if value != source {
					t.Errorf("%q, want %q", value, source)
				}
			}
		}
		const noProject, noSource = "the project's credential cannot be used", "the source's credential cannot be used"
		tell(noProject, noSource) // no Logins
		b.material.Logins = k
		b.make()
		for _, err := range []error{
			secrets.Unresolved.New("the credential does not answer"), secrets.SecretMissing.New("the credential has no secret"),
			&fault.Error{Kind: fault.Unavailable, Message: "the database is away"},
		} {
			k.fail(err)
			tell(err.Error(), err.Error())
		}
		k.fail(&fault.Error{Kind: fault.Internal, Message: "c4nary at 0xdeadbeef"})
		tell(noProject, noSource)
		k.fail(errors.New("c4nary"))
		tell(noProject, noSource)
		if k.out != 0 || b.collector.count() != 0 || b.checkouts.count() != 0 {
			t.Errorf("%d are not given back, %d and %d were asked for", k.out, b.collector.count(), b.checkouts.count())
		}
	})
}

// TestASourceGetsWhatItsCredentialGives checks that access is released after each refresh, also a failed one.
func TestASourceGetsWhatItsCredentialGives(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx, cred := t.Context(), b.credential()
		k := &fakeLogins{granted: map[string]int{}}
		b.material.Logins = k
		b.make()
		inv := b.inventory("i").ID
		plain := b.source("plain", inv)
		s := source("s", inv)
		s.CredentialID = cred
		s = must[catalog.InventorySource](t)(b.Sources.Create(ctx, s))
		b.collector.set(hostsINI, nil)
		must[catalog.InventorySource](t)(b.Sources.Refresh(ctx, plain.ID))
		if got := b.collector.asked[0].Access; got.Env != nil || len(k.granted) != 0 {
			t.Errorf("a source without a credential got %v", got)
		}
		must[catalog.InventorySource](t)(b.Sources.Refresh(ctx, s.ID))
		if got := b.collector.asked[1].Access.Env["TOKEN"].Reveal(); got != canary {
			t.Errorf("got %q", got)
		}
		b.collector.set("", errors.New("nobody answers"))
		if _, err := b.Sources.Refresh(ctx, s.ID); !catalog.RefreshFailed.Is(err) {
			t.Error(err)
		}
		b.collector.set("[broken\n", nil)
		if _, err := b.Sources.Refresh(ctx, s.ID); !catalog.RefreshFailed.Is(err) {
			t.Error(err)
		}
		if d := cmp.Diff(map[string]int{s.ID + " " + cred: 3}, k.granted); d != "" || k.out != 0 {
			t.Errorf("%d are not given back, %s", k.out, d)
		}
		begun, free := b.collector.block()
		defer free()
		ended := make(chan error, 1)
		go func() { _, err := b.Sources.Refresh(ctx, s.ID); ended <- err }()
		<-begun
		k.mu.Lock()
		held := k.out
		k.mu.Unlock()
		if held != 1 {
			t.Errorf("%d are held while a source is asked", held)
		}
		if err := b.Background.Stop(ctx); err != nil {
			t.Error(err)
		}
		<-ended
		if k.out != 0 {
			t.Error("what a stopped refresh had is not given back")
		}
	})
}
