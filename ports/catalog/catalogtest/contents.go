package catalogtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
)

func projectCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){"synchronisations": syncs}
}

func syncs(t *testing.T, e *env) {
	s := projects(e)
	want := s.full(e.record(s.prefix, ""))
	want.Revision, want.Commit, want.SyncedAt, want.LastError, want.Hints = 4, "", time.Time{}, "", nil
	e.must(t, func(ctx context.Context) error { return s.insert(ctx, want) })
	other := add(t, e, s)
	note := func(commit, failure string, when time.Time, hints ...catalog.Hint) {
		t.Helper()
		r := catalog.SyncResult{Commit: commit, Failure: failure, Hints: hints, At: when}
		e.must(t, func(ctx context.Context) error { return e.Projects.NoteSync(ctx, want.ID, r) })
		if want.LastError = failure; commit != "" {
			want.Commit, want.SyncedAt, want.Hints = commit, when, hints
		}
		same(t, "noted", want, get(t, s, want.ID))
	}
	note("", odd, at(time.Hour))
	note("c1", "", at(time.Hour+time.Microsecond).In(elsewhere))
	note("", "failed", at(2*time.Hour))
	note("", "failed otherwise", at(3*time.Hour))
	note("c2", "", at(4*time.Hour), catalog.Hint{Path: "a b.yml", Line: 7, Message: odd}, catalog.Hint{Path: "c"})
	note("", "failed once more", at(4*time.Hour))
	note("c2", "", at(4*time.Hour), []catalog.Hint{}...)
	note("c2", "", at(4*time.Hour), catalog.Hint{Path: "d.yml", Line: 1})
	same(t, "another project", other, get(t, s, other.ID))
	change := func(edit func(*catalog.Project)) {
		t.Helper()
		edit(&want)
		e.must(t, func(ctx context.Context) error {
			stored, err := e.Projects.UpdateProject(ctx, want, want.Revision)
			want.Revision++
			same(t, "changed", want, stored)
			return err
		})
	}
	change(func(p *catalog.Project) { p.InstallDeps = !p.InstallDeps })
	change(func(p *catalog.Project) {
		p.Branch, p.Commit, p.SyncedAt, p.Hints = "another", "", time.Time{}, nil
	})
	note("c3", "", at(5*time.Hour))
	change(func(p *catalog.Project) {
		p.RepoURL, p.Commit, p.SyncedAt = "https://git.example.org/another", "", time.Time{}
	})

	e.must(t, func(ctx context.Context) error { return s.remove(ctx, want.ID, want.Revision) })
	e.must(t, func(ctx context.Context) error {
		return e.Projects.NoteSync(ctx, want.ID, catalog.SyncResult{Commit: "c3", At: epoch})
	})
	same(t, "a note brings nothing back", []catalog.Project{other}, all(t, s, catalog.Filter{}))
}

func inventoryCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"contents":                      contents,
		"a content that is filled":      fills,
		"a content comes as it goes":    fillRace,
		"a change that keeps a content": kept,
	}
}

func (e *env) text(t *testing.T, id string) catalog.InventoryText {
	t.Helper()
	text, err := e.Inventories.InventoryText(t.Context(), id)
	noError(t, err)
	return text
}

func (e *env) sameKnownHosts(t *testing.T, what, id string, want []byte, p catalog.HostKeyPolicy) {
	t.Helper()
	if got := e.text(t, id); !bytes.Equal(want, got.KnownHosts) || p != got.HostKeyPolicy {
		t.Errorf("%s: known hosts %q, %s instead of %q, %s", what, got.KnownHosts, got.HostKeyPolicy, want, p)
	}
}

func (e *env) sameContent(t *testing.T, what, id string, want []byte, format catalog.Format) {
	t.Helper()
	got := e.text(t, id)
	if !bytes.Equal(want, got.Content) || got.Format != format {
		t.Errorf("%s: %d bytes of %s instead of %d bytes of %s", what, len(got.Content), got.Format, len(want), format)
	}
}

