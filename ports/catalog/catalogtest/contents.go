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
	"github.com/writ-automation/writ/ports/object/objecttest"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

func projectCases() txtest.Cases[*env] {
	return txtest.Cases[*env]{"synchronisations": syncs}
}

func syncs(t *testing.T, e *env) {
	s := projects(e)
	want := s.Full(e.Record(s.Prefix, ""))
	want.Revision, want.Commit, want.SyncedAt, want.LastError, want.Hints = 4, "", time.Time{}, "", nil
	e.Must(t, func(ctx context.Context) error { return s.Insert(ctx, want) })
	other := s.Add(t, e.Env)
	note := func(commit, failure string, when time.Time, hints ...catalog.Hint) {
		t.Helper()
		r := catalog.SyncResult{Commit: commit, Failure: failure, Hints: hints, At: when}
		e.Must(t, func(ctx context.Context) error { return e.Projects.NoteSync(ctx, want.ID, r) })
		if want.LastError = failure; commit != "" {
			want.Commit, want.SyncedAt, want.Hints = commit, when, hints
		}
		txtest.Same(t, "noted", want, s.Get(t, want.ID))
	}
	note("", odd, txtest.At(time.Hour))
	note("c1", "", txtest.At(time.Hour+time.Microsecond).In(txtest.Elsewhere()))
	note("", "failed", txtest.At(2*time.Hour))
	note("", "failed otherwise", txtest.At(3*time.Hour))
	note("c2", "", txtest.At(4*time.Hour), catalog.Hint{Path: "a b.yml", Line: 7, Message: odd}, catalog.Hint{Path: "c"})
	note("", "failed once more", txtest.At(4*time.Hour))
	note("c2", "", txtest.At(4*time.Hour), []catalog.Hint{}...)
	note("c2", "", txtest.At(4*time.Hour), catalog.Hint{Path: "d.yml", Line: 1})
	txtest.Same(t, "another project", other, s.Get(t, other.ID))
	change := func(edit func(*catalog.Project)) {
		t.Helper()
		edit(&want)
		e.Must(t, func(ctx context.Context) error {
			stored, err := e.Projects.UpdateProject(ctx, want, want.Revision)
			want.Revision++
			txtest.Same(t, "changed", want, stored)
			return err
		})
	}
	change(func(p *catalog.Project) { p.InstallDeps = !p.InstallDeps })
	change(func(p *catalog.Project) {
		p.Branch, p.Commit, p.SyncedAt, p.Hints = "another", "", time.Time{}, nil
	})
	note("c3", "", txtest.At(5*time.Hour))
	change(func(p *catalog.Project) {
		p.RepoURL, p.Commit, p.SyncedAt = "https://git.example.org/another", "", time.Time{}
	})

	e.Must(t, func(ctx context.Context) error { return s.Remove(ctx, want.ID, want.Revision) })
	e.Must(t, func(ctx context.Context) error {
		return e.Projects.NoteSync(ctx, want.ID, catalog.SyncResult{Commit: "c3", At: txtest.Epoch()})
	})
	txtest.Same(t, "a note brings nothing back", []catalog.Project{other}, s.All(t, catalog.Filter{}))
}

func inventoryCases() txtest.Cases[*env] {
	return txtest.Cases[*env]{
		"contents":                      contents,
		"a content that is filled":      fills,
		"a content comes as it goes":    fillRace,
		"a change that keeps a content": kept,
	}
}

func (e *env) text(t *testing.T, id string) catalog.InventoryText {
	t.Helper()
	text, err := e.Inventories.InventoryText(t.Context(), id)
	txtest.NoError(t, err)
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
		i := inventories(e).Plain(e.Record(ids.Inventory, what))
		i.Content, i.Format = content, catalog.YAML
		e.Must(t, func(ctx context.Context) error { return e.Inventories.InsertInventory(ctx, i) })
		e.sameContent(t, what, i.ID, content, catalog.YAML)
		i.Content, i.Format = append([]byte("x"), content[:len(content)/2]...), catalog.JSON
		e.Must(t, func(ctx context.Context) error {
			_, err := e.Inventories.UpdateInventory(ctx, i, 0)
			return err
		})
		e.sameContent(t, what+", changed", i.ID, i.Content, catalog.JSON)
		e.Must(t, func(ctx context.Context) error { return e.Inventories.DeleteInventory(ctx, i.ID, 0) })
		_, err := e.Inventories.InventoryText(t.Context(), i.ID)
		txtest.WantFault(t, err, catalog.InventoryNotFound)

		// A new inventory with the same id has no content from the deleted one.
		i.Content = []byte("next")
		e.Must(t, func(ctx context.Context) error { return e.Inventories.InsertInventory(ctx, i) })
		e.sameContent(t, what+", the next one", i.ID, i.Content, catalog.JSON)
	}
}

