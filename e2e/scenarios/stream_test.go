package scenarios

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestStream follows a run with much output by many concurrent readers. Some start late or reconnect.
func TestStream(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		r := s.Submit(harness.Body{"tool": "bash", "command": "for i in $(seq 1 300); do echo line $i; sleep 0.005; done"})
		var want strings.Builder
		for i := 1; i <= 300; i++ {
			fmt.Fprintf(&want, "line %d\n", i)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		var wg sync.WaitGroup
		for n := range 10 {
			wg.Go(func() {
				<-time.After(time.Duration(n) * 150 * time.Millisecond)
				log, seqs, statuses, ended := s.Follow(ctx, r.ID, "")
				if log != want.String() {
					t.Errorf("reader %d got %d bytes of %d", n, len(log), want.Len())
				}
				for i, q := range seqs {
					if q != int64(i)+1 {
						t.Errorf("reader %d: event %d at place %d", n, q, i)
					}
				}
				if !ended || len(seqs) < 2 || statuses[len(statuses)-1] != "succeeded" {
					t.Errorf("reader %d: ended %v, %d events, statuses %v", n, ended, len(seqs), statuses)
				}
			})
		}
		wg.Wait()
		s.Await(r.ID)
		log, seqs, _, ended := s.Follow(ctx, r.ID, "&after=1&log_offset=7")
		if log != want.String()[7:] || len(seqs) == 0 || seqs[0] != 2 || !ended {
			t.Errorf("resumed: %d bytes, events %v", len(log), seqs)
		}
	})
}

// TestTickets uses one ticket a hundred times concurrently, and invalid tickets.
// Keeps T23.
func TestTickets(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		r := s.Await(s.Submit(harness.Body{"tool": "bash", "command": "echo hi"}).ID)
		other := s.Submit(harness.Body{"tool": "bash", "command": "echo hi"})
		open := func(run, ticket string) int {
			return s.As("").Do(http.MethodGet, "/v1/runs/"+run+"/stream?ticket="+ticket, nil).Status
		}
		ticket := s.Ticket(r.ID)
		var ok, refused atomic.Int32
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				switch open(r.ID, ticket) {
				case http.StatusOK:
					ok.Add(1)
				case http.StatusUnauthorized:
					refused.Add(1)
				}
			})
		}
		wg.Wait()
		if ok.Load() != 1 || refused.Load() != 99 {
			t.Errorf("%d opened, %d were refused", ok.Load(), refused.Load())
		}
		if got := open(other.ID, s.Ticket(r.ID)); got != http.StatusUnauthorized {
			t.Errorf("another run's ticket: %d", got)
		}
		if got := open(r.ID, "nonsense"); got != http.StatusUnauthorized {
			t.Errorf("nonsense: %d", got)
		}
		if got := open(r.ID, ""); got != http.StatusUnauthorized {
			t.Errorf("no ticket: %d", got)
		}
	})
}
