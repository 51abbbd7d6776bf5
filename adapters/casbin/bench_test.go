package casbin

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
)

const manyGrants = 100_000

// large returns a store of 100,000 grants: 50,000 objects with two each, one of them for a team; 1,000 accounts in 10
// of 200 teams each; 100 organizations.
func large() *rightsStore {
	w := newStore()
	for i := range manyGrants / 2 {
		w.objects[numbered(i)] = identity.ObjectRights{Object: numbered(i), Org: fmt.Sprintf("org_%026d", i%100),
			Restricted: true,
			Grants: []identity.SubjectLevel{
				{Subject: identity.UserSubject(userID(i % 1000)), Level: access.Use},
				{Subject: identity.TeamSubject(fmt.Sprintf("team_%026d", i%200)), Level: access.Read},
			}}
	}
	for i := range 1000 {
		u := identity.UserRights{UserID: userID(i), Admin: []string{fmt.Sprintf("org_%026d", i%100)}}
		for team := range 10 {
			u.Teams = append(u.Teams, fmt.Sprintf("team_%026d", (i+team)%200))
		}
		w.users[u.UserID] = u
	}
	w.version = manyGrants
	w.oldest = manyGrants
	return w
}

func numbered(i int) string { return fmt.Sprintf("prj_%026d", i) }

func userID(i int) string { return fmt.Sprintf("usr_%026d", i) }

// crowded returns a store of one object with 100,000 grants, and an account in 100 teams.
func crowded() *rightsStore {
	w := newStore()
	o := identity.ObjectRights{Object: numbered(0), Restricted: true}
	for i := range manyGrants {
		o.Grants = append(o.Grants, identity.SubjectLevel{Subject: identity.UserSubject(userID(i)), Level: access.Use})
	}
	u := identity.UserRights{UserID: userID(manyGrants)}
	for i := range 100 {
		u.Teams = append(u.Teams, fmt.Sprintf("team_%026d", i))
	}
	w.objects[o.Object], w.users[u.UserID] = o, u
	return w
}

// BenchmarkAuthorize measures decisions with 100,000 grants. The target is 50 microseconds each.
func BenchmarkAuthorize(b *testing.B) {
	ask := func(name string, a *Authorizer, p identity.Principal, n identity.Need, want bool) {
		if err := a.Authorize(b.Context(), p, n); (err == nil) != want {
			b.Fatal(name, err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = a.Authorize(b.Context(), p, n)
			}
		})
		b.Run(name+" on all cores", func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					_ = a.Authorize(b.Context(), p, n)
				}
			})
		})
	}
	a := setup(b, Config{}, large())
	one := as(userID(7), identity.Operator, manyGrants)
	needs := func(act, name string) identity.Need {
		return identity.Need{Kind: identity.KindOf(name), Act: act, Object: name}
	}
	ask("role", a, one, identity.Need{Kind: "run", Act: "submit"}, true)
	ask("role denied", a, one, identity.Need{Kind: "import", Act: "write"}, false)
	ask("admin", a, as(userID(7), identity.Admin, 0), needs("manage", numbered(7)), true)
	ask("open", a, one, needs("use", "prj_without_grants"), true)
	ask("grant", a, one, needs("use", numbered(1007)), true)
	ask("team", a, one, needs("read", numbered(208)), true)
	ask("organization", a, one, needs("manage", numbered(107)), true)
	ask("denied", a, one, needs("manage", numbered(30)), false)
	ask("queue denied", a, one, needs("manage", "queue:without_grants"), false)
	c := setup(b, Config{}, crowded())
	ask("grant on a crowded object", c, as(userID(77777), identity.Operator, 0), needs("use", numbered(0)), true)
	ask("100 teams on a crowded object", c, as(userID(manyGrants), identity.Operator, 0), needs("use", numbered(0)), false)
}

// BenchmarkLoad measures the time and memory for loading the index with 100,000 grants, including the names from the
// store.
func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		before := heap()
		r, err := large().LoadRights(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		x := newIndex()
		x.load(r)
		b.StopTimer()
		r = identity.Rights{}
		b.ReportMetric(float64(heap()-before)/(1<<20), "MiB")
		runtime.KeepAlive(x)
		b.StartTimer()
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// BenchmarkCatchUp measures a decision that reads one change with 100,000 grants.
func BenchmarkCatchUp(b *testing.B) {
	w := large()
	a := setup(b, Config{}, w)
	p := as(userID(7), identity.Operator, manyGrants)
	n := identity.Need{Kind: "project", Act: "use", Object: numbered(1007)}
	if err := a.Authorize(b.Context(), p, n); err != nil {
		b.Fatal(err)
	}
	o := w.objects[numbered(1007)]
	b.ReportAllocs()
	for b.Loop() {
		w.forget()
		p.Version = w.put(o)
		if err := a.Authorize(b.Context(), p, n); err != nil {
			b.Fatal(err)
		}
	}
	if l := w.loads.Load(); l != 1 {
		b.Errorf("everything was loaded %d times", l)
	}
}
