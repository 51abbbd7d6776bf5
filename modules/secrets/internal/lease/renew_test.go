package lease_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-automation/writ/modules/secrets/internal/lease"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/secrets"
)

// bubble has the clock and ids for a synctest bubble, and a store without leases.
type bubble struct{ secrets.LeaseStore }

func (bubble) Now() time.Time                                                   { return time.Now() }
func (bubble) New(p ids.Prefix) string                                          { return string(p) + "_1" }
func (bubble) LeasesOf(context.Context, secrets.Owner) ([]secrets.Lease, error) { return nil, nil }

// renewable is a secret whose lifetime is extended by each renewal.
type renewable struct {
	mu      sync.Mutex
	ends    time.Time
	most    time.Time // latest end of a lifetime; zero: none
	fails   error
	renewed int
	revoked bool
}

func (r *renewable) lease(life time.Duration) *extension.SecretLease {
	r.ends = time.Now().Add(life)
	return extension.NewSecretLease("mint", func(context.Context) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.revoked = true
		return nil
	}).WithRenewal(life, func(context.Context) (time.Duration, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		now := time.Now()
		if r.fails != nil {
			return 0, r.fails
		}
		if now.After(r.ends) || r.revoked {
			return 0, errors.New("it is gone")
		}
		r.renewed++
		r.ends = now.Add(life)
		if !r.most.IsZero() && r.ends.After(r.most) {
			r.ends = r.most
		}
		return r.ends.Sub(now), nil
	})
}

func (r *renewable) state() (ends time.Time, renewed int, revoked bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ends, r.renewed, r.revoked
}

func (r *renewable) set(fn func()) { r.mu.Lock(); defer r.mu.Unlock(); fn() }

func TestRenewer(t *testing.T) {
	t.Parallel()
	const life, runTime = 30 * time.Second, 10 * time.Minute
	owner := secrets.Owner{ID: "run_1", Epoch: 1}
	for name, c := range map[string]struct {
		alter   func(*renewable)
		after   time.Duration // time of the call of alter
		lives   bool          // until the owner is released
		warning string
	}{
		"renewed":          {lives: true},
		"fails for a time": {func(r *renewable) { r.fails = nil }, 25 * time.Second, true, ""},
		"fails": {func(r *renewable) { r.fails = errors.New("denied") }, 5 * time.Minute, false,
			"was not renewed and has ended: denied"},
		"has a longest life": {
			func(r *renewable) { r.most = r.ends.Add(5 * time.Minute) }, 0, false, "cannot be renewed any longer; it ends at ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := bubble{}
				b := lease.New(lease.Params{Store: x, Calls: lease.NewCalls(), Clock: x, IDs: x,
					Log: slog.New(slog.DiscardHandler)})
				r := &renewable{}
				if name == "fails for a time" {
					r.fails = fmt.Errorf("away")
				}
				w := b.Work(false)
				w.Start()
				h, err := b.Record(t.Context(), owner, "crd_1", "mint", nil, r.lease(life))
				if err != nil {
					t.Fatal(err)
				}
				b.Track(owner, []*lease.Entry{h})
				time.Sleep(c.after)
				if c.alter != nil {
					r.set(func() { c.alter(r) })
				}
				time.Sleep(runTime - c.after)
				ends, renewed, _ := r.state()
				if lives := time.Now().Before(ends); lives != c.lives {
					t.Errorf("it lives: %t after %d renewals", lives, renewed)
				}
				if renewed > 60 {
					t.Errorf("%d renewals in %s", renewed, runTime)
				}
				list := b.Warnings(owner)
				if got := strings.Join(list, " "); (c.warning == "") != (got == "") || !strings.Contains(got, c.warning) {
					t.Errorf("warnings %q", list)
				}
				b.Release(t.Context(), owner)
				_, renewed, _ = r.state()
				time.Sleep(runTime)
				if _, after, revoked := r.state(); !revoked || after != renewed || b.Warnings(owner) != nil {
					t.Errorf("revoked %t, %d renewals after the end", revoked, after-renewed)
				}
				if err := w.Stop(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
