package audit

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
)

// pairOf starts two servers on one database, the second optionally with the signing key of the first.
func pairOf(t *testing.T, dbURL string, sameKey bool, flags ...string) (first, second *fixture) {
	t.Helper()
	a := harness.Start(t, harness.Options{DB: dbURL, Flags: flags})
	more := append([]string{"--executors", "0"}, flags...)
	if sameKey {
		more = append(more, "--signing-key-file", filepath.Join(a.Dir, "data", "signing.key"))
	}
	b := harness.Start(t, harness.Options{DB: dbURL, Flags: more, Admin: a.Admin})
	return &fixture{Server: a, t: t}, &fixture{Server: b, t: t}
}

// onPostgres runs fn with a database that several servers can share.
func onPostgres(t *testing.T, fn func(t *testing.T, dbURL string)) {
	t.Helper()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		if dbURL == "" {
			return // only one server can use an SQLite file
		}
		fn(t, dbURL)
	})
}

// TestAServerWithoutTheKey starts a second server without the key: it works, records, and signs nothing, until it gets
// the key.
func TestAServerWithoutTheKey(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t *testing.T, dbURL string) {
		first, second := pairOf(t, dbURL, false)
		if !strings.Contains(second.Output(), "cannot sign heads") || !strings.Contains(second.Output(), "level=WARN") {
			t.Error("the log does not warn")
		}
		run := first.Await(first.Submit(script("true")).ID).ID
		second.mute(t, run)
		made := second.Do(http.MethodPost, "/v1/tokens", harness.Body{"name": "z"}).Header.Get("Audit-Receipt")
		if e := trail(t, first.Server, newest(t, first.Server)-1); fmt.Sprintf("%d:%s", e[0].Seq, e[0].Hash) != made {
			t.Errorf("the first server does not know %s: %+v", made, e)
		}
		write(t, filepath.Join(second.Dir, "data", "signing.key"), read(t, filepath.Join(first.Dir, "data", "signing.key")))
		saved(t, second.Client, "/v1/runs/"+run+"/receipt", "receipt.json") // it looks for the key each time
		must(t, 0, "audit", "verify", saved(t, second.Client, "/v1/audit/bundle", "bundle.json"), "--seal",
			saved(t, first.As(""), "/.well-known/seal.json", "seal.json"))
	})
}

// load makes changes on a server, and stores the receipt of each acknowledged one.
type load struct {
	mu       sync.Mutex
	over     atomic.Bool // no further change is made
	receipts []string
	refused  map[string]int
}

// each calls fn n times in so many clients, and records the answers.
func (l *load) each(wg *sync.WaitGroup, clients, n int, fn func(i int) (harness.Answer, error)) {
	for c := range clients {
		wg.Go(func() {
			for i := 0; i < n && !l.over.Load(); i++ {
				a, err := fn(c*n + i)
				l.mu.Lock()
				switch receipt := a.Header.Get("Audit-Receipt"); {
				case err == nil && a.Status < 300 && receipt != "":
					l.receipts = append(l.receipts, receipt)
				case err != nil:
					l.refused[err.Error()]++
				default:
					l.refused[fmt.Sprintf("%d %.100s", a.Status, a.Body)]++
				}
				l.mu.Unlock()
			}
		})
	}
}

// count returns the number of changes acknowledged or refused so far.
func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.receipts) + len(l.refused)
}

// mixed makes the i-th change of a load; some changes are about an account.
func (w *fixture) mixed(who, account string) func(i int) (harness.Answer, error) {
	return func(i int) (harness.Answer, error) {
		name := fmt.Sprintf("%s-%d", who, i)
		switch i % 4 {
		case 0:
			return w.Try(http.MethodPost, "/v1/runs", harness.Body{"tool": "bash", "command": "true", "queue": "parked"})
		case 1:
			return w.Try(http.MethodPost, "/v1/teams", harness.Body{"name": name})
		case 2:
			return w.Try(http.MethodPost, "/v1/grants",
				harness.Body{"subject": "user:" + account, "object": "queue:" + name, "level": "read"})
		default:
			return w.Try(http.MethodPost, "/v1/tokens", harness.Body{"name": name})
		}
	}
}

// checkReceipts checks that every receipt is in the trail.
func (l *load) checkReceipts(t *testing.T, w *fixture) {
	t.Helper()
	all := map[string]bool{}
	for _, e := range trail(t, w.Server, 0) {
		all[fmt.Sprintf("%d:%s", e.Seq, e.Hash)] = true
	}
	for _, r := range l.receipts {
		if !all[r] {
			t.Errorf("the receipt %s is not in the trail", r)
		}
	}
}

