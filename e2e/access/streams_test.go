package access

import (
	"bufio"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// bound is how many lines a run that prints one each second may print between the loss of a reader's right and the end
// of the reader's stream: twice the documented time, since a busy machine delays the run as well.
const bound = 2 * 15

// viewing is a live stream that a test reads.
type viewing struct {
	lastUpdate atomic.Int64 // number of events; comments do not count
	ended      atomic.Bool
}

// view opens a run's stream by a ticket or by the token itself, and keeps reading. It returns after the first event.
func view(t *testing.T, c harness.Client, run string, ticket bool) *viewing {
	t.Helper()
	path := "/v1/runs/" + run + "/stream"
	if ticket {
		path += "?ticket=" + c.Ticket(run)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.URL+path, nil)
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
	v := &viewing{}
	go func() {
		for sc := bufio.NewScanner(resp.Body); sc.Scan(); {
			if strings.HasPrefix(sc.Text(), "data:") {
				v.lastUpdate.Add(1)
			}
		}
		_ = resp.Body.Close()
		v.ended.Store(true)
	}()
	harness.Eventually(t, time.Minute, "the stream of "+run+" tells something", func() bool {
		return v.lastUpdate.Load() > 0
	})
	return v
}

// loss is one way to lose the right to a stream.
type loss struct {
	name  string
	since int64 // events of the first other stream at that time
	*viewing
}

// losses opens streams at the server off and revokes their rights through the server on, each in another way. It
// returns the streams that continue: one of a reader who keeps the right, and one of an admin.
func losses(t *testing.T, on, off *harness.Server) (lost []loss, kept []*viewing) {
	t.Helper()
	running := func(queue, command string) string {
		r := on.Submit(harness.Body{"tool": "bash", "command": command, "queue": queue})
		on.Until(r.ID, 30*time.Second, func(r harness.Run) bool { return r.Status == "running" })
		return r.ID
	}
	const prints = "while :; do echo on; sleep 1; done"
	vault, open, quiet := running("vault", prints), running("open", prints), running("vault", "sleep 600")
	here := func(p account) harness.Client { return off.As(p.Token) }
	member := func(name string) account { return join(t, on, name, "viewer") }
	grantIDs := map[string]string{}
	granted := func(name string) account {
		p := member(name)
		grantIDs[name] = grant(t, on, "user:"+p.ID, "queue:vault", "read")
		return p
	}
	owner, holder, silent, riser, leaver := granted("owner"), granted("holder"), granted("silent"), granted("riser"),
		granted("leaver")
	mate, guest := member("mate"), member("guest")
	team := made(t, on.Client, "/v1/teams", harness.Body{"name": "Vault"})
	grant(t, on, "team:"+team, "queue:vault", "use")
	want(t, on.Client, http.MethodPost, "/v1/teams/"+team+"/members", harness.Body{"user_id": mate.ID}, 201)

	limits := func() harness.Body {
		return harness.Body{"scopes": []string{"read"}, "networks": []string{"127.0.0.0/8", "::1/128"}}
	}
	owner.Client = on.As(mint(t, on, owner.ID, limits()))
	admin := off.As(issueToken(t, on.Client, limits()).Token)
	kept = []*viewing{view(t, here(owner), vault, true), view(t, admin, open, false)}
	parent := issueToken(t, on.Client, harness.Body{})
	ola := granted("ola")
	want(t, on.Client, http.MethodPut, "/v1/users/"+ola.ID, harness.Body{"password": password}, 200)
	asking, _ := login(t, on.Client, "ola", password)
	followed, _ := login(t, on.Client, "ola", password)
	for _, c := range []struct {
		name   string
		who    account
		run    string
		ticket bool
		lose   func()
	}{
		{"the grant is deleted", holder, vault, true, func() {
			want(t, on.Client, http.MethodDelete, "/v1/grants/"+grantIDs["holder"], nil, 204)
		}},
		{"the run prints nothing", silent, quiet, false, func() {
			want(t, on.Client, http.MethodDelete, "/v1/grants/"+grantIDs["silent"], nil, 204)
		}},
		{"the reader leaves the team", mate, vault, false, func() {
			want(t, on.Client, http.MethodDelete, "/v1/teams/"+team+"/members/"+mate.ID, nil, 204)
		}},
		{"somebody else is given the open queue", guest, open, true, func() {
			grant(t, on, "user:"+owner.ID, "queue:open", "use")
		}},
		{"the role is another one", riser, vault, true, func() {
			want(t, on.Client, http.MethodPut, "/v1/users/"+riser.ID, harness.Body{"role": "operator"}, 200)
		}},
		{"the token that made the reader's is revoked", account{Client: own(t, on.As(parent.Token))}, vault, false, func() {
			want(t, on.Client, http.MethodDelete, "/v1/tokens/"+parent.ID, nil, 204)
		}},
		{"the password is another one", account{Client: on.As(followed.Token)}, vault, true, func() {
			want(t, on.As(asking.Token), http.MethodPut, "/v1/auth/me/password",
				harness.Body{"current": password, "new": "another long secret"}, 200)
		}},
		{"the account is deleted", leaver, vault, true, func() {
			want(t, on.Client, http.MethodDelete, "/v1/users/"+leaver.ID, nil, 204)
		}},
	} {
		v := view(t, here(c.who), c.run, c.ticket)
		c.lose()
		lost = append(lost, loss{c.name, kept[0].lastUpdate.Load(), v})
	}
	return lost, kept
}

// TestStreamsEndWithTheirGrant revokes rights to followed runs in every way that leaves the reader's token unchanged,
// on the same server and through another one. Other streams continue.
func TestStreamsEndWithTheirGrant(t *testing.T) {
	t.Parallel()
	flags := []string{"--queue", "vault", "--queue", "open", "--executors", "3", "--drain-timeout", "1s"}
	check := func(t *testing.T, on, off *harness.Server) {
		t.Helper()
		lost, kept := losses(t, on, off)
		for _, l := range lost {
			harness.Eventually(t, 5*time.Minute, "the stream ends: "+l.name, func() bool {
				return l.ended.Load() || kept[0].ended.Load() || kept[0].lastUpdate.Load() > l.since+bound
			})
			if !l.ended.Load() {
				t.Errorf("%s: the stream goes on", l.name)
			}
		}
		for i, v := range kept {
			mark := v.lastUpdate.Load()
			harness.Eventually(t, time.Minute, "a stream whose right holds goes on", func() bool {
				return v.ended.Load() || v.lastUpdate.Load() > mark
			})
			if v.ended.Load() {
				t.Errorf("stream %d ended although its right holds", i)
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
		url := harness.Postgres(t)
		a := harness.Start(t, harness.Options{DB: url, Flags: flags})
		b := harness.Start(t, harness.Options{DB: url, Flags: []string{"--executors", "0"}, Admin: a.Admin})
		check(t, a, b)
	})
}
