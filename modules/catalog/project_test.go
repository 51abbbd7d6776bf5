package catalog_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
)

// TestFirstSync checks that a new project and one with a new address are fetched in the background, without an entry.
func TestFirstSync(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		b.Background.Start()
		p := b.project("site")
		b.eventually("the first synchronisation", func() bool {
			got := must[catalog.Project](t)(b.Projects.Get(t.Context(), p.ID))
			return got.Commit == firstCommit && got.SyncedAt.Equal(b.clock.Now()) && got.Revision == 1
		})
		b.checkouts.set(secondCommit, nil)
		next := project("site")
		next.Branch = "release"
		if _, err := b.Projects.Update(t.Context(), p.ID, 1, next); err != nil {
			t.Fatal(err)
		}
		b.eventually("the next one", func() bool {
			return must[catalog.Project](t)(b.Projects.Get(t.Context(), p.ID)).Commit == secondCommit
		})
		next.Name = "renamed"
		if _, err := b.Projects.Update(t.Context(), p.ID, 0, next); err != nil {
			t.Fatal(err)
		}
		if err := b.Background.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := b.checkouts.count(); n != 2 {
			t.Errorf("%d fetches", n)
		}
		for _, e := range b.trail.Take() {
			if e.Action == audit.ProjectSync {
				t.Errorf("entry %+v", e)
			}
		}
	})
}

// TestSyncsTogether checks that concurrent requests share a fetch, and that each has an entry.
func TestSyncsTogether(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		const many = 50
		p := b.project("site")
		b.trail.Take()
		begun, free := b.checkouts.block()
		defer free()
		var work sync.WaitGroup
		var waiting sync.WaitGroup
		errs := make(chan error, many)
		for range many {
			waiting.Add(1)
			work.Go(func() {
				waiting.Done()
				got, err := b.Projects.Sync(t.Context(), p.ID)
				if err == nil && got.Commit != firstCommit {
					err = errors.New("commit " + got.Commit)
				}
				errs <- err
			})
		}
		waiting.Wait()
		<-begun
		free()
		work.Wait()
		close(errs)
		for err := range errs {
			if err != nil {
				t.Error(err)
			}
		}
		// Requests after the end of the first fetch started another one.
		if n := b.checkouts.count(); n > many/2 || b.checkouts.most != 1 {
			t.Errorf("%d fetches, %d of them at once", n, b.checkouts.most)
		}
		if n := len(b.trail.Take()); n != many {
			t.Errorf("%d entries", n)
		}
	})
}

// TestHintsOfACommit checks that a new commit is searched once, and that a failure keeps what was found.
func TestHintsOfACommit(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		p := b.project("site")
		sync := func(searched int) {
			t.Helper()
			got := must[catalog.Project](t)(b.Projects.Sync(t.Context(), p.ID))
			b.checkouts.mu.Lock()
			defer b.checkouts.mu.Unlock()
			if len(got.Hints) != 1 || got.Hints[0].Path != "site.yml" || got.Hints[0].Line != 4 ||
				b.checkouts.searched != searched {
				t.Errorf("%+v after %d searches, want %d", got.Hints, b.checkouts.searched, searched)
			}
		}
		sync(1)
		sync(1)
		b.checkouts.set(secondCommit, nil)
		sync(2)
		b.checkouts.set("", catalog.SyncFailed.New("no route to the forge"))
		if _, err := b.Projects.Sync(t.Context(), p.ID); err == nil {
			t.Error("the synchronisation does not fail")
		}
		if got := must[catalog.Project](t)(b.Projects.Get(t.Context(), p.ID)); len(got.Hints) != 1 {
			t.Errorf("after a failure: %+v", got.Hints)
		}
		b.checkouts.set(secondCommit, nil)
		sync(2)
	})
}

// TestSyncFails checks that a failure is recorded, and stored in addition to the last good commit.
func TestSyncFails(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		p := b.project("site")
		must[catalog.Project](t)(b.Projects.Sync(t.Context(), p.ID))
		b.trail.Take()
		b.checkouts.set("", catalog.SyncFailed.New("no route to the forge"))
		_, err := b.Projects.Sync(t.Context(), p.ID)
		if !catalog.SyncFailed.Is(err) || err.Error() != "no route to the forge" {
			t.Error(err)
		}
		got := must[catalog.Project](t)(b.Projects.Get(t.Context(), p.ID))
		if got.Commit != firstCommit || got.LastError != "no route to the forge" {
			t.Errorf("%+v", got)
		}
		list := b.trail.Take()
		if len(list) != 1 || list[0].Action != audit.ProjectSync || list[0].Outcome != audit.Failure {
			t.Errorf("entries %+v", list)
		}
		b.checkouts.set("", errors.New("password "+canary))
		if _, err := b.Projects.Sync(t.Context(), p.ID); !catalog.SyncFailed.Is(err) ||
			strings.Contains(err.Error(), canary) {
			t.Error(err)
		}
	})
}

