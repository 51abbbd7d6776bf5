package secretstest

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/tx"
)

// env holds the stores of a case and makes records for them.
type env struct {
	Stores
	n atomic.Int64
}

// epoch is the creation time of a case's records.
var epoch = time.Date(2025, 3, 4, 5, 6, 7, 891011000, time.UTC)

// elsewhere is a zone with an odd offset. Stores keep points in time, not zones.
var elsewhere = time.FixedZone("elsewhere", 5*3600+1800)

// odd is a text that survives only if no layer interprets it.
const odd = "ünï 'q' \"d\" `b` ? ?? $1 %_ \\ \\n <&> {\"a\":1} 漢字 \U0001F600\u2028\n\ttab"

// crowd is the number of concurrent units in a race.
const crowd = 8

func at(d time.Duration) time.Time { return epoch.Add(d) }

// bytesOf are n bytes of every value, which differ from those of another seed.
func bytesOf(seed, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(i + seed)
	}
	return append(out, fmt.Sprintf("'%d'", seed)...)
}

// long is a text that exceeds usual limits of columns.
var long = strings.Repeat("漢'\"\\", 2_000)

// do runs fn in a unit of work and returns its error.
func (e *env) do(t *testing.T, fn func(ctx context.Context) error) error {
	t.Helper()
	return e.Unit.Do(t.Context(), fn)
}

// must runs fn in a unit of work that may not fail.
func (e *env) must(t *testing.T, fn func(ctx context.Context) error) {
	t.Helper()
	mustDo(t, e.Unit, fn)
}

func mustDo(t *testing.T, u tx.Unit, fn func(ctx context.Context) error) {
	t.Helper()
	if err := u.Do(t.Context(), fn); err != nil {
		t.Fatalf("unit of work: %v", err)
	}
}

// refused runs fn in a unit of work that must end with the fault.
func (e *env) refused(t *testing.T, code fault.Code, fn func(ctx context.Context) error) {
	t.Helper()
	wantFault(t, e.do(t, fn), code)
}

func wantFault(t *testing.T, err error, code fault.Code) {
	t.Helper()
	if !code.Is(err) {
		t.Fatalf("error is %v, want %s", err, code.Name)
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// asBytes compares bytes at once: there are many.
var asBytes = gocmp.FilterValues(func(a, b []byte) bool { return len(a)+len(b) > 0 }, gocmp.Comparer(bytes.Equal))

// same compares two values: times as points in time, missing lists as empty ones.
func same(t *testing.T, what string, want, got any) {
	t.Helper()
	// Equal values need no diff, which takes long for large values.
	if reflect.DeepEqual(want, got) {
		return
	}
	if d := gocmp.Diff(want, got, cmpopts.EquateEmpty(), asBytes); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// together runs fn n times at once and waits for all.
func together(n int, fn func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			fn(i)
		})
	}
	close(start)
	wg.Wait()
}

// wins counts the successes of n concurrent units. The others must get the fault.
func (e *env) wins(t *testing.T, n int, loser fault.Code, fn func(ctx context.Context, i int) error) int {
	t.Helper()
	var won atomic.Int64
	together(n, func(i int) {
		if err := e.do(t, func(ctx context.Context) error { return fn(ctx, i) }); err == nil {
			won.Add(1)
		} else if !loser.Is(err) {
			t.Errorf("a loser gets %v, want %s", err, loser.Name)
		}
	})
	return int(won.Load())
}

// id makes an id that is unique in the case. Ids sort in the order of their creation.
func (e *env) id(p ids.Prefix) string { return fmt.Sprintf("%s%026d", p, e.n.Add(1)) }

// record makes a minimal record that reads back equal from a store.
func (e *env) record(p ids.Prefix, name string) object.Record {
	id := e.id(p)
	if name == "" {
		name = "name of " + id
	}
	return object.Record{ID: id, Name: name, CreatedBy: "usr_who", CreatedAt: epoch, UpdatedAt: epoch, Revision: 1}
}

func (e *env) addOrg(t *testing.T) string {
	t.Helper()
	id := e.id(ids.Org)
	e.must(t, func(ctx context.Context) error {
		return e.Orgs.InsertOrg(ctx, identity.Org{ID: id, Name: "name of " + id, CreatedAt: epoch, CreatedBy: "usr_who"})
	})
	return id
}

// addTeam stores a team and returns it as a subject of grants.
func (e *env) addTeam(t *testing.T) string {
	t.Helper()
	id := e.id(ids.Team)
	e.must(t, func(ctx context.Context) error {
		return e.Teams.InsertTeam(ctx, identity.Team{ID: id, Name: "name of " + id, CreatedAt: epoch, CreatedBy: "usr_who"})
	})
	return identity.TeamSubject(id)
}

// know registers an object; org may be empty.
func (e *env) know(t *testing.T, id, org string) {
	t.Helper()
	e.must(t, func(ctx context.Context) error { return e.Objects.PutObject(ctx, identity.Object{ID: id, Org: org}) })
}

func (e *env) grant(t *testing.T, subject, object string) {
	t.Helper()
	g := identity.Grant{ID: e.id(ids.Grant), Subject: subject, Object: object, Level: access.Read, CreatedAt: epoch,
		CreatedBy: "usr_who"}
	e.must(t, func(ctx context.Context) error {
		_, err := e.Grants.InsertGrant(ctx, g)
		return err
	})
}
