package access

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
)

// The documented bound within which a live stream ends once its reader's right has, and how much later a busy machine may
// show it.
const (
	bound = 15 * time.Second
	slack = 10 * time.Second
)

// viewing is a live stream that somebody reads.
type viewing struct {
	mu    sync.Mutex
	last  time.Time // of what it told: a comment tells nothing
	ended chan time.Time
}

// view opens a run's stream by a ticket or by the token itself, and reads on. It returns once something was told.
func view(t *testing.T, c harness.Client, run string, ticket bool) *viewing {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*(bound+slack))
	path := "/v1/runs/" + run + "/stream"
	if ticket {
		path += "?ticket=" + c.Ticket(run)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !ticket {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %v %v", path, resp, err)
	}
	v, told := &viewing{ended: make(chan time.Time, 1)}, make(chan struct{})
	var once sync.Once
	go func() {
		defer cancel()
		for sc := bufio.NewScanner(resp.Body); sc.Scan(); {
			if strings.HasPrefix(sc.Text(), "data:") {
				v.mu.Lock()
				v.last = time.Now()
				v.mu.Unlock()
				once.Do(func() { close(told) })
			}
		}
		_ = resp.Body.Close()
		v.ended <- time.Now()
	}()
	select {
	case <-told:
	case at := <-v.ended:
		t.Fatalf("the stream of %s ended at once: %s", run, at)
	}
	return v
}

func (v *viewing) told() time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.last
}

// loss is one way to lose the right to a stream.
type loss struct {
	name  string
	since time.Time
	*viewing
}

// losses opens streams at the server off and takes their rights away through the server on, each in another way. It returns
// the streams that go on: one of somebody whose right holds, and one of an admin.
func losses(t *testing.T, on, off *harness.Server) (lost []loss, kept []*viewing) {
	t.Helper()
	running := func(queue, command string) string {
		r := on.Submit(harness.Body{"tool": "bash", "command": command, "queue": queue})
		on.Until(r.ID, 30*time.Second, func(r harness.Run) bool { return r.Status == "running" })
		return r.ID
	}
	const prints = "while :; do echo on; sleep 1; done"
	vault, open, quiet := running("vault", prints), running("open", prints), running("vault", "sleep 600")
	here := func(p person) harness.Client { return off.As(p.Token) }
	member := func(name string) person { return join(t, on, name, "viewer") }
	given := map[string]string{}
	granted := func(name string) person {
		p := member(name)
		given[name] = grant(t, on, "user:"+p.ID, "queue:vault", "read")
		return p
	}
	keeper, holder, silent, riser, leaver := granted("keeper"), granted("holder"), granted("silent"), granted("riser"), granted("leaver")
	mate, guest := member("mate"), member("guest")
	team := made(t, on.Client, "/v1/teams", harness.Body{"name": "Vault"})
	grant(t, on, "team:"+team, "queue:vault", "use")
	want(t, on.Client, http.MethodPost, "/v1/teams/"+team+"/members", harness.Body{"user_id": mate.ID}, 201)

	kept = []*viewing{view(t, here(keeper), vault, true), view(t, off.Client, open, false)}
	for _, c := range []struct {
		name   string
		who    person
		run    string
		ticket bool
		lose   func()
	}{
		{"the grant is deleted", holder, vault, true, func() { want(t, on.Client, http.MethodDelete, "/v1/grants/"+given["holder"], nil, 204) }},
		{"the run prints nothing", silent, quiet, false, func() { want(t, on.Client, http.MethodDelete, "/v1/grants/"+given["silent"], nil, 204) }},
		{"the reader leaves the team", mate, vault, false, func() {
			want(t, on.Client, http.MethodDelete, "/v1/teams/"+team+"/members/"+mate.ID, nil, 204)
		}},
		{"somebody else is given the open queue", guest, open, true, func() { grant(t, on, "user:"+keeper.ID, "queue:open", "use") }},
		{"the role is another one", riser, vault, true, func() {
			want(t, on.Client, http.MethodPut, "/v1/users/"+riser.ID, harness.Body{"role": "operator"}, 200)
		}},
		{"the account is deleted", leaver, vault, true, func() { want(t, on.Client, http.MethodDelete, "/v1/users/"+leaver.ID, nil, 204) }},
	} {
		v := view(t, here(c.who), c.run, c.ticket)
		c.lose()
		lost = append(lost, loss{c.name, time.Now(), v})
	}
	return lost, kept
}

// TestStreamsEndWithTheirGrant takes rights to followed runs away in every way that leaves the reader's token as it was,
// on one server and through another one. Others' streams go on.
func TestStreamsEndWithTheirGrant(t *testing.T) {
	t.Parallel()
	flags := []string{"--queue", "vault", "--queue", "open", "--executors", "3", "--drain-timeout", "1s"}
	check := func(t *testing.T, on, off *harness.Server) {
		t.Helper()
		lost, kept := losses(t, on, off)
		for _, l := range lost {
			at := <-l.ended
			after, told := at.Sub(l.since), l.told().Sub(l.since)
			t.Logf("%s: told for %s, ended after %s", l.name, told.Round(time.Millisecond), after.Round(time.Millisecond))
			if after > bound+slack {
				t.Errorf("%s: the stream ended after %s", l.name, after)
			}
			if told > bound+slack/2 {
				t.Errorf("%s: the stream told something after %s", l.name, told)
			}
		}
		for i, v := range kept {
			mark := time.Now()
			harness.Eventually(t, time.Minute, "a stream whose right holds goes on", func() bool { return v.told().After(mark) })
			select {
			case <-v.ended:
				t.Errorf("stream %d ended although its right holds", i)
			default:
			}
		}
	}
	t.Run("one server", func(t *testing.T) {
		t.Parallel()
		s := harness.Start(t, harness.Options{Flags: flags})
		check(t, s, s)
	})
	t.Run("through another server", func(t *testing.T) {
		t.Parallel()
		url := dbtest.Fresh(t, db.Postgres, nil)
		a := harness.Start(t, harness.Options{DB: url, Flags: flags})
		b := harness.Start(t, harness.Options{DB: url, Flags: []string{"--executors", "0"}, Admin: a.Admin})
		check(t, a, b)
	})
}
