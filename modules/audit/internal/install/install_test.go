package install_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/modules/audit/internal/install"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/proof/checkpoint"
	"github.com/writ-automation/writ/ports/proof/keys"
)

func TestSigningKeyFile(t *testing.T) {
	t.Parallel()
	pem := pemOf(t)
	c, s, err := install.ParseKeys(pem)
	if err != nil || c.Use() != keys.Checkpoint || s.Use() != keys.Statement {
		t.Fatal(err)
	}
	half := len(pem) / 2
	for name, bad := range map[string][]byte{
		"empty": nil, "one": pem[:half], "three": append(bytes.Clone(pem), pem[:half]...), "cut": pem[:len(pem)-1],
		"text":    append([]byte("x\n"), pem...),
		"same":    append(bytes.Clone(pem[:half]), pem[:half]...),
		"between": append(append(bytes.Clone(pem[:half]), '\n'), pem[half:]...),
		"returns": bytes.ReplaceAll(pem, []byte("\n"), []byte("\r\n")),
	} {
		_, _, err := install.ParseKeys(bad)
		if !keys.FormatInvalid.Is(err) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), string(pem[30:60])) {
			t.Errorf("%s repeats the key", name)
		}
	}
}

// TestServersThatStartAtOnce must create one install, with the keys of one server and one first entry.
func TestServersThatStartAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		servers := []*server{serve(d, pemOf(t), &file{}), serve(d, pemOf(t), &file{}), serve(d, nil, &file{}),
			serve(d, nil, nil)}
		var wait sync.WaitGroup
		for _, s := range servers {
			wait.Go(func() {
				if err := s.Open(t.Context()); err != nil {
					t.Error(err)
				}
				s.grow(t, 5)
			})
		}
		wait.Wait()
		signing := 0
		for _, s := range servers {
			_, _, err := s.Signers(t.Context())
			switch {
			case s.HasKey() && err == nil && s.warns.n == 0:
				signing++
				s.head(t)
			case s.HasKey() || !audit.NoSigningKey.Is(err) || s.warns.n != 1:
				t.Errorf("key %t, %d warnings: %v", s.HasKey(), s.warns.n, err)
			}
		}
		id, err := servers[3].Identity(t.Context())
		if err != nil || signing > 1 || len(id.Keys) != 2*signing || len(id.Epochs) != 1 ||
			!ids.Valid(ids.Install, id.InstallID) {
			t.Errorf("%d sign: %+v %v", signing, id, err)
		}
		if id.Epoch.Origin != "writ/audit/"+id.InstallID+"/e1" {
			t.Errorf("the origin is %s", id.Epoch.Origin)
		}
		genesis := 0
		err = servers[0].store.Range(t.Context(), 1, 100, false, func(e *audit.Stored) error {
			if e.Action == string(audit.ServiceGenesis) {
				genesis++
			}
			return nil
		})
		if n, last, cerr := servers[0].store.Count(t.Context()); n != 21 || last != 21 || genesis != 1 || err != nil ||
			cerr != nil {
			t.Errorf("%d entries up to %d with %d beginnings: %v %v", n, last, genesis, err, cerr)
		}
	})
}

