package audit_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/depthtest"
)

// TestServersThatSeeTheSameAtOnce checks that they store one row, and that one of them reports it.
func TestServersThatSeeTheSameAtOnce(t *testing.T) {
	t.Parallel()
	eachSite(t, func(t *testing.T, s *site) {
		servers := []*process{s.starts(t), s.starts(t), s.joins(t, nil)}
		together := func(notes ...string) (errs int) {
			var wait sync.WaitGroup
			for _, p := range servers {
				for range 3 {
					wait.Go(func() { p.show(t, "relay/w1", notes...) })
				}
			}
			wait.Wait()
			for _, p := range servers {
				errs += p.log.count()
			}
			return errs
		}
		first, held := servers[0].to(t, 5), servers[0].to(t, 12)
		if n := together(first); n != 0 || len(servers[0].presented(t)) != 1 {
			t.Errorf("%d errors, %d are kept", n, len(servers[0].presented(t)))
		}
		servers[0].restored(t, 7)
		if n := together(held, first); n != 1 || len(servers[0].presented(t)) != 1 {
			t.Errorf("%d errors, %d are kept", n, len(servers[0].presented(t)))
		}
		s.clock.later(time.Hour)
		if n := together(first, held); n != 1 || len(servers[0].presented(t)) != 1 {
			t.Errorf("%d errors, %d are kept", n, len(servers[0].presented(t)))
		}
	})
}

// TestManyClaimsAskOnce makes many workers show heads and read the newest one, like their claims: the store is read
// once per second.
func TestManyClaimsAskOnce(t *testing.T) {
	t.Parallel()
	eachSite(t, func(t *testing.T, s *site) {
		s.clock.still = time.Now()
		p := s.starts(t)
		held := []string{p.to(t, 5), p.to(t, 9), "of somebody else"}
		for range 3 {
			before := p.asked.n.Load()
			var workers sync.WaitGroup
			for range 8 {
				workers.Go(func() {
					for range depthtest.Of(40, 250) {
						if err := p.Heads.Show(t.Context(), "relay/w", held); !audit.ForeignHead.Is(err) {
							t.Errorf("show: %v", err)
						}
						if note, err := p.Heads.Newest(t.Context()); note != held[1] || err != nil {
							t.Errorf("newest: %q, %v", note, err)
						}
					}
				})
			}
			workers.Wait()
			if n := p.asked.n.Load() - before; n == 0 || n > 20 {
				t.Errorf("the claims ask the store %d times", n)
			}
			s.clock.later(time.Second)
		}
	})
}

// TestAStoreThatDoesNotAnswer delays no caller beyond its deadline, and is read again later.
func TestAStoreThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	eachSite(t, func(t *testing.T, s *site) {
		p := s.starts(t)
		held := p.to(t, 9)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.Heads.Show(ended, "relay/w", []string{held}); err == nil || audit.ForeignHead.Is(err) {
			t.Errorf("show: %v", err)
		}
		if note, err := p.Heads.Newest(ended); err == nil {
			t.Errorf("newest: %q", note)
		}
		p.show(t, "relay/w", held)
		if note, err := p.Heads.Newest(t.Context()); note != held || err != nil || len(p.presented(t)) != 1 {
			t.Errorf("newest: %q, %v", note, err)
		}
	})
}

// TestHeadsUnderLoad lets servers record, sign, rotate keys and receive heads, each as soon as it exists: none may
// ever exceed the chain.
func TestHeadsUnderLoad(t *testing.T) {
	t.Parallel()
	rounds := depthtest.Of(6, 25)
	eachSite(t, func(t *testing.T, s *site) {
		servers := []*process{s.starts(t), s.starts(t), s.joins(t, nil)}
		heads := make(chan string, 4*rounds)
		var writers, readers sync.WaitGroup
		for _, p := range servers {
			for range 2 {
				writers.Go(func() { p.grow(t, 2*rounds) })
			}
		}
		for i, p := range servers[:2] {
			writers.Go(func() {
				for range rounds {
					made, err := p.Admin.Anchor(t.Context(), audit.AnchorRequest{})
					switch {
					case audit.NoSigningKey.Is(err): // during a rotation
					case err != nil:
						t.Errorf("sign: %v", err)
					default:
						heads <- made[0].Note
					}
				}
			})
			writers.Go(func() {
				for range 3 * (1 - i) {
					if _, err := p.Admin.Rotate(t.Context(), s.key.Save); err != nil {
						t.Errorf("rotate: %v", err)
					}
				}
			})
		}
		for i := range 4 {
			readers.Go(func() {
				p := servers[i%len(servers)]
				for note := range heads {
					s.clock.later(time.Minute)
					p.show(t, "relay/w", note)
					newest, err := p.Heads.Newest(t.Context())
					if err != nil {
						t.Errorf("newest: %v", err)
					}
					if newest != "" {
						servers[(i+1)%len(servers)].show(t, "relay/w", newest, note)
					}
				}
			})
		}
		writers.Wait()
		close(heads)
		readers.Wait()
		for _, p := range servers {
			if n := p.log.count(); n != 0 {
				t.Errorf("%d errors: %v", n, p.log.last)
			}
		}
		list := servers[0].presented(t)
		for _, a := range list {
			if len(a.Evidence) > 0 || a.Kind != audit.KindWorker || !strings.Contains(a.Note, "audit.example.org/audit/") {
				t.Errorf("%+v", a)
			}
		}
		servers[0].checkHead(t, "")
		// The last rotation may be later than the last head.
		last := servers[0].head(t)
		if note := servers[0].newest(t, s); note != last || len(list) == 0 {
			t.Errorf("told is %q, want %q, %d are kept", note, last, len(list))
		}
		s.starts(t)
	})
}