func fills(t *testing.T, e *env) {
	s := inventories(e)
	want, other := s.Full(e.Record(s.Prefix, "")), s.Full(e.Record(s.Prefix, ""))
	want.Revision = 3
	for _, i := range []catalog.Inventory{want, other} {
		e.Must(t, func(ctx context.Context) error { return s.Insert(ctx, i) })
	}
	for n, content := range [][]byte{[]byte("[all]\n"), {}, nil, noise(5000), []byte(odd)} {
		i := catalog.Inventory{
			Record: object.Record{ID: want.ID, Name: "x", Org: "org_none", CreatedBy: "x",
				UpdatedAt: txtest.At(time.Duration(n+1) * time.Hour), Revision: 9},
			Content: content, Format: catalog.JSON, CredentialIDs: []string{"x"}, Queue: "x", Hosts: n, Groups: 10 * n,
			Digest: fmt.Sprint("d", n),
		}
		e.Must(t, func(ctx context.Context) error { return e.Inventories.FillInventory(ctx, i) })
		want.Format, want.Hosts, want.Groups, want.Digest = i.Format, i.Hosts, i.Groups, i.Digest
		want.UpdatedAt = i.UpdatedAt
		want.Revision++
		i.UpdatedAt = txtest.At(24 * time.Hour)
		e.Must(t, func(ctx context.Context) error { return e.Inventories.FillInventory(ctx, i) }) // the same content again
		txtest.Same(t, "filled", s.Bare(want), s.Get(t, want.ID))
		e.sameContent(t, "filled", want.ID, content, catalog.JSON)
		e.sameKnownHosts(t, "filled", want.ID, want.KnownHosts, want.HostKeyPolicy)
	}
	txtest.Same(t, "the other", s.Bare(other), s.Get(t, other.ID))
	e.sameContent(t, "the other", other.ID, other.Content, other.Format)

	stop := errors.New("stop")
	err := e.Do(t, func(ctx context.Context) error {
		txtest.NoError(t, e.Inventories.FillInventory(ctx, catalog.Inventory{Record: other.Record, Content: []byte("x")}))
		return stop
	})
	if !errors.Is(err, stop) {
		t.Fatal(err)
	}
	e.sameContent(t, "after a unit that was undone", other.ID, other.Content, other.Format)
	e.Must(t, func(ctx context.Context) error { return s.Remove(ctx, want.ID, want.Revision) })
	e.Refused(t, catalog.InventoryNotFound, func(ctx context.Context) error {
		return e.Inventories.FillInventory(ctx, catalog.Inventory{Record: want.Record, Content: []byte("x")})
	})
	_, err = e.Inventories.InventoryText(t.Context(), want.ID)
	txtest.WantFault(t, err, catalog.InventoryNotFound)
}

func kept(t *testing.T, e *env) {
	s := inventories(e)
	is := s.Full(e.Record(s.Prefix, ""))
	e.Must(t, func(ctx context.Context) error { return s.Insert(ctx, is) })
	next := is
	s.Change(&next)
	next.Content, next.KnownHosts, next.Name = nil, nil, "other"
	var got catalog.Inventory
	e.Must(t, func(ctx context.Context) (err error) {
		got, err = s.Update(ctx, next, 1)
		return err
	})
	want := s.Bare(is)
	want.Name, want.CredentialIDs, want.Queue, want.Revision = "other", next.CredentialIDs, next.Queue, 2
	want.HostKeyPolicy, want.MaxConcurrent = next.HostKeyPolicy, next.MaxConcurrent
	txtest.Same(t, "changed", want, got)
	txtest.Same(t, "changed, by id", want, s.Get(t, is.ID))
	e.sameContent(t, "content", is.ID, is.Content, is.Format)
	e.sameKnownHosts(t, "known hosts", is.ID, is.KnownHosts, catalog.AcceptNew)

	next.Content, next.Name = []byte{}, "taken"
	s.Add(t, e.Env, objecttest.Named("taken"))
	e.Refused(t, catalog.NameTaken, func(ctx context.Context) error {
		_, err := s.Update(ctx, next, 0)
		return err
	})
	e.sameContent(t, "content after a refusal", is.ID, is.Content, is.Format)
	next.Name, next.KnownHosts = "other", []byte("next")
	e.Must(t, func(ctx context.Context) error {
		_, err := s.Update(ctx, next, 0)
		return err
	})
	e.sameContent(t, "an empty content", is.ID, nil, catalog.JSON)
	e.sameKnownHosts(t, "other known hosts", is.ID, next.KnownHosts, catalog.AcceptNew)
	next.Content, next.KnownHosts = nil, []byte{}
	e.Must(t, func(ctx context.Context) error {
		_, err := s.Update(ctx, next, 0)
		return err
	})
	e.sameContent(t, "still empty", is.ID, nil, catalog.JSON)
	e.sameKnownHosts(t, "no known hosts", is.ID, nil, catalog.AcceptNew)
}

// fillRace checks that concurrent fills leave consistent values, and that a deleted inventory leaves no content.
func fillRace(t *testing.T, e *env) {
	s := inventories(e)
	for range 5 {
		is := s.Add(t, e.Env)
		txtest.Together(txtest.Crowd, func(n int) {
			i := is
			i.Content, i.Hosts, i.Digest = noise(n*100), n, fmt.Sprint("d", n)
			err := e.Do(t, func(ctx context.Context) error {
				if n%2 == 0 {
					return e.Inventories.FillInventory(ctx, i)
				}
				_, err := s.Update(ctx, i, 0)
				return err
			})
			if err != nil {
				t.Errorf("fill: %v", err)
			}
		})
		got := s.Get(t, is.ID)
		e.sameContent(t, got.Digest, is.ID, noise(got.Hosts*100), catalog.INI)
		txtest.Same(t, "digest", fmt.Sprint("d", got.Hosts), got.Digest)
		txtest.Together(2, func(n int) {
			err := e.Do(t, func(ctx context.Context) error {
				if n == 0 {
					return s.Remove(ctx, is.ID, 0)
				}
				return e.Inventories.FillInventory(ctx, is)
			})
			if err != nil && (n == 0 || !catalog.InventoryNotFound.Is(err)) {
				t.Errorf("fill and remove: %v", err)
			}
		})
		_, err := e.Inventories.InventoryText(t.Context(), is.ID)
		txtest.WantFault(t, err, catalog.InventoryNotFound)
	}
}