// noise returns incompressible bytes.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1, 2, 3}).Read(b)
	return b
}

func contents(t *testing.T, e *env) {
	var every [256]byte
	for i := range every {
		every[i] = byte(i)
	}
	for what, content := range map[string][]byte{
		"nothing": nil, "empty": {}, "one byte": {0}, "every byte": every[:], "text": []byte(odd),
		"large":  bytes.Repeat([]byte("host-ü ansible_host=10.0.0.1\n"), catalog.MaxInventory/30),
		"random": noise(100_000), "the largest": noise(catalog.MaxInventory),
	} {
		i := inventories(e).plain(e.record(ids.Inventory, what))
		i.Content, i.Format = content, catalog.YAML
		e.must(t, func(ctx context.Context) error { return e.Inventories.InsertInventory(ctx, i) })
		e.sameContent(t, what, i.ID, content, catalog.YAML)
		i.Content, i.Format = append([]byte("x"), content[:len(content)/2]...), catalog.JSON
		e.must(t, func(ctx context.Context) error {
			_, err := e.Inventories.UpdateInventory(ctx, i, 0)
			return err
		})
		e.sameContent(t, what+", changed", i.ID, i.Content, catalog.JSON)
		e.must(t, func(ctx context.Context) error { return e.Inventories.DeleteInventory(ctx, i.ID, 0) })
		_, err := e.Inventories.InventoryText(t.Context(), i.ID)
		wantFault(t, err, catalog.InventoryNotFound)

		// A new inventory with the same id has no content from the deleted one.
		i.Content = []byte("next")
		e.must(t, func(ctx context.Context) error { return e.Inventories.InsertInventory(ctx, i) })
		e.sameContent(t, what+", the next one", i.ID, i.Content, catalog.JSON)
	}
}

func fills(t *testing.T, e *env) {
	s := inventories(e)
	want, other := s.full(e.record(s.prefix, "")), s.full(e.record(s.prefix, ""))
	want.Revision = 3
	for _, i := range []catalog.Inventory{want, other} {
		e.must(t, func(ctx context.Context) error { return s.insert(ctx, i) })
	}
	for n, content := range [][]byte{[]byte("[all]\n"), {}, nil, noise(5000), []byte(odd)} {
		i := catalog.Inventory{
			Record: object.Record{ID: want.ID, Name: "x", Org: "org_none", CreatedBy: "x", UpdatedAt: at(time.Hour),
				Revision: 9},
			Content: content, Format: catalog.JSON, CredentialIDs: []string{"x"}, Queue: "x", Hosts: n, Groups: 10 * n,
			Digest: fmt.Sprint("d", n),
		}
		e.must(t, func(ctx context.Context) error { return e.Inventories.FillInventory(ctx, i) })
		want.Format, want.Hosts, want.Groups, want.Digest = i.Format, i.Hosts, i.Groups, i.Digest
		want.Revision++
		e.must(t, func(ctx context.Context) error { return e.Inventories.FillInventory(ctx, i) }) // the same content again
		same(t, "filled", s.bare(want), get(t, s, want.ID))
		e.sameContent(t, "filled", want.ID, content, catalog.JSON)
		e.sameKnownHosts(t, "filled", want.ID, want.KnownHosts, want.HostKeyPolicy)
	}
	same(t, "the other", s.bare(other), get(t, s, other.ID))
	e.sameContent(t, "the other", other.ID, other.Content, other.Format)

	stop := errors.New("stop")
	err := e.do(t, func(ctx context.Context) error {
		noError(t, e.Inventories.FillInventory(ctx, catalog.Inventory{Record: other.Record, Content: []byte("x")}))
		return stop
	})
	if !errors.Is(err, stop) {
		t.Fatal(err)
	}
	e.sameContent(t, "after a unit that was undone", other.ID, other.Content, other.Format)
	e.must(t, func(ctx context.Context) error { return s.remove(ctx, want.ID, want.Revision) })
	e.refused(t, catalog.InventoryNotFound, func(ctx context.Context) error {
		return e.Inventories.FillInventory(ctx, catalog.Inventory{Record: want.Record, Content: []byte("x")})
	})
	_, err = e.Inventories.InventoryText(t.Context(), want.ID)
	wantFault(t, err, catalog.InventoryNotFound)
}