// TestHeadsWhileTheChainGrows signs heads on several servers during writes; no two of one size may differ.
func TestHeadsWhileTheChainGrows(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		pem := pemOf(t)
		servers := []*server{serve(d, pem, nil), serve(d, pem, nil)}
		var mu sync.Mutex
		notes := make(map[int64]string)
		var wait sync.WaitGroup
		for _, s := range servers {
			if err := s.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
			wait.Go(func() { s.grow(t, 40) })
			wait.Go(func() {
				for range 20 {
					h, err := s.Checkpoint(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					if _, err := s.Retain(t.Context(), h, 0); err != nil {
						t.Error(err)
					}
					mu.Lock()
					if have, ok := notes[h.Size]; ok && have != h.Note {
						t.Errorf("two notes of %d entries", h.Size)
					}
					notes[h.Size] = h.Note
					mu.Unlock()
				}
			})
		}
		wait.Wait()
		last := servers[1].head(t)
		parsed, err := checkpoint.Parse([]byte(last.Note))
		if err != nil || parsed.Size != 81 || parsed.Root != last.Root {
			t.Errorf("%+v: %v", parsed, err)
		}
		if err := serve(d, pem, nil).Open(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestAHeadThatContradictsIsNotSigned(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, db.SQLite, migrations.FS)
	pem := pemOf(t)
	s := serve(d, pem, nil)
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.grow(t, 3)
	h := s.head(t)
	for name, change := range map[string]func(*install.Head){
		"root":    func(h *install.Head) { h.Root[0]++ },
		"smaller": func(h *install.Head) { h.Size--; h.Root[0]++ },
		"larger":  func(h *install.Head) { h.Size += 5 },
	} {
		other := h
		change(&other)
		a := s.Anchor(other, audit.KindCheckpoint)
		if err := d.Do(t.Context(), func(ctx context.Context) error { return s.store.PutAnchor(ctx, a) }); err != nil {
			t.Fatal(err)
		}
		again := serve(d, pem, nil)
		if _, err := again.Checkpoint(t.Context()); !audit.Unsatisfied.Is(err) {
			t.Errorf("%s: %v", name, err)
		}
		if err := again.Open(t.Context()); !audit.RolledBack.Is(err) {
			t.Errorf("%s: the start says %v", name, err)
		}
		err := d.Do(t.Context(), func(ctx context.Context) error {
			q, err := d.Write(ctx)
			if err == nil {
				_, err = q.ExecContext(ctx, "DELETE FROM audit_anchors")
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestAlteredEntriesAreNotSigned(t *testing.T) {
	t.Parallel()
	for _, query := range []string{
		"UPDATE audit_entries SET leaf = replace(leaf, 'applied', 'denied') WHERE seq = 6",
		"DELETE FROM audit_entries WHERE seq = 6",
		"UPDATE audit_head SET hash = zeroblob(32)",
	} {
		d := dbtest.Open(t, db.SQLite, migrations.FS)
		s := serve(d, pemOf(t), nil)
		if err := s.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.grow(t, 3)
		s.head(t)
		s.grow(t, 5)
		err := d.Do(t.Context(), func(ctx context.Context) error {
			q, err := d.Write(ctx)
			if err == nil {
				_, err = q.ExecContext(ctx, query)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Checkpoint(t.Context()); !audit.Broken.Is(err) {
			t.Errorf("%s: %v", query, err)
		}
	}
}

func TestHeadFilesThatAreNoneOfThisInstall(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, db.SQLite, migrations.FS)
	pem := pemOf(t)
	mine := &file{}
	s := serve(d, pem, mine)
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := s.head(t)
	if err := s.File(h); err != nil || mine.note != h.Note {
		t.Fatal(err)
	}
	other := serve(dbtest.Open(t, db.SQLite, migrations.FS), pem, &file{})
	if err := other.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	foreign, err := keys.Generate(keys.Checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	id, err := s.Identity(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	forged, err := checkpoint.Sign(checkpoint.Body{Origin: id.Epoch.Origin, Size: 99, Root: h.Root}, foreign)
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]*file{
		"install": {note: other.head(t).Note}, "form": {note: "no note"}, "key": {note: string(forged)},
		"disk": {fail: errors.New("input/output error")},
	} {
		err := serve(d, pem, f).Open(t.Context())
		if err == nil || audit.RolledBack.Is(err) || !strings.Contains(err.Error(), "the head file") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.File(install.Head{Epoch: 1, Size: 0, Note: h.Note}); err != nil || mine.note != h.Note {
		t.Errorf("the same head again: %v", err)
	}
}

func TestHeadsAreKeptApart(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		s := serve(d, pemOf(t), nil)
		if err := s.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		first := s.head(t)
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() {
				if kept, err := s.Retain(t.Context(), first, time.Minute); !kept || err != nil {
					t.Errorf("kept %t: %v", kept, err)
				}
			})
		}
		wait.Wait()
		s.grow(t, 1)
		second := s.head(t)
		soon, err1 := s.Retain(t.Context(), second, time.Minute)
		later, err2 := s.Retain(t.Context(), second, 0)
		older, err3 := s.Retain(t.Context(), first, 0)
		n, err4 := s.store.CountAnchors(t.Context())
		if err := errors.Join(err1, err2, err3, err4); err != nil || soon || !later || !older ||
			n[audit.KindCheckpoint] != 2 {
			t.Errorf("soon %t, later %t, older %t, %v: %v", soon, later, older, n, err)
		}
	})
}
