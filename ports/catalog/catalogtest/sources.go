package catalogtest

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

func sourceCases() txtest.Cases[*env] {
	return txtest.Cases[*env]{
		"what a scope shows":          sourceScopes,
		"the sources of an inventory": sourcesOf,
		"refreshes":                   refreshes,
		"sealed texts":                sealedTexts,
	}
}

// addSource stores a source of an inventory with edits.
func (e *env) addSource(
	t *testing.T, inventory string, edit ...func(*catalog.InventorySource),
) catalog.InventorySource {
	t.Helper()
	s := sources(e)
	v := s.Plain(e.Record(s.Prefix, ""))
	v.InventoryID = inventory
	for _, fn := range edit {
		fn(&v)
	}
	e.Must(t, func(ctx context.Context) error { return s.Insert(ctx, v) })
	return v
}

// sourceScopes checks that a source is visible with the right to read its inventory and its project, without a right to
// the source itself.
func sourceScopes(t *testing.T, e *env) {
	u, v, org := e.AddTeam(t), e.AddTeam(t), e.AddOrg(t)
	object := func(p ids.Prefix, org string, subjects ...string) string {
		id := e.ID(p)
		e.Know(t, id, org)
		for _, subject := range subjects {
			e.Grant(t, subject, id)
		}
		return id
	}
	inv := map[string]string{"open": object(ids.Inventory, ""), "u": object(ids.Inventory, "", u),
		"org": object(ids.Inventory, org, v)}
	prj := map[string]string{"none": "", "open": object(ids.Project, ""), "u": object(ids.Project, "", u),
		"org": object(ids.Project, org, v)}
	s := sources(e)
	for _, i := range []string{"open", "org", "u"} {
		for _, p := range []string{"none", "open", "org", "u"} {
			e.addSource(t, inv[i], func(s *catalog.InventorySource) {
				s.Name, s.ProjectID = i+" "+p, prj[p]
				s.Org = map[bool]string{true: org}[p == "open"]
			})
		}
	}
	everything := []string{
		"open none", "open open", "open org", "open u", "org none", "org open", "org org", "org u", "u none", "u open",
		"u org", "u u",
	}
	for _, c := range []struct {
		name  string
		scope access.Scope
		want  []string
	}{
		{"everything", access.Everything(), everything},
		{"the zero scope", access.Scope{}, []string{"open none", "open open"}},
		{"strict", access.Scope{Strict: true}, nil},
		{"a subject", access.Scope{Subjects: []string{u}},
			[]string{"open none", "open open", "open u", "u none", "u open", "u u"}},
		{"a subject, strict", access.Scope{Subjects: []string{u}, Strict: true}, []string{"u none", "u u"}},
		{"an organization", access.Scope{Orgs: []string{org}},
			[]string{"open none", "open open", "open org", "org none", "org open", "org org"}},
		{"an organization, strict", access.Scope{Orgs: []string{org}, Strict: true}, []string{"org none", "org org"}},
		{"all subjects", access.Scope{Subjects: []string{u, v}}, everything},
		{"both, strict", access.Scope{Subjects: []string{u}, Orgs: []string{org}, Strict: true},
			[]string{"org none", "org org", "org u", "u none", "u org", "u u"}},
	} {
		var got []string
		for _, i := range s.Visible(t, c.scope, catalog.Filter{}) {
			got = append(got, i.Name)
		}
		txtest.Same(t, c.name, c.want, got)
	}
	txtest.Same(t, "with a filter", 2, len(s.Visible(t, access.Scope{Subjects: []string{u}}, catalog.Filter{Org: org})))
}

func sourcesOf(t *testing.T, e *env) {
	a, b := e.ID(ids.Inventory), e.ID(ids.Inventory)
	var want []catalog.InventorySource
	for n := range 4 {
		want = append(want, e.addSource(t, a, func(s *catalog.InventorySource) { s.Name = fmt.Sprint(9 - n) }))
		e.addSource(t, b)
	}
	read := func(id string) []catalog.InventorySource {
		list, err := e.Sources.SourcesOf(t.Context(), id)
		txtest.NoError(t, err)
		return list
	}
	txtest.Same(t, "by id", want, read(a))
	moved := want[1]
	moved.InventoryID = b
	e.Must(t, func(ctx context.Context) error {
		_, err := e.Sources.UpdateSource(ctx, moved, 0)
		return err
	})
	e.Must(t, func(ctx context.Context) error { return e.Sources.DeleteSource(ctx, want[3].ID, 0) })
	txtest.Same(t, "after one moved and one went", []catalog.InventorySource{want[0], want[2]}, read(a))
	txtest.Same(t, "of the other", 5, len(read(b)))
	txtest.Same(t, "of none", []catalog.InventorySource{}, read("inv_none"))
	txtest.Same(t, "of no id", []catalog.InventorySource{}, read(""))
}