// TestPin checks that a run gets the newest commit, that of the last seconds without a fetch, or the last good one with
// the reason.
func TestPin(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		p, ctx := b.project("site"), t.Context()
		pin := func(commit string, stale bool, fetches int) {
			t.Helper()
			got, why, err := b.References.Pin(ctx, p.ID, false)
			if err != nil || got != commit || (why != "") != stale || b.checkouts.count() != fetches {
				t.Errorf("%s %q %v after %d fetches", got, why, err, b.checkouts.count())
			}
		}
		b.checkouts.set("", catalog.SyncFailed.New("unreachable"))
		if _, _, err := b.References.Pin(ctx, p.ID, false); !catalog.SyncFailed.Is(err) {
			t.Error(err)
		}
		if got := must[catalog.Project](t)(b.Projects.Get(ctx, p.ID)); got.LastError != "unreachable" {
			t.Errorf("%+v", got)
		}
		b.checkouts.set(firstCommit, nil)
		pin(firstCommit, false, 2)
		b.checkouts.set(secondCommit, nil)
		b.clock.move(4 * time.Second)
		pin(firstCommit, false, 2)
		b.clock.move(time.Second)
		pin(secondCommit, false, 3)
		b.clock.move(time.Minute)
		b.checkouts.set("", catalog.SyncFailed.New("unreachable"))
		pin(secondCommit, true, 4)
		b.checkouts.set(firstCommit, nil)
		pin(firstCommit, false, 5)
		moved := project("site")
		moved.Branch = "other"
		if _, err := b.Projects.Update(ctx, p.ID, 0, moved); err != nil {
			t.Fatal(err)
		}
		pin(firstCommit, false, 6)
		if _, _, err := b.References.Pin(ctx, "prj_none", false); !catalog.ProjectNotFound.Is(err) {
			t.Error(err)
		}
	})
}

// TestPinWaits checks that a cancelled caller stops waiting for a fetch, without effect on others.
func TestPinWaits(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	p := b.project("site")
	begun, free := b.checkouts.block()
	defer free()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, _, err := b.References.Pin(ctx, p.ID, false)
		ended <- err
	}()
	<-begun
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	free()
	b.eventually("the fetch ends well", func() bool {
		return must[catalog.Project](t)(b.Projects.Get(t.Context(), p.ID)).Commit == firstCommit
	})
}

// TestMovedMeanwhile checks that a result is never stored for another repository than the fetched one.
func TestMovedMeanwhile(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	p := b.project("site")
	begun, free := b.checkouts.block()
	defer free()
	ended := make(chan error, 1)
	go func() {
		_, err := b.Projects.Sync(t.Context(), p.ID)
		ended <- err
	}()
	<-begun
	moved := project("site")
	moved.RepoURL = "https://git.example.com/ops/other.git"
	if _, err := b.Projects.Update(t.Context(), p.ID, 0, moved); err != nil {
		t.Fatal(err)
	}
	free()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	b.checkouts.mu.Lock()
	defer b.checkouts.mu.Unlock()
	if n := len(b.checkouts.fetched); n != 2 || b.checkouts.fetched[1].URL != moved.RepoURL {
		t.Errorf("%+v", b.checkouts.fetched)
	}
}

// TestProjectFiles reads a project without an earlier fetch.
func TestProjectFiles(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		p, ctx := b.project("site"), t.Context()
		list, commit, err := b.Projects.Files(ctx, p.ID, "roles", "main")
		if err != nil || commit != firstCommit || len(list) != 1 || list[0].Path != "rolesmain" {
			t.Error(list, commit, err)
		}
		text, commit, err := b.Projects.File(ctx, p.ID, "site.yml", "")
		if err != nil || commit != firstCommit || string(text) != "site.yml" || b.checkouts.count() != 1 {
			t.Error(string(text), commit, err, b.checkouts.count())
		}
		l, err := b.Commits.Commits(ctx, p.ID, "v1", "")
		if err != nil || l.From != "v1" || l.To != firstCommit || b.checkouts.count() != 1 {
			t.Error(l, err, b.checkouts.count())
		}
		for _, bad := range []struct{ path, ref, field string }{{"a\nb", "", "path"}, {"a", "--upload-pack=x", "ref"},
			{"a", "x\x00", "ref"}} {
			if _, _, err := b.Projects.File(ctx, p.ID, bad.path, bad.ref); field(err) != bad.field {
				t.Errorf("%+v: %v", bad, err)
			}
		}
	})
}

