package casbin

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
)

// nothing is the version of an index that was never loaded.
const nothing = -1

// person is what is known of an account. It is never changed, only replaced.
type person struct {
	subjects []string // the account and its teams as grants name them, in order
	orgs     []string // the organizations that it administers, in order
}

// thing is what is known of an object. It is never changed, only replaced.
type thing struct {
	org        string // empty: none
	restricted bool
	grants     []identity.SubjectLevel // by subject, one for each
}

// index holds all rights in memory. A change costs what it names, not what there is: people and things are replaced one
// by one under the lock, and readers take theirs from under it.
type index struct {
	version atomic.Int64

	mu         sync.RWMutex
	people     map[string]*person
	things     map[string]*thing
	restricted int // things that are
}

func newIndex() *index {
	x := &index{}
	x.version.Store(nothing)
	return x
}

// knows reports whether the index holds all changes up to a version.
func (x *index) knows(version int64) bool { return x.version.Load() >= max(version, 0) }

// about returns an account and an object as they are at one moment.
func (x *index) about(userID, name string) (person, thing) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	what := thing{}
	if t := x.things[name]; t != nil {
		what = *t
	}
	return x.person(userID), what
}

// scope returns an account and how many objects are restricted.
func (x *index) scope(userID string) (person, int) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.person(userID), x.restricted
}

func (x *index) person(userID string) person {
	if p := x.people[userID]; p != nil {
		return *p
	}
	return person{subjects: []string{identity.UserSubject(userID)}}
}

// load replaces everything.
func (x *index) load(r identity.Rights) {
	people, things, restricted := make(map[string]*person, len(r.Users)), make(map[string]*thing, len(r.Objects)), 0
	subjects := make(map[string]string)
	for _, u := range r.Users {
		if p := newPerson(u); p != nil {
			people[u.UserID] = p
		}
	}
	for _, o := range r.Objects {
		t := newThing(o)
		if t == nil {
			continue
		}
		things[o.Object] = t
		restricted += count(t)
		for i, g := range t.grants { // the same few names stand in many grants, and a store returns each anew
			if known, ok := subjects[g.Subject]; ok {
				t.grants[i].Subject = known
			} else {
				subjects[g.Subject] = g.Subject
			}
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.people, x.things, x.restricted = people, things, restricted
	x.version.Store(r.Version)
}

// apply replaces what changed, and forgets what has become empty.
func (x *index) apply(r identity.Rights) {
	people, things := make([]*person, len(r.Users)), make([]*thing, len(r.Objects))
	for i, u := range r.Users {
		people[i] = newPerson(u)
	}
	for i, o := range r.Objects {
		things[i] = newThing(o)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for i, u := range r.Users {
		replace(x.people, u.UserID, people[i])
	}
	for i, o := range r.Objects {
		x.restricted += count(things[i]) - count(x.things[o.Object])
		replace(x.things, o.Object, things[i])
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

func count(t *thing) int {
	if t != nil && t.restricted {
		return 1
	}
	return 0
}

// newPerson returns nil for an account of which there is nothing to know.
func newPerson(u identity.UserRights) *person {
	if len(u.Teams) == 0 && len(u.Admin) == 0 {
		return nil
	}
	p := &person{subjects: make([]string, 0, len(u.Teams)+1), orgs: slices.Clone(u.Admin)}
	p.subjects = append(p.subjects, identity.UserSubject(u.UserID))
	for _, id := range u.Teams {
		p.subjects = append(p.subjects, identity.TeamSubject(id))
	}
	slices.Sort(p.subjects)
	slices.Sort(p.orgs)
	return p
}

// newThing returns nil for an object of which there is nothing to know. A queue belongs to no organization. Of several
// grants to one subject the best counts.
func newThing(o identity.ObjectRights) *thing {
	t := &thing{org: o.Org, restricted: o.Restricted}
	if _, queue := access.QueueName(o.Object); queue {
		t.org = ""
	}
	if t.org == "" && !t.restricted && len(o.Grants) == 0 {
		return nil
	}
	t.grants = slices.DeleteFunc(slices.Clone(o.Grants), func(g identity.SubjectLevel) bool { return !g.Level.Valid() })
	slices.SortFunc(t.grants, func(a, b identity.SubjectLevel) int {
		switch c := strings.Compare(a.Subject, b.Subject); {
		case c != 0:
			return c
		case a.Level == b.Level:
			return 0
		case a.Level.Covers(b.Level): // the better one first: it is the one that stays
			return -1
		default:
			return 1
		}
	})
	t.grants = slices.CompactFunc(t.grants, func(a, b identity.SubjectLevel) bool { return a.Subject == b.Subject })
	return t
}

// level returns the best that the object's grants give any of the subjects. It walks the shorter of the two lists and
// searches the longer one, so that neither a great team nor a much granted object is dear.
func (t thing) level(subjects []string) access.Level {
	best := access.None
	if len(t.grants) <= len(subjects) {
		for _, g := range t.grants {
			if _, found := slices.BinarySearch(subjects, g.Subject); found && !best.Covers(g.Level) {
				best = g.Level
			}
		}
		return best
	}
	for _, s := range subjects {
		i, found := slices.BinarySearchFunc(t.grants, s, bySubject)
		if found && !best.Covers(t.grants[i].Level) {
			best = t.grants[i].Level
		}
	}
	return best
}

func bySubject(g identity.SubjectLevel, subject string) int {
	return strings.Compare(g.Subject, subject)
}
