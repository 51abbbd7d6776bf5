package identitytest

import (
	"flag"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

// only reduces a state to the objects of one machine.
func (w *machine) only(s state) state {
	out := state{Objects: map[string]identity.ObjectRights{}, Users: map[string]identity.UserRights{}}
	for id, o := range s.Objects {
		if slices.Contains(w.objectIDs, id) || id == w.queue {
			out.Objects[id] = o
		}
	}
	for _, id := range w.userIDs {
		if u, ok := s.Users[id]; ok {
			out.Users[id] = u
		}
	}
	return out
}

// draws is the number of random stores per property unless -rapid.checks sets another one.
func draws() int { return depthtest.Of(10, 25) }

// few limits how many stores a property with a database draws. Each drawn store is as deep as without a limit, and
// after a failure the limit ends, so that rapid can shrink the case.
func few(property func(*rapid.T)) func(*rapid.T) {
	if f := flag.Lookup("rapid.checks"); f != nil && f.Value.String() != f.DefValue {
		return property
	}
	made, failed := 0, false
	return func(rt *rapid.T) {
		if made == draws() && !failed {
			return
		}
		passed := false
		defer func() {
			if passed && !rt.Failed() {
				made++
			} else {
				failed = true
			}
		}()
		property(rt)
		passed = true
	}
}

// rightsProperty runs random commands and expects a model, the complete rights, and a mirror that followed to agree.
func rightsProperty(t *testing.T, e *env) {
	rapid.Check(t, few(func(rt *rapid.T) {
		w := e.newMachine(rt)
		m := e.load(rt)
		for range rapid.IntRange(4, 14).Draw(rt, "units") {
			w.unit(rt)
			if rapid.IntRange(0, 3).Draw(rt, "follow") == 0 {
				e.follow(rt, m)
			}
		}
		e.follow(rt, m)
		same(rt, "model and mirror", w.now.state(), w.only(m.state))
		same(rt, "all rights and mirror", e.load(rt).state, m.state)
		same(rt, "version", e.version(rt, e.addAccount(rt).ID), m.version)
	}))
}

// readableProperty creates a random store and reads it with random scopes.
func readableProperty(t *testing.T, e *env) {
	rapid.Check(t, few(func(rt *rapid.T) {
		w := e.newMachine(rt)
		defer w.clean(t)
		for range rapid.IntRange(4, 14).Draw(rt, "units") {
			w.unit(rt)
		}
		var subjects []string
		for _, id := range w.userIDs {
			subjects = append(subjects, identity.UserSubject(id))
		}
		for _, id := range w.teamIDs {
			subjects = append(subjects, identity.TeamSubject(id))
		}
		for range 6 {
			s := access.Scope{
				All:      rapid.IntRange(0, 7).Draw(rt, "all") == 0,
				Strict:   rapid.Bool().Draw(rt, "strict"),
				Subjects: rapid.SliceOfN(rapid.SampledFrom(append(subjects, "", "user:none")), 0, 4).Draw(rt, "subjects"),
				Orgs:     rapid.SliceOfN(rapid.SampledFrom(append(w.orgIDs, "", "org_none")), 0, 3).Draw(rt, "organizations"),
			}
			kind := pick(rt, "kind", identity.KindProject, identity.KindTemplate, identity.KindInventory)
			window := page.Window{Offset: rapid.IntRange(0, 4).Draw(rt, "offset"), Limit: rapid.IntRange(0, 4).Draw(rt, "limit")}
			want := w.now.readable(kind, s)
			got, n, err := e.Objects.Readable(rt.Context(), kind, s, window)
			if err != nil {
				rt.Fatalf("readable: %v", err)
			}
			same(rt, "total", len(want), n)
			same(rt, "readable", cut(want, window), got)
		}
	}))
}

// cut returns the part of a list in a window.
func cut[T any](list []T, w page.Window) []T {
	from := min(w.Offset, len(list))
	return list[from:min(from+w.Rows(), len(list))]
}