// TestProjectInput checks the member of each refusal.
func TestProjectInput(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	gone := "crd_01arz3ndektsv4rrffq69g5fav"
	for _, c := range []struct {
		name, field string
		kind        fault.Kind
		change      func(p *catalog.Project)
	}{
		{"no name", "name", fault.Invalid, func(p *catalog.Project) { p.Name = "  " }},
		{"long name", "name", fault.Invalid, func(p *catalog.Project) { p.Name = strings.Repeat("ä", 201) }},
		{"two lines", "name", fault.Invalid, func(p *catalog.Project) { p.Name = "a\nb" }},
		{"no address", "repo_url", fault.Invalid, func(p *catalog.Project) { p.RepoURL = "" }},
		{"no id", "credential_id", fault.Invalid, func(p *catalog.Project) { p.CredentialID = "secret" }},
		{"no credential", "credential_id", fault.NotFound, func(p *catalog.Project) { p.CredentialID = gone }},
		{"no organization", "org_id", fault.NotFound, func(p *catalog.Project) { p.Org = "org_none" }},
		{"taken", "name", fault.Conflict, func(p *catalog.Project) { p.Name = " taken " }},
	} {
		if c.name == "taken" {
			b.project("taken")
		}
		p := project("p")
		c.change(&p)
		if _, err := b.Projects.Create(t.Context(), p); !fault.Is(err, c.kind) || field(err) != c.field {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestProjectCredential checks that an unusable credential fails the synchronisation, and that a usable one reaches the
// repository.
func TestProjectCredential(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	cred := b.params.IDs.New(ids.Credential)
	if err := b.params.Objects.Put(t.Context(), grantable(cred)); err != nil {
		t.Fatal(err)
	}
	p := project("site")
	p.CredentialID = cred
	p = must[catalog.Project](t)(b.Projects.Create(t.Context(), p))
	if _, err := b.Projects.Sync(t.Context(), p.ID); !catalog.SyncFailed.Is(err) || b.checkouts.count() != 0 {
		t.Error(err)
	}
	b.material.Logins = logins{cred: {Username: "git", Password: canary}}
	b.make()
	must[catalog.Project](t)(b.Projects.Sync(t.Context(), p.ID))
	if got := b.checkouts.fetched[0].Login; got.Username != "git" || got.Password != canary {
		t.Error("the login does not reach the repository")
	}
}

type logins map[string]catalog.Login

func (l logins) Login(_ context.Context, id string) (catalog.Login, error) {
	if got, ok := l[id]; ok {
		return got, nil
	}
	return catalog.Login{}, errors.New("no such credential")
}

func (logins) Access(context.Context, string, string) (catalog.Access, func(), error) {
	return catalog.Access{}, func() {}, errors.New("no such credential")
}

// TestProjectDelete checks that nothing of the project remains, also of an active fetch.
func TestProjectDelete(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		p := b.project("site")
		begun, free := b.checkouts.block()
		defer free()
		ended := make(chan error, 1)
		go func() {
			_, err := b.Projects.Sync(t.Context(), p.ID)
			ended <- err
		}()
		<-begun
		if err := b.Projects.Delete(t.Context(), p.ID, p.Revision+1); !catalog.RevisionChanged.Is(err) {
			t.Error(err)
		}
		if err := b.Projects.Delete(t.Context(), p.ID, p.Revision); err != nil {
			t.Fatal(err)
		}
		free()
		if err := <-ended; !catalog.ProjectNotFound.Is(err) {
			t.Error(err)
		}
		b.checkouts.mu.Lock()
		n := len(slices.DeleteFunc(slices.Clone(b.checkouts.forgot), func(id string) bool { return id != p.ID }))
		b.checkouts.mu.Unlock()
		if n != 2 {
			t.Errorf("the mirror was removed %d times, the last time before the fetch had ended", n)
		}
		if ok, err := b.References.Exists(t.Context(), ids.Project, p.ID); ok || err != nil {
			t.Error(ok, err)
		}
		if list, _, err := b.rights.Readable(t.Context(), "project", access.Everything(), window); err != nil ||
			len(list) != 0 {
			t.Error(list, err)
		}
	})
}
