package catalog_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secrets"
)

// sealer seals with one of its keys, which can all be lost. Keys are numbers; a sealed text starts with its key.
type sealer struct {
	mu      sync.Mutex
	keys    map[byte]cipher.AEAD
	current byte
}

var _ secrets.Sealer = (*sealer)(nil)

func newSealer(t testing.TB, keys ...byte) *sealer {
	t.Helper()
	s := &sealer{}
	s.have(t, keys...)
	return s
}

// have sets the keys of the sealer; the first one seals.
func (s *sealer) have(t testing.TB, keys ...byte) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = map[byte]cipher.AEAD{}
	for i, n := range keys {
		key := make([]byte, 32)
		key[0] = n
		s.keys[n] = must[cipher.AEAD](t)(cipher.NewGCMWithRandomNonce(must[cipher.Block](t)(aes.NewCipher(key))))
		if i == 0 {
			s.current = n
		}
	}
}

func (s *sealer) Seal(_ context.Context, record string, plain []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, ok := s.keys[s.current]
	if !ok {
		return nil, secrets.KeyLost.New("there is no key")
	}
	return key.Seal([]byte{s.current}, nil, plain, []byte(record)), nil
}

func (s *sealer) Open(_ context.Context, record string, sealed []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, ok := s.keys[sealed[0]]
	if !ok {
		return nil, secrets.KeyLost.New("the key %d is not at hand", sealed[0])
	}
	plain, err := key.Open(nil, nil, sealed[1:], []byte(record))
	if err != nil {
		return nil, fault.Wrap(fault.Internal, err, "it was altered, or sealed for another record")
	}
	return plain, nil
}

// dump returns all values of all columns of the database.
func (b *bundle) dump() string {
	b.t.Helper()
	q := "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
	if b.d.Engine() == db.SQLite {
		q = "SELECT name FROM sqlite_master WHERE type = 'table'"
	}
	var out strings.Builder
	for _, table := range must[[]string](b.t)(db.Query[string](b.t.Context(), b.d.Read(b.t.Context()), q)) {
		rows, err := b.d.Read(b.t.Context()).QueryContext(b.t.Context(), `SELECT * FROM "`+table+`"`)
		if err != nil {
			b.t.Fatal(err)
		}
		for rows.Next() {
			values := make([]any, len(must[[]string](b.t)(rows.Columns())))
			into := make([]any, len(values))
			for i := range values {
				into[i] = &values[i]
			}
			if err := rows.Scan(into...); err != nil {
				b.t.Fatal(err)
			}
			for _, v := range values {
				if raw, ok := v.([]byte); ok {
					v = string(raw)
				}
				_, _ = fmt.Fprintln(&out, v)
			}
		}
		if err := rows.Close(); err != nil {
			b.t.Fatal(err)
		}
	}
	return out.String()
}

func (b *bundle) storedSource(id string) catalog.InventorySource {
	b.t.Helper()
	return must[catalog.InventorySource](b.t)(b.store.SourceByID(b.t.Context(), id))
}