func refreshes(t *testing.T, e *env) {
	want := e.addSource(t, "inv_1", func(s *catalog.InventorySource) { s.Revision = 4 })
	other := e.addSource(t, "inv_1")
	s := sources(e)
	note := func(failure, dropped string, when time.Time) {
		t.Helper()
		e.Must(t, func(ctx context.Context) error { return e.Sources.NoteRefresh(ctx, want.ID, failure, dropped, when) })
		if want.LastError = failure; failure == "" {
			want.SyncedAt, want.Dropped = when, dropped
		}
		txtest.Same(t, "noted", want, s.Get(t, want.ID))
	}
	note(odd, "", txtest.At(time.Hour))
	note("", odd, txtest.At(time.Hour+time.Microsecond).In(txtest.Elsewhere()))
	note("failed", "other", txtest.At(2*time.Hour))
	note("failed otherwise", "", txtest.At(3*time.Hour))
	note("", "other", txtest.At(4*time.Hour))
	note("", "", txtest.At(5*time.Hour))
	txtest.Same(t, "another source", other, s.Get(t, other.ID))

	e.Must(t, func(ctx context.Context) error { return s.Remove(ctx, want.ID, 4) })
	e.Must(t, func(ctx context.Context) error { return e.Sources.NoteRefresh(ctx, want.ID, "", "", txtest.Epoch()) })
	txtest.Same(t, "a note brings nothing back", []catalog.InventorySource{other}, s.All(t, catalog.Filter{}))
}

// sealedTexts checks that sealed texts are returned unchanged wherever a source is read, stay after NoteRefresh, and
// are removed by a change without a sealed text.
func sealedTexts(t *testing.T, e *env) {
	const inventory = "inv_1"
	read := func(what string, want []byte, list ...catalog.InventorySource) {
		t.Helper()
		if len(list) != 1 || !bytes.Equal(list[0].Sealed, want) || len(want) == 0 && list[0].Sealed != nil {
			t.Errorf("%s: %d sources, %d bytes were stored", what, len(list), len(want))
		}
	}
	everywhere := func(id string, want []byte) {
		t.Helper()
		read("by id", want, sources(e).Get(t, id))
		read("listed", want, sources(e).All(t, catalog.Filter{})...)
		list, err := e.Sources.SourcesOf(t.Context(), inventory)
		txtest.NoError(t, err)
		read("of an inventory", want, list...)
	}
	for _, text := range [][]byte{nil, {}, {0}, []byte("'; --"), []byte(odd), {0xff, 0xfe, 0},
		bytes.Repeat([]byte{0, 1, 2, 0xff}, 1<<17)} {
		v := e.addSource(t, inventory, func(s *catalog.InventorySource) { s.Sealed, s.SyncInterval = text, 60 })
		everywhere(v.ID, text)
		e.Must(t, func(ctx context.Context) error {
			due, ok, _, err := e.Sources.TakeDue(ctx)
			txtest.Same(t, "due", true, ok)
			read("due", text, due)
			return err
		})
		e.Must(t, func(ctx context.Context) error {
			return e.Sources.NoteRefresh(ctx, v.ID, "failed", "", txtest.Epoch())
		})
		everywhere(v.ID, text)
		for _, next := range [][]byte{[]byte("another"), append([]byte("another"), text...), nil, []byte("again"), {}} {
			v.Sealed = next
			e.Must(t, func(ctx context.Context) error {
				got, err := e.Sources.UpdateSource(ctx, v, 0)
				read("changed", next, got)
				return err
			})
			everywhere(v.ID, next)
		}
		e.Must(t, func(ctx context.Context) error { return e.Sources.DeleteSource(ctx, v.ID, 0) })
	}
}
