package threats

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// recheck is the stated bound within which a stream ends once its reader's right has: streams ask anew every 15 s.
const recheck = 15*time.Second + 10*time.Second

// TestTicketsExpire is T23: a ticket is of no use after its time, nor for another run, and showing it there uses it up.
func TestTicketsExpire(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		r, other := s.Await(s.Submit(script("true")).ID), s.Await(s.Submit(script("true")).ID)
		open := func(run, ticket string) int {
			return s.As("").Do(http.MethodGet, "/v1/runs/"+run+"/stream?ticket="+ticket, nil).Status
		}
		late := s.Ticket(r.ID)
		change(t, s.DB, "UPDATE stream_tickets SET expires_at = ?", past)
		if got := open(r.ID, late); got != http.StatusUnauthorized {
			t.Errorf("a ticket after its time: %d", got)
		}
		if got := open(r.ID, s.Ticket(r.ID)); got != http.StatusOK {
			t.Errorf("a fresh ticket: %d", got)
		}
		leaked := s.Ticket(r.ID)
		for _, run := range []string{other.ID, r.ID} {
			if got := open(run, leaked); got != http.StatusUnauthorized {
				t.Errorf("a ticket that was shown for another run: %d", got)
			}
		}
		if strings.Contains(s.Output(), late) || strings.Contains(s.Output(), leaked) {
			t.Error("a ticket is in the server's log")
		}
	})
}

// TestStreamsEndWithTheRight is T23: a stream of a token ends within its bound once the token is revoked, and one of a
// ticket once its account is gone.
func TestStreamsEndWithTheRight(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Flags: []string{"--drain-timeout", "1s"}})
	r := s.Submit(script("while :; do echo on; sleep 1; done"))
	var made struct {
		ID    string `json:"id"`
		Token string `json:"token"`
	}
	harness.Answer{Body: []byte(command(t, s, "token", "new", "--db", s.DB, "--name", "watcher", "--json"))}.JSON(t, &made)
	change(t, s.DB, "INSERT INTO users (id, username, role, created_at) SELECT 'usr_leaver', 'leaver', 'viewer', created_at FROM users")
	ticket, orphan := s.Ticket(r.ID), s.Ticket(r.ID)
	change(t, s.DB, "UPDATE stream_tickets SET account = 'usr_leaver'")
	follow := func(path, token string) <-chan time.Duration {
		ctx, cancel := context.WithTimeout(t.Context(), 2*recheck)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("GET %s: %v %v", path, resp, err)
		}
		ended, from := make(chan time.Duration, 1), time.Now()
		go func() {
			defer cancel()
			for buf := make([]byte, 4096); err == nil; {
				_, err = resp.Body.Read(buf)
			}
			_ = resp.Body.Close()
			ended <- time.Since(from)
		}()
		return ended
	}
	streams := map[string]<-chan time.Duration{
		"a revoked token's":       follow("/v1/runs/"+r.ID+"/stream", made.Token),
		"a deleted account's":     follow("/v1/runs/"+r.ID+"/stream?ticket="+ticket, ""),
		"someone else's goes on:": follow("/v1/runs/"+r.ID+"/stream", s.Token),
	}
	command(t, s, "token", "revoke", "--db", s.DB, made.ID)
	change(t, s.DB, "DELETE FROM users WHERE id = 'usr_leaver'")
	if a := s.As("").Do(http.MethodGet, "/v1/runs/"+r.ID+"/stream?ticket="+orphan, nil); a.Status != http.StatusUnauthorized {
		t.Errorf("a ticket of a deleted account: %d", a.Status)
	}
	if a := s.As(made.Token).Do(http.MethodGet, "/v1/runs", nil); a.Status != http.StatusUnauthorized {
		t.Errorf("the revoked token: %d", a.Status)
	}
	for _, name := range []string{"a revoked token's", "a deleted account's"} {
		after := <-streams[name]
		if t.Logf("%s stream ended after %s", name, after); after > recheck {
			t.Errorf("%s stream ended after %s", name, after)
		}
	}
	select {
	case after := <-streams["someone else's goes on:"]:
		t.Errorf("another stream ended after %s", after)
	default:
	}
}

// TestWhatIsNoTokenIsRefused is T24 and T30: nothing but the whole token opens anything: not its parts, its hash, its
// id, nor what a query would match. That malformed ones cost no look-up is shown by modules/identity.
func TestWhatIsNoTokenIsRefused(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		sum := sha256.Sum256([]byte(s.Token))
		var made struct {
			ID string `json:"id"`
		}
		harness.Answer{Body: []byte(command(t, s, "token", "new", "--db", s.DB, "--name", "x", "--json"))}.JSON(t, &made)
		for _, bad := range []string{
			"", " ", "%", "_", "writ_", "*", "null", "undefined", "admin", made.ID, hex.EncodeToString(sum[:]),
			s.Token[:len(s.Token)-1], s.Token + "x", strings.ToUpper(s.Token), strings.Replace(s.Token, "writ_", "WRIT_", 1), s.Token + "," + s.Token,
			s.Token[:5] + "%" + s.Token[6:], "' OR 1=1 --", "writ_" + strings.Repeat("0", 32) + "_000000", strings.Repeat("a", 30_000), "Bearer " + s.Token,
		} {
			header := "Bearer " + bad
			a, err := s.As("").Try(http.MethodGet, "/v1/runs", nil, "Authorization", header)
			if err != nil {
				t.Errorf("%q: %v", bad, err)
			} else if a.Status != http.StatusUnauthorized || a.Header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%q: %d %v", bad, a.Status, a.Header)
			}
		}
		for _, header := range []string{"Basic " + s.Token, s.Token, "Token " + s.Token} {
			if a := s.As("").Do(http.MethodGet, "/v1/runs", nil, "Authorization", header); a.Status != http.StatusUnauthorized {
				t.Errorf("%.8s...: %d", header, a.Status)
			}
		}
		if a := s.As("").Do(http.MethodGet, "/v1/runs?token="+s.Token+"&access_token="+s.Token, nil); a.Status != http.StatusUnauthorized {
			t.Errorf("a token in the address: %d", a.Status)
		}
		if n := strings.Count(s.Output(), s.Token); n != 1 {
			t.Errorf("the token was printed %d times", n)
		}
	})
}