// write changes a stored source directly in the store.
func (b *bundle) write(s catalog.InventorySource) {
	b.t.Helper()
	err := b.d.Do(b.t.Context(), func(ctx context.Context) error {
		_, err := b.store.UpdateSource(ctx, s, 0)
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// asked returns the headers of the last collection.
func (b *bundle) asked() map[string]string {
	b.t.Helper()
	b.collector.mu.Lock()
	defer b.collector.mu.Unlock()
	return b.collector.asked[len(b.collector.asked)-1].Config.Headers
}

// secretive creates a source with a secret, and refreshes it.
func (b *bundle) secretive(name string) catalog.InventorySource {
	b.t.Helper()
	s := source(name, b.inventory("of "+name).ID)
	s.Config.Headers = map[string]string{"Authorization": canary, "X-Site": "eu " + canary}
	s = must[catalog.InventorySource](b.t)(b.Sources.Create(b.t.Context(), s))
	b.collector.set("h1\n", nil)
	return must[catalog.InventorySource](b.t)(b.Sources.Refresh(b.t.Context(), s.ID))
}

// TestHeadersRestSealed checks that no column contains a plain value, and that only the collector gets one.
func TestHeadersRestSealed(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		s := b.secretive("cmdb")
		want, masks := map[string]string{"Authorization": canary, "X-Site": "eu " + canary},
			map[string]string{"Authorization": "***", "X-Site": "***"}
		look := func() {
			t.Helper()
			if d := cmp.Diff(want, b.asked()); d != "" {
				t.Errorf("the collector got %s", d)
			}
			dump := b.dump()
			if strings.Contains(dump, canary) || !strings.Contains(dump, "https://cmdb.example.com/") {
				t.Error("the database has the value, or was not read")
			}
			is := b.storedSource(s.ID)
			if d := cmp.Diff(masks, is.Config.Headers); d != "" || len(is.Sealed) == 0 {
				t.Errorf("stored are %d sealed bytes and %s", len(is.Sealed), d)
			}
			list, _, err := b.Sources.List(ctx, catalog.Filter{}, window)
			for _, read := range append(list, must[catalog.InventorySource](t)(b.Sources.Get(ctx, s.ID)), s) {
				if d := cmp.Diff(masks, read.Config.Headers); d != "" || read.Sealed != nil || err != nil {
					t.Error(d, read.Sealed, err)
				}
			}
		}
		look()
		// A caller never sets the sealed text.
		before := b.storedSource(s.ID).Sealed
		s.Config.Headers, s.Config.URL, s.Sealed = map[string]string{"authorization": "***", "X-New": canary + "2"},
			"https://cmdb.example.com/v2", []byte("x")
		want, masks = map[string]string{"authorization": canary, "X-New": canary + "2"},
			map[string]string{"authorization": "***", "X-New": "***"}
		s = must[catalog.InventorySource](t)(b.Sources.Update(ctx, s.ID, s.Revision, s))
		s = must[catalog.InventorySource](t)(b.Sources.Refresh(ctx, s.ID))
		look()
		if string(b.storedSource(s.ID).Sealed) == string(before) {
			t.Error("what was sealed for other headers is there")
		}
		s.Config.Headers, want, masks = nil, nil, nil
		s = must[catalog.InventorySource](t)(b.Sources.Update(ctx, s.ID, s.Revision, s))
		must[catalog.InventorySource](t)(b.Sources.Refresh(ctx, s.ID))
		if is := b.storedSource(s.ID); is.Sealed != nil || len(b.asked()) != 0 {
			t.Errorf("%d sealed bytes are left of no headers", len(is.Sealed))
		}
	})
}

// TestHeadersFromBefore checks that a source from before sealing still works, and is sealed by the next change.
func TestHeadersFromBefore(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		s := b.secretive("cmdb")
		want := map[string]string{"Authorization": canary, "X-Site": "eu"}
		old := b.storedSource(s.ID)
		old.Config.Headers, old.Sealed = maps.Clone(want), nil
		b.write(old)
		if !strings.Contains(b.dump(), canary) {
			t.Fatal("the value is not found where it is")
		}
		s = must[catalog.InventorySource](t)(b.Sources.Refresh(ctx, s.ID))
		if d := cmp.Diff(want, b.asked()) + cmp.Diff(map[string]string{"Authorization": "***", "X-Site": "***"},
			s.Config.Headers); d != "" {
			t.Error(d)
		}
		s.Name = "renamed"
		s = must[catalog.InventorySource](t)(b.Sources.Update(ctx, s.ID, s.Revision, s))
		must[catalog.InventorySource](t)(b.Sources.Refresh(ctx, s.ID))
		if d := cmp.Diff(want, b.asked()); d != "" || strings.Contains(b.dump(), canary) {
			t.Errorf("after a change the value rests in the open, or %s", d)
		}
	})
}

