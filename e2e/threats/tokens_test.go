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

// recheck is the documented time within which a stream ends after its reader's right, plus a margin for a busy machine.
const recheck = 15*time.Second + 10*time.Second

// TestTicketsExpire: a ticket is invalid after its time and for another run, and presenting it for another run
// uses it up.
// Keeps T23.
func TestTicketsExpire(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		r, other := s.Await(s.Submit(script("true")).ID), s.Await(s.Submit(script("true")).ID)
		open := func(run, ticket string) int {
			return s.As("").Do(http.MethodGet, "/v1/runs/"+run+"/stream?ticket="+ticket, nil).Status
		}
		late := s.Ticket(r.ID)
		s.Alter("UPDATE stream_tickets SET expires_at = ?", -time.Second)
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

// following opens and reads a stream, and sends how long after its opening it ended.
func following(t *testing.T, c harness.Client, path string) <-chan time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*recheck)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
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

// made returns the output of a request or a command.
type made struct {
	ID    string `json:"id"`
	Token string `json:"token"`
}

// TestStreamsEndWithTheRight: a stream ends within its bound after the token that opened it, directly or by a
// ticket, is revoked or has expired, or its account is deleted. An unused ticket of that token is then invalid, even
// if the account has another token.
// Keeps T23.
func TestStreamsEndWithTheRight(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL, Flags: []string{"--drain-timeout", "1s"}})
		stream := "/v1/runs/" + s.Submit(script("while :; do echo on; sleep 1; done")).ID + "/stream"
		post := func(path string, body harness.Body) (m made) {
			t.Helper()
			a := s.Do(http.MethodPost, path, body)
			if a.JSON(t, &m); a.Status != http.StatusCreated {
				t.Fatalf("POST %s: %d %s", path, a.Status, a.Body)
			}
			return m
		}
		var revoked made
		harness.Answer{Body: []byte(command(t, s, "token", "new", "--db", s.DB, "--name", "watcher", "--json"))}.JSON(t,
			&revoked)
		leaver, short := post("/v1/users", harness.Body{"username": "leaver", "role": "viewer"}),
			post("/v1/users", harness.Body{"username": "short", "role": "viewer"})
		left := post("/v1/tokens", harness.Body{"name": "x", "user_id": leaver.ID})
		stays := post("/v1/tokens", harness.Body{"name": "x", "user_id": short.ID})
		ticket := func(token string) string {
			t.Helper()
			return stream + "?ticket=" + s.As(token).Ticket(strings.Split(stream, "/")[3])
		}
		expired := post("/v1/tokens", harness.Body{"name": "y", "user_id": short.ID, "expires_in": 4})
		orphans := map[string]string{"an expired token": ticket(expired.Token), "a revoked token": ticket(revoked.Token),
			"a deleted account": ticket(left.Token)}
		over := map[string]<-chan time.Duration{
			"an expired token's ticket":  following(t, s.As(""), ticket(expired.Token)),
			"an expired token":           following(t, s.As(expired.Token), stream),
			"a revoked token":            following(t, s.As(revoked.Token), stream),
			"a revoked token's ticket":   following(t, s.As(""), ticket(revoked.Token)),
			"a deleted account's ticket": following(t, s.As(""), ticket(left.Token)),
		}
		goes := map[string]<-chan time.Duration{
			"somebody else":          following(t, s.As(s.Token), stream),
			"another token's ticket": following(t, s.As(""), ticket(stays.Token)),
		}
		command(t, s, "token", "revoke", "--yes", "--db", s.DB, revoked.ID)
		if a := s.Do(http.MethodDelete, "/v1/users/"+leaver.ID, nil); a.Status != http.StatusNoContent {
			t.Fatalf("delete: %d %s", a.Status, a.Body)
		}
		harness.Eventually(t, recheck, "a token expires", func() bool {
			return s.As(expired.Token).Do(http.MethodGet, "/v1/runs", nil).Status == http.StatusUnauthorized
		})
		for of, path := range orphans {
			if a := s.As("").Do(http.MethodGet, path, nil); a.Status != http.StatusUnauthorized {
				t.Errorf("a ticket of %s: %d", of, a.Status)
			}
		}
		if a := s.As(revoked.Token).Do(http.MethodGet, "/v1/runs", nil); a.Status != http.StatusUnauthorized {
			t.Errorf("the revoked token: %d", a.Status)
		}
		for name, ended := range over {
			after := <-ended
			if t.Logf("the stream of %s ended after %s", name, after); after > recheck {
				t.Errorf("the stream of %s ended after %s", name, after)
			}
		}
		for name, ended := range goes {
			select {
			case after := <-ended:
				t.Errorf("the stream of %s ended after %s", name, after)
			default:
			}
		}
	})
}

// TestWhatIsNoTokenIsRefused: only the whole token is accepted: not its parts, its hash, its id, or a
// pattern of a query. The tests of modules/identity check that malformed tokens cause no query.
// Keeps T24, T30.
func TestWhatIsNoTokenIsRefused(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		sum := sha256.Sum256([]byte(s.Token))
		var made struct {
			ID string `json:"id"`
		}
		harness.Answer{Body: []byte(command(t, s, "token", "new", "--db", s.DB, "--name", "x", "--json"))}.JSON(t, &made)
		for _, bad := range []string{
			"", " ", "%", "_", "writ_", "*", "null", "undefined", "admin", made.ID, hex.EncodeToString(sum[:]),
			s.Token[:len(s.Token)-1], s.Token + "x", strings.ToUpper(s.Token), strings.Replace(s.Token, "writ_", "WRIT_", 1),
			s.Token + "," + s.Token,
			s.Token[:5] + "%" + s.Token[6:], "' OR 1=1 --", "writ_" + strings.Repeat("0", 32) + "_000000",
			strings.Repeat("a", 30_000), "Bearer " + s.Token,
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
		if a := s.As("").Do(http.MethodGet, "/v1/runs?token="+s.Token+"&access_token="+s.Token,
			nil); a.Status != http.StatusUnauthorized {
			t.Errorf("a token in the address: %d", a.Status)
		}
		if n := strings.Count(s.Output(), s.Token); n != 1 {
			t.Errorf("the token was printed %d times", n)
		}
	})
}
