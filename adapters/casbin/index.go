package casbin

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
)

// neverLoaded is the version of an index that was never loaded.
const neverLoaded = -1

// subjects are the rights of an account. It is never changed, only replaced.
type subjects struct {
	names []string // the account and its teams as subjects of grants, sorted
	orgs  []string // the organizations that it administers, sorted
}

// objectRights are the rights of an object. It is never changed, only replaced.
type objectRights struct {
	org        string // empty for none
	restricted bool
	grants     []identity.SubjectLevel // sorted by subject, one for each
}

// index holds all rights in memory. The cost of a change depends only on its size: accounts and objects are replaced
// one by one under the lock, and readers copy their data under it.
type index struct {
	version atomic.Int64

	mu         sync.RWMutex
	accounts   map[string]*subjects
	objects    map[string]*objectRights
	restricted int // number of restricted objects
}

func newIndex() *index {
	x := &index{}
	x.version.Store(neverLoaded)
	return x
}

// knows reports whether the index includes all changes up to a version.
func (x *index) knows(version int64) bool { return x.version.Load() >= max(version, 0) }

// view returns a consistent snapshot of an account and an object.
func (x *index) view(userID, name string) (subjects, objectRights) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	rights := objectRights{}
	if o := x.objects[name]; o != nil {
		rights = *o
	}
	return x.account(userID), rights
}

// scope returns an account and the number of restricted objects.
func (x *index) scope(userID string) (subjects, int) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.account(userID), x.restricted
}

func (x *index) account(userID string) subjects {
	if s := x.accounts[userID]; s != nil {
		return *s
	}
	return subjects{names: []string{identity.UserSubject(userID)}}
}

// load replaces all rights.
func (x *index) load(r identity.Rights) {
	accounts, objects, restricted := make(map[string]*subjects, len(r.Users)),
		make(map[string]*objectRights, len(r.Objects)), 0
	names := make(map[string]string)
	for _, u := range r.Users {
		if s := newSubjects(u); s != nil {
			accounts[u.UserID] = s
		}
	}
	for _, rights := range r.Objects {
		o := newObjectRights(rights)
		if o == nil {
			continue
		}
		objects[rights.Object] = o
		restricted += count(o)
		for i, g := range o.grants { // share equal names, because a store returns a new string for each grant
			if known, ok := names[g.Subject]; ok {
				o.grants[i].Subject = known
			} else {
				names[g.Subject] = g.Subject
			}
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.accounts, x.objects, x.restricted = accounts, objects, restricted
	x.version.Store(r.Version)
}

// apply replaces the changed entries and deletes the empty ones.
func (x *index) apply(r identity.Rights) {
	accounts, objects := make([]*subjects, len(r.Users)), make([]*objectRights, len(r.Objects))
	for i, u := range r.Users {
		accounts[i] = newSubjects(u)
	}
	for i, o := range r.Objects {
		objects[i] = newObjectRights(o)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for i, u := range r.Users {
		replace(x.accounts, u.UserID, accounts[i])
	}
	for i, o := range r.Objects {
		x.restricted += count(objects[i]) - count(x.objects[o.Object])
		replace(x.objects, o.Object, objects[i])
	}
	x.version.Store(max(r.Version, x.version.Load()))
}

func replace[V any](m map[string]*V, key string, v *V) {
	if v == nil {
		delete(m, key)
		return
	}
	m[key] = v
}

func count(o *objectRights) int {
	if o != nil && o.restricted {
		return 1
	}
	return 0
}

// newSubjects returns nil for an account without teams and organizations.
func newSubjects(u identity.UserRights) *subjects {
	if len(u.Teams) == 0 && len(u.Admin) == 0 {
		return nil
	}
	s := &subjects{names: make([]string, 0, len(u.Teams)+1), orgs: slices.Clone(u.Admin)}
	s.names = append(s.names, identity.UserSubject(u.UserID))
	for _, id := range u.Teams {
		s.names = append(s.names, identity.TeamSubject(id))
	}
	slices.Sort(s.names)
	slices.Sort(s.orgs)
	return s
}

// newObjectRights returns nil for an object without restriction and organization. A queue has no organization. Of
// several grants to one subject the highest counts.
func newObjectRights(o identity.ObjectRights) *objectRights {
	rights := &objectRights{org: o.Org, restricted: o.Restricted}
	if _, queue := access.QueueName(o.Object); queue {
		rights.org = ""
	}
	if rights.org == "" && !rights.restricted && len(o.Grants) == 0 {
		return nil
	}
	rights.grants = slices.DeleteFunc(slices.Clone(o.Grants), func(g identity.SubjectLevel) bool {
		return !g.Level.Valid()
	})
	slices.SortFunc(rights.grants, func(a, b identity.SubjectLevel) int {
		switch c := strings.Compare(a.Subject, b.Subject); {
		case c != 0:
			return c
		case a.Level == b.Level:
			return 0
		case a.Level.Covers(b.Level): // the higher one first, because the first one stays
			return -1
		default:
			return 1
		}
	})
	rights.grants = slices.CompactFunc(rights.grants, func(a, b identity.SubjectLevel) bool {
		return a.Subject == b.Subject
	})
	return rights
}

// level returns the highest level that the object's grants give any of the subjects. It walks the shorter of the two
// lists and searches the longer one, so that neither many teams nor many grants are expensive.
func (o objectRights) level(subjects []string) access.Level {
	best := access.None
	if len(o.grants) <= len(subjects) {
		for _, g := range o.grants {
			if _, found := slices.BinarySearch(subjects, g.Subject); found && !best.Covers(g.Level) {
				best = g.Level
			}
		}
		return best
	}
	for _, s := range subjects {
		i, found := slices.BinarySearchFunc(o.grants, s, bySubject)
		if found && !best.Covers(o.grants[i].Level) {
			best = o.grants[i].Level
		}
	}
	return best
}

func bySubject(g identity.SubjectLevel, subject string) int {
	return strings.Compare(g.Subject, subject)
}
