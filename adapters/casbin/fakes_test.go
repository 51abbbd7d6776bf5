package casbin

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rightsStore stores its changes and counts its reads.
type rightsStore struct {
	mu      sync.Mutex
	version int64
	objects map[string]identity.ObjectRights
	users   map[string]identity.UserRights
	changes []change
	oldest  int64 // the version after which changes are stored
	fail    error

	loads, catches atomic.Int64
	// during is called in each read, after the answer was read.
	during func(ctx context.Context)
}

type change struct {
	version    int64
	object, id string
}

var _ identity.RightsStore = (*rightsStore)(nil)

func newStore() *rightsStore {
	return &rightsStore{objects: map[string]identity.ObjectRights{}, users: map[string]identity.UserRights{}}
}

// put stores the rights of an object and returns their version.
func (w *rightsStore) put(o identity.ObjectRights) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version++
	w.objects[o.Object] = o
	w.changes = append(w.changes, change{version: w.version, object: o.Object})
	return w.version
}

// member stores the rights of an account and returns their version.
func (w *rightsStore) member(u identity.UserRights) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version++
	w.users[u.UserID] = u
	w.changes = append(w.changes, change{version: w.version, id: u.UserID})
	return w.version
}

func (w *rightsStore) breaks(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail = err
}

func (w *rightsStore) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changes, w.oldest = nil, w.version
}

func (w *rightsStore) LoadRights(ctx context.Context) (identity.Rights, error) {
	w.loads.Add(1)
	w.mu.Lock()
	r, err := identity.Rights{
		Version: w.version, Objects: slices.Collect(maps.Values(w.objects)), Users: slices.Collect(maps.Values(w.users)),
	}, w.fail
	w.mu.Unlock()
	w.answer(ctx)
	return r, err
}

func (w *rightsStore) RightsSince(ctx context.Context, version int64) (identity.Rights, bool, error) {
	w.catches.Add(1)
	w.mu.Lock()
	r, ok, err := identity.Rights{Version: w.version}, version >= w.oldest && version <= w.version, w.fail
	objects, users := map[string]bool{}, map[string]bool{}
	for _, c := range w.changes {
		if c.version <= version {
			continue
		}
		if c.object != "" && !objects[c.object] {
			objects[c.object] = true
			r.Objects = append(r.Objects, w.objects[c.object])
		}
		if c.id != "" && !users[c.id] {
			users[c.id] = true
			r.Users = append(r.Users, w.users[c.id])
		}
	}
	w.mu.Unlock()
	w.answer(ctx)
	return r, ok, err
}

func (w *rightsStore) answer(ctx context.Context) {
	if w.during != nil {
		w.during(ctx)
	}
}

func (w *rightsStore) ForgetChanges(context.Context, int) error { return nil }

func setup(t testing.TB, cfg Config, w *rightsStore) *Authorizer {
	t.Helper()
	a, err := New(cfg, w)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// granted returns an object that is restricted by grants in pairs of a subject and a level.
func granted(name, org string, pairs ...string) identity.ObjectRights {
	o := identity.ObjectRights{Object: name, Org: org, Restricted: true}
	for pair := range slices.Chunk(pairs, 2) {
		o.Grants = append(o.Grants, identity.SubjectLevel{Subject: pair[0], Level: access.Level(pair[1])})
	}
	return o
}

func as(id string, role identity.Role, version int64) identity.Principal {
	return identity.Principal{User: identity.User{ID: id, Username: "x", Role: role}, Version: version}
}

func acts() []access.Level { return []access.Level{access.Read, access.Use, access.Manage} }

// best returns the highest level of a caller on an object. It also checks that the levels nest.
func best(t testing.TB, a *Authorizer, p identity.Principal, name string) access.Level {
	t.Helper()
	top, ended := access.None, false
	for _, l := range acts() {
		switch err := a.Authorize(t.Context(), p, identity.Need{Kind: identity.KindOf(name), Act: string(l), Object: name}); {
		case err == nil && ended:
			t.Errorf("%s with role %s may %s %s without what lies below", p.User.ID, p.User.Role, l, name)
		case err == nil:
			top = l
		case identity.NotAllowed.Is(err):
			ended = true
		default:
			t.Errorf("%s %s %s: %v", p.User.ID, l, name, err)
		}
	}
	return top
}
