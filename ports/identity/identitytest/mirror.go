package identitytest

import (
	"slices"

	"github.com/writ-automation/writ/ports/identity"
)

// state is the normal form of rights: it leaves out unrestricted objects without an organization, and accounts without
// memberships.
type state struct {
	Objects map[string]identity.ObjectRights
	Users   map[string]identity.UserRights
}

// mirror is an index of rights that loads once and follows the changes.
type mirror struct {
	version int64
	state   state
}

// apply merges loaded or changed rights. It fails the test if they contain an object or account twice.
func (m *mirror) apply(t tb, r identity.Rights) {
	t.Helper()
	if r.Version < m.version {
		t.Errorf("version %d came after %d", r.Version, m.version)
	}
	m.version = max(m.version, r.Version)
	if m.state.Objects == nil {
		m.state = state{Objects: map[string]identity.ObjectRights{}, Users: map[string]identity.UserRights{}}
	}
	seen := map[string]bool{}
	once := func(name string) {
		if seen[name] {
			t.Errorf("%q is told of twice at once", name)
		}
		seen[name] = true
	}
	for _, o := range r.Objects {
		once(o.Object)
		m.state.putObject(o)
	}
	for _, u := range r.Users {
		once(u.UserID)
		m.state.putUser(u)
	}
}

func (s *state) putObject(o identity.ObjectRights) {
	if !o.Restricted && o.Org == "" && len(o.Grants) == 0 {
		delete(s.Objects, o.Object)
		return
	}
	s.Objects[o.Object] = o
}

func (s *state) putUser(u identity.UserRights) {
	if len(u.Teams)+len(u.Admin) == 0 {
		delete(s.Users, u.UserID)
		return
	}
	u.Teams, u.Admin = slices.Sorted(slices.Values(u.Teams)), slices.Sorted(slices.Values(u.Admin))
	s.Users[u.UserID] = u
}

// load reads all rights.
func (e *env) load(t tb) *mirror {
	t.Helper()
	r, err := e.Rights.LoadRights(t.Context())
	if err != nil {
		t.Fatalf("load the rights: %v", err)
	}
	m := &mirror{}
	m.apply(t, r)
	return m
}

// since reads the changes after a version that is still stored.
func (e *env) since(t tb, version int64) identity.Rights {
	t.Helper()
	r, ok, err := e.Rights.RightsSince(t.Context(), version)
	if err != nil || !ok {
		t.Fatalf("rights since %d: %t, %v", version, ok, err)
	}
	if r.Version < version {
		t.Errorf("rights since %d have version %d", version, r.Version)
	}
	return r
}

// follow updates a mirror to the stored state.
func (e *env) follow(t tb, m *mirror) {
	t.Helper()
	m.apply(t, e.since(t, m.version))
}
