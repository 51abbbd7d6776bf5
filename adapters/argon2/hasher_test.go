package argon2

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

const password identity.Password = "a long enough password"

func TestHashAndVerify(t *testing.T) {
	t.Parallel()
	x := New()
	seen := map[string]bool{}
	long := identity.Password(strings.Repeat("x", identity.MaxPassword*4))
	for _, p := range []identity.Password{password, password, "", "\x00", "a\x00b", "ключ 鍵 🔑", long} {
		hash, err := x.Hash(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") || len(hash) != len(sample) || seen[hash] {
			t.Errorf("the hash is %q", hash)
		}
		seen[hash] = true
		if ok, outdated, err := x.Verify(t.Context(), p, hash); !ok || outdated || err != nil {
			t.Errorf("%q: %v, %v, %v", string(p), ok, outdated, err)
		}
		for _, other := range []identity.Password{p + "\x00", "x" + p} {
			if ok, _, err := x.Verify(t.Context(), other, hash); ok || err != nil {
				t.Errorf("%q for %q: %v, %v", string(other), string(p), ok, err)
			}
		}
	}
}

func TestOutdated(t *testing.T) {
	t.Parallel()
	x := New()
	for name, h := range map[string]phc{
		"memory": {params: params{memory: 8192, passes: 2, threads: 1}, salt: make([]byte, saltLen),
			key: make([]byte, keyLen)},
		"passes": {params: params{memory: 19456, passes: 1, threads: 1}, salt: make([]byte, saltLen),
			key: make([]byte, keyLen)},
		"threads": {params: params{memory: 19456, passes: 2, threads: 2}, salt: make([]byte, saltLen),
			key: make([]byte, keyLen)},
		"salt": {params: today(), salt: make([]byte, saltLen-1), key: make([]byte, keyLen)},
		"key":  {params: today(), salt: make([]byte, saltLen), key: make([]byte, keyLen-1)},
		"dearer": {params: params{memory: 32768, passes: 2, threads: 1}, salt: make([]byte, saltLen),
			key: make([]byte, keyLen)},
	} {
		h.key = derive(password, h)
		if ok, outdated, err := x.Verify(t.Context(), password, h.String()); !ok || !outdated || err != nil {
			t.Errorf("%s: %v, %v, %v", name, ok, outdated, err)
		}
	}
}

// TestEmptyHashWorksAsHard counts the computations for accounts without a password and for wrong passwords.
func TestEmptyHashWorksAsHard(t *testing.T) {
	t.Parallel()
	var work []string
	x := newHasher(1, 0)
	x.derive = func(p identity.Password, h phc) []byte {
		work = append(work, fmt.Sprintf("%s %+v %d %d", string(p), h.params, len(h.salt), len(h.key)))
		return make([]byte, len(h.key)) // the key of the empty hash as well
	}
	for _, hash := range []string{sample, ""} {
		if ok, outdated, err := x.Verify(t.Context(), password, hash); ok || outdated || err != nil {
			t.Errorf("%q: %v, %v, %v", hash, ok, outdated, err)
		}
	}
	if len(work) != 2 || work[0] != work[1] {
		t.Errorf("not the same work: %q", work)
	}
}

// TestCap measures the number of concurrent hashes under load.
func TestCap(t *testing.T) {
	t.Parallel()
	x := New()
	var now, peak, done atomic.Int64
	x.derive = func(p identity.Password, h phc) []byte {
		n := now.Add(1)
		defer now.Add(-1)
		for old := peak.Load(); n > old && !peak.CompareAndSwap(old, n); old = peak.Load() {
		}
		done.Add(1)
		return derive(p, h)
	}
	var wg sync.WaitGroup
	callers := depthtest.Of(min(2*cap(x.cores)+2, 16), 16)
	for range callers {
		wg.Go(func() {
			if _, err := x.Hash(t.Context(), password); err != nil {
				t.Error(err)
			}
			if ok, _, err := x.Verify(t.Context(), password, sample); ok || err != nil {
				t.Error(ok, err)
			}
		})
	}
	wg.Wait()
	if limit := int64(cap(x.cores)); peak.Load() > limit || done.Load() != 2*int64(callers) || limit < 1 {
		t.Errorf("%d at once, %d in all, with a limit of %d", peak.Load(), done.Load(), limit)
	}
	if len(x.cores) != 0 || len(x.places) != 0 {
		t.Error("places are lost")
	}
}

// TestQueue fills the cores and the queue: the next caller is refused at once, a cancelled caller leaves the queue,
// and all others finish.
func TestQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := newHasher(2, 3)
		work := make(chan struct{})
		var begun, ended atomic.Int64
		x.derive = func(_ identity.Password, h phc) []byte {
			begun.Add(1)
			<-work
			return h.key
		}
		ask := func(ctx context.Context) error {
			_, err := x.Hash(ctx, password)
			return err
		}
		for range 4 { // two running and two waiting
			go func() {
				if err := ask(t.Context()); err != nil {
					t.Error(err)
				}
				ended.Add(1)
			}()
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		impatient := make(chan error, 1)
		go func() { impatient <- ask(ctx) }()
		synctest.Wait()
		if begun.Load() != 2 {
			t.Errorf("%d at work", begun.Load())
		}
		if _, _, err := x.Verify(t.Context(), password, ""); !fault.Is(err, fault.Unavailable) {
			t.Errorf("the sixth caller: %v", err)
		}
		cancel()
		if err := <-impatient; !errors.Is(err, context.Canceled) || !fault.Is(err, fault.Unavailable) {
			t.Errorf("who stopped waiting: %v", err)
		}
		late, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if err := ask(late); !errors.Is(err, context.DeadlineExceeded) { // the place that was freed
			t.Errorf("who waited too long: %v", err)
		}
		close(work)
		synctest.Wait()
		if ended.Load() != 4 || begun.Load() != 4 || len(x.places) != 0 || len(x.cores) != 0 {
			t.Errorf("%d begun, %d ended, %d places and %d cores taken", begun.Load(), ended.Load(), len(x.places), len(x.cores))
		}
	})
}

func TestEndedCallerIsNotServed(t *testing.T) {
	t.Parallel()
	x := New()
	x.derive = func(identity.Password, phc) []byte { t.Error("work for nobody"); return nil }
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Hash(ctx, password); !errors.Is(err, context.Canceled) ||
		strings.Contains(err.Error(), string(password)) {
		t.Error(err)
	}
	if ok, _, err := x.Verify(ctx, password, sample); ok || !errors.Is(err, context.Canceled) {
		t.Error(ok, err)
	}
}

func BenchmarkHash(b *testing.B) {
	x := New()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := x.Hash(b.Context(), password); err != nil {
			b.Fatal(err)
		}
	}
}