func kept(t *testing.T, e *env) {
	s := inventories(e)
	is := s.full(e.record(s.prefix, ""))
	e.must(t, func(ctx context.Context) error { return s.insert(ctx, is) })
	next := is
	s.change(&next)
	next.Content, next.KnownHosts, next.Name = nil, nil, "other"
	var got catalog.Inventory
	e.must(t, func(ctx context.Context) (err error) {
		got, err = s.update(ctx, next, 1)
		return err
	})
	want := s.bare(is)
	want.Name, want.CredentialIDs, want.Queue, want.Revision = "other", next.CredentialIDs, next.Queue, 2
	want.HostKeyPolicy = next.HostKeyPolicy
	same(t, "changed", want, got)
	same(t, "changed, by id", want, get(t, s, is.ID))
	e.sameContent(t, "content", is.ID, is.Content, is.Format)
	e.sameKnownHosts(t, "known hosts", is.ID, is.KnownHosts, catalog.AcceptNew)

	next.Content, next.Name = []byte{}, "taken"
	add(t, e, s, named("taken"))
	e.refused(t, catalog.NameTaken, func(ctx context.Context) error {
		_, err := s.update(ctx, next, 0)
		return err
	})
	e.sameContent(t, "content after a refusal", is.ID, is.Content, is.Format)
	next.Name, next.KnownHosts = "other", []byte("next")
	e.must(t, func(ctx context.Context) error {
		_, err := s.update(ctx, next, 0)
		return err
	})
	e.sameContent(t, "an empty content", is.ID, nil, catalog.JSON)
	e.sameKnownHosts(t, "other known hosts", is.ID, next.KnownHosts, catalog.AcceptNew)
	next.Content, next.KnownHosts = nil, []byte{}
	e.must(t, func(ctx context.Context) error {
		_, err := s.update(ctx, next, 0)
		return err
	})
	e.sameContent(t, "still empty", is.ID, nil, catalog.JSON)
	e.sameKnownHosts(t, "no known hosts", is.ID, nil, catalog.AcceptNew)
}

// fillRace checks that concurrent fills leave consistent values, and that a deleted inventory leaves no content.
func fillRace(t *testing.T, e *env) {
	s := inventories(e)
	for range 5 {
		is := add(t, e, s)
		together(crowd, func(n int) {
			i := is
			i.Content, i.Hosts, i.Digest = noise(n*100), n, fmt.Sprint("d", n)
			err := e.do(t, func(ctx context.Context) error {
				if n%2 == 0 {
					return e.Inventories.FillInventory(ctx, i)
				}
				_, err := s.update(ctx, i, 0)
				return err
			})
			if err != nil {
				t.Errorf("fill: %v", err)
			}
		})
		got := get(t, s, is.ID)
		e.sameContent(t, got.Digest, is.ID, noise(got.Hosts*100), catalog.INI)
		same(t, "digest", fmt.Sprint("d", got.Hosts), got.Digest)
		together(2, func(n int) {
			err := e.do(t, func(ctx context.Context) error {
				if n == 0 {
					return s.remove(ctx, is.ID, 0)
				}
				return e.Inventories.FillInventory(ctx, is)
			})
			if err != nil && (n == 0 || !catalog.InventoryNotFound.Is(err)) {
				t.Errorf("fill and remove: %v", err)
			}
		})
		_, err := e.Inventories.InventoryText(t.Context(), is.ID)
		wantFault(t, err, catalog.InventoryNotFound)
	}
}
