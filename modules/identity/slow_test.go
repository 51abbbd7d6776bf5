package identity_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/identity"
)

// TestSignInsFromManyAddresses is T25: the sign-ins of one name are slowed beyond a hundred in a minute and never
// refused, whether an account has the name or not. The right password works meanwhile.
func TestSignInsFromManyAddresses(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		b.account("ann", identity.Viewer)
		for n, name := range []string{"ann", "nobody"} {
			var slow atomic.Int64
			var wg sync.WaitGroup
			attempt := func(i int, p identity.Password) error {
				start := time.Now()
				_, err := b.SignIn.Login(b.from(fmt.Sprintf("10.%d.0.%d", n, i)), name, p)
				if time.Since(start) >= time.Second {
					slow.Add(1)
				}
				return err
			}
			for i := range 120 {
				wg.Go(func() {
					if err := attempt(i, "incorrect horse battery"); !identity.BadLogin.Is(err) {
						t.Errorf("%s, attempt %d: %v", name, i, err)
					}
				})
			}
			wg.Wait()
			if slow.Load() < 20 {
				t.Errorf("%s: %d of the last 20 are slow", name, slow.Load())
			}
			slow.Store(0)
			if err := attempt(200, secret); (err == nil) != (name == "ann") || slow.Load() != 1 {
				t.Errorf("%s: the right password: %v", name, err)
			}
		}
		ctx, cancel := context.WithCancel(b.from("10.9.0.1"))
		cancel()
		if _, err := b.SignIn.Login(ctx, "ann", secret); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller who goes away while it waits: %v", err)
		}
	})
}