// TestTwoServersWriteOneChain lets two servers with one key record concurrently and sign meanwhile: their heads must
// not contradict each other, and the install beats once per interval, not once per server.
func TestTwoServersWriteOneChain(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t *testing.T, dbURL string) {
		first, second := pairOf(t, dbURL, true, "--audit-beat", "1s")
		each := depthtest.Of(12, 40)
		account, began := first.user(), time.Now()
		l := &load{refused: map[string]int{}}
		var wg sync.WaitGroup
		l.each(&wg, 5, each, first.mixed("first", account))
		l.each(&wg, 5, each, second.mixed("second", account))
		var notes []string
		for _, w := range []*fixture{first, second, first, second, first, second} {
			notes = append(notes, read(t, saved(t, w.Client, "/v1/audit/bundle?limit=1&format=json", "one.json")))
		}
		wg.Wait()
		t.Logf("%d changes in %s", len(l.receipts), time.Since(began).Round(time.Millisecond))
		if len(l.receipts) != 10*each {
			t.Errorf("%d of %d changes were acknowledged: %v", len(l.receipts), 10*each, l.refused)
		}
		l.checkReceipts(t, first)
		one, two := intact(t, first.Server), intact(t, second.Server)
		if one.Count < int64(10*each) || two.Count < one.Count {
			t.Errorf("%+v and %+v", one, two)
		}
		seal := saved(t, first.As(""), "/.well-known/seal.json", "seal.json")
		for _, w := range []*fixture{first, second} {
			must(t, 0, "audit", "verify", saved(t, w.Client, "/v1/audit/bundle", "bundle.json"), "--seal", seal)
		}
		agree(t, notes)
		beats(t, first, 2)
	})
}

// agree compares the heads that several servers signed: no two of one size may differ.
func agree(t *testing.T, notes []string) {
	t.Helper()
	roots := map[int64]tlog.Hash{}
	for _, text := range notes {
		body, ok := jsonString(text, `"checkpoint":"`)
		if !ok {
			t.Fatalf("a bundle without a head: %.500s", text)
		}
		body, _, _ = strings.Cut(body, "\n\n")
		tree, err := parseTree(body + "\n")
		if err != nil {
			t.Fatal(err)
		}
		if root, seen := roots[tree.N]; seen && root != tree.Hash {
			t.Errorf("two heads of %d entries", tree.N)
		}
		roots[tree.N] = tree.Hash
	}
}

func jsonString(text, before string) (string, bool) {
	_, rest, ok := strings.Cut(text, before)
	value, _, end := strings.Cut(rest, `"`)
	return strings.ReplaceAll(value, `\n`, "\n"), ok && end
}

// beats waits for so many beats and checks that no two of them are closer than one second.
func beats(t *testing.T, w *fixture, n int) {
	t.Helper()
	var at []time.Time
	harness.Eventually(t, time.Minute, "the service beats", func() bool {
		at = nil
		for _, e := range trail(t, w.Server, 0) {
			if e.Action != "audit.beat" {
				continue
			}
			when, err := time.Parse(time.RFC3339Nano, e.At)
			if err != nil {
				t.Fatal(err)
			}
			at = append(at, when)
		}
		return len(at) >= n
	})
	for i := 1; i < len(at); i++ {
		if apart := at[i].Sub(at[i-1]); apart < time.Second {
			t.Errorf("two beats are %s apart", apart)
		}
	}
	t.Logf("%d beats: %v", len(at), at)
}

// TestAStoppedServer halts one of two servers under load at a random moment and resumes it. The other server must not
// be delayed for long, and there must be one chain.
func TestAStoppedServer(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t *testing.T, dbURL string) {
		first, second := pairOf(t, dbURL, true)
		l, account := &load{refused: map[string]int{}}, first.user()
		var wg sync.WaitGroup
		l.each(&wg, 3, 10_000, first.mixed("first", account))
		l.each(&wg, 3, 10_000, second.mixed("second", account))
		for n := range 4 {
			<-time.After(time.Duration(70+37*n) * time.Millisecond)
			second.Signal(syscall.SIGSTOP)
			<-time.After(500 * time.Millisecond)
			second.Signal(syscall.SIGCONT)
		}
		harness.Eventually(t, time.Minute, "enough was changed", func() bool { return l.count() >= 50 })
		l.over.Store(true)
		wg.Wait()
		t.Logf("%d changes were acknowledged; the others: %v", len(l.receipts), l.refused)
		if len(l.receipts) < 50 || len(l.refused) > 0 {
			t.Errorf("%d changes; refused: %v", len(l.receipts), l.refused)
		}
		l.checkReceipts(t, first)
		intact(t, first.Server)
		intact(t, second.Server)
		second.Signal(syscall.SIGSTOP)
		a := first.Do(http.MethodPost, "/v1/teams", harness.Body{"name": "while the other is halted"})
		second.Signal(syscall.SIGCONT) // only after the answer
		if a.Status != http.StatusCreated {
			t.Errorf("while the other is halted: %d %s", a.Status, a.Body)
		}
	})
}