// TestHeadersUnderAnotherKey seals the values again with a new key: this is not a change of the source, and the old key
// is no longer needed.
func TestHeadersUnderAnotherKey(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		s := b.secretive("cmdb")
		b.sealer.have(t, 2, 1)
		held := b.store.SealedStores()[0]
		list := must[[]secrets.Sealed](t)(held.ListSealed(ctx, "", 10))
		if len(list) != 1 || list[0].Key != s.ID {
			t.Fatalf("held are %v", list)
		}
		plain := must[[]byte](t)(b.sealer.Open(ctx, list[0].Record, list[0].Text))
		text := must[[]byte](t)(b.sealer.Seal(ctx, list[0].Record, plain))
		err := b.d.Do(ctx, func(ctx context.Context) error {
			ok, err := held.Reseal(ctx, list[0], text)
			if !ok {
				t.Error("it was not replaced")
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		b.sealer.have(t, 2)
		is := must[catalog.InventorySource](t)(b.Sources.Refresh(ctx, s.ID))
		if is.Revision != s.Revision || b.asked()["Authorization"] != canary {
			t.Errorf("revision %d, asked with %d headers", is.Revision, len(b.asked()))
		}
		// A change seals all values with the current key, also the kept ones.
		b.sealer.have(t, 3, 2)
		is.Name = "renamed"
		is = must[catalog.InventorySource](t)(b.Sources.Update(ctx, is.ID, is.Revision, is))
		b.sealer.have(t, 3)
		must[catalog.InventorySource](t)(b.Sources.Refresh(ctx, is.ID))
		if b.asked()["Authorization"] != canary {
			t.Error("the value is another one")
		}
	})
}

// TestHeadersWithoutTheirKey checks that a refresh fails with the name of the source, that the inventory stays, and
// that everything without stored values works.
func TestHeadersWithoutTheirKey(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		s, other := b.secretive("cmdb"), b.secretive("other")
		s.UpdateOnLaunch = true
		s = must[catalog.InventorySource](t)(b.Sources.Update(ctx, s.ID, s.Revision, s))
		b.sealer.have(t)
		b.collector.set("h1\nh2\n", nil)
		asked := b.collector.count()
		wantErr := func(err error, code fault.Code) {
			t.Helper()
			if !code.Is(err) || !strings.Contains(err.Error(), s.ID) || !strings.Contains(err.Error(), `"cmdb"`) ||
				strings.Contains(err.Error(), canary) {
				t.Error(err)
			}
		}
		_, err := b.Sources.Refresh(ctx, s.ID)
		wantErr(err, catalog.RefreshFailed)
		now := must[catalog.InventorySource](t)(b.Sources.Get(ctx, s.ID))
		if !strings.Contains(now.LastError, s.ID) || !now.SyncedAt.Equal(s.SyncedAt) {
			t.Errorf("%+v", now)
		}
		text, warnings, err := b.Materials.Inventory(ctx, s.InventoryID, true)
		if err != nil || string(text.Content) != "h1\n" || len(warnings) != 1 ||
			!strings.Contains(warnings[0].Message, s.ID) || b.collector.count() != asked {
			t.Error(string(text.Content), warnings, err)
		}
		_, err = b.Sources.Update(ctx, s.ID, s.Revision, s)
		wantErr(err, secrets.KeyLost)
		fresh := source("new", s.InventoryID)
		fresh.Config.Headers = map[string]string{"A": "b"}
		if _, err := b.Sources.Create(ctx, fresh); !secrets.KeyLost.Is(err) {
			t.Error(err)
		}
		fresh.Config.Headers = nil
		must[catalog.InventorySource](t)(b.Sources.Create(ctx, fresh))
		if err := b.Sources.Delete(ctx, other.ID, 0); err != nil {
			t.Error(err)
		}

		b.sealer.have(t, 2) // another key, which seals new values
		_, err = b.Sources.Update(ctx, s.ID, s.Revision, s)
		wantErr(err, secrets.KeyLost)
		s.Config.Headers = map[string]string{"Authorization": "anew", "X-Site": "anew"}
		s = must[catalog.InventorySource](t)(b.Sources.Update(ctx, s.ID, s.Revision, s))
		must[catalog.InventorySource](t)(b.Sources.Refresh(ctx, s.ID))
		if d := cmp.Diff(map[string]string{"Authorization": "anew", "X-Site": "anew"}, b.asked()); d != "" {
			t.Error(d)
		}
	})
}

// TestHeadersInAnothersPlace checks that a sealed text is bound to its source, server and header names.
func TestHeadersInAnothersPlace(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		other := b.storedSource(b.secretive("other").ID)
		for name, move := range map[string]func(s *catalog.InventorySource){
			"the text of another source": func(s *catalog.InventorySource) { s.Sealed = other.Sealed },
			"another server": func(s *catalog.InventorySource) {
				s.Config.URL = "https://elsewhere.example.net/hosts"
			},
			"another port":  func(s *catalog.InventorySource) { s.Config.URL = "https://cmdb.example.com:8443/hosts" },
			"no encryption": func(s *catalog.InventorySource) { s.Config.URL = "http://cmdb.example.com/hosts" },
			"another name": func(s *catalog.InventorySource) {
				s.Config.Headers = map[string]string{"Authorization": "***", "Cookie": "***"}
			},
			"one name more":   func(s *catalog.InventorySource) { s.Config.Headers["Cookie"] = "***" },
			"no names":        func(s *catalog.InventorySource) { s.Config.Headers = nil },
			"an altered text": func(s *catalog.InventorySource) { s.Sealed[len(s.Sealed)-1] ^= 1 },
		} {
			is := b.storedSource(b.secretive(name).ID)
			asked := b.collector.count()
			move(&is)
			b.write(is)
			if _, err := b.Sources.Refresh(ctx, is.ID); !catalog.RefreshFailed.Is(err) || strings.Contains(err.Error(), canary) {
				t.Errorf("%s: %v", name, err)
			}
			if n := b.collector.count(); n != asked {
				t.Errorf("%s: the source was asked", name)
			}
		}
	})
}
