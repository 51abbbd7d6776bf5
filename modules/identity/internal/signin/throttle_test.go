package signin

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

// hands is a clock that the test moves.
type hands struct {
	mu  sync.Mutex
	now time.Time
}

func newHands() *hands { return &hands{now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)} }

func (h *hands) Now() time.Time { h.mu.Lock(); defer h.mu.Unlock(); return h.now }

func (h *hands) move(d time.Duration) { h.mu.Lock(); defer h.mu.Unlock(); h.now = h.now.Add(d) }

// fails makes n failed attempts and returns how many were let in.
func fails(t *throttle, n int, name, address string) (admitted int) {
	for range n {
		if _, _, err := t.begin(name, address); err == nil {
			admitted++
		}
	}
	return admitted
}

func wait(t *testing.T, err error) time.Duration {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || !identity.TooManyAttempts.Is(err) {
		t.Fatalf("the refusal is %v", err)
	}
	return f.RetryAfter
}

func TestBounds(t *testing.T) {
	t.Parallel()
	h := newHands()
	th := newThrottle(h)
	if n := fails(th, 1000, "ann", "192.0.2.1"); n != 10 {
		t.Errorf("%d attempts of one account from one address", n)
	}
	if n := fails(th, 1, "ann", "192.0.2.2"); n != 1 {
		t.Error("the account is locked for another address")
	}
	for i := range 20 {
		fails(th, 9, fmt.Sprint("user", i), "192.0.2.1")
	}
	if n := fails(th, 1, "somebody", "192.0.2.1"); n != 0 {
		t.Error("more than a hundred failures of one address")
	}
	h.move(59 * time.Second)
	_, _, err := th.begin("ann", "192.0.2.1")
	if d := wait(t, err); d != time.Second {
		t.Errorf("to be tried again after %v", d)
	}
	h.move(time.Second)
	if n := fails(th, 1000, "ann", "192.0.2.1"); n != 10 {
		t.Errorf("%d attempts in the next minute", n)
	}
}

// TestCounting bounds what takes no password, and neither costs failures nor is cost by them.
func TestCounting(t *testing.T) {
	t.Parallel()
	h := newHands()
	th := newThrottle(h)
	counts := func(n int, address string) (admitted, reports int) {
		for range n {
			first, err := th.count(address)
			if err == nil {
				admitted++
			} else if wait(t, err) > time.Minute {
				t.Errorf("to be tried again after %v", wait(t, err))
			}
			if first {
				reports++
			}
		}
		return admitted, reports
	}
	for i := range 20 {
		fails(th, 10, fmt.Sprint("user", i), "192.0.2.1")
	}
	if n, reports := counts(300, "192.0.2.1"); n != 100 || reports != 1 {
		t.Errorf("%d in a minute, told %d times", n, reports)
	}
	if n, reports := counts(1, "192.0.2.2"); n != 1 || reports != 0 {
		t.Error("another address is bound too")
	}
	if n, _ := counts(200, "192.0.2.2"); n != 99 || fails(th, 20, "ann", "192.0.2.2") != 10 {
		t.Errorf("%d of another address", n)
	}
	h.move(time.Minute)
	if n, _ := counts(300, "192.0.2.1"); n != 100 {
		t.Errorf("%d in the next minute", n)
	}
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if _, err := th.count("192.0.2.3"); err == nil {
					admitted.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if n := admitted.Load(); n != 100 {
		t.Errorf("%d at once", n)
	}
}

func TestSuccessAndTakingBack(t *testing.T) {
	t.Parallel()
	th := newThrottle(newHands())
	fails(th, 9, "ann", "a")
	a, _, err := th.begin("ann", "b") // neither is an address, and all of those are one
	if err != nil {
		t.Fatal(err)
	}
	a.succeed()
	if n := fails(th, 20, "ann", "a"); n != 10 {
		t.Errorf("%d attempts after a success", n)
	}
	for range 200 {
		a, _, err := th.begin("bob", "a")
		if err != nil {
			t.Fatal(err)
		}
		a.takeBack()
	}
	for i := range 10 {
		fails(th, 10, fmt.Sprint("x", i), "a")
	}
	if n := fails(th, 1, "nobody", "a"); n != 0 {
		t.Error("a success clears what other accounts failed from the address")
	}
}

func TestFirstRefusalIsReported(t *testing.T) {
	t.Parallel()
	h := newHands()
	th := newThrottle(h)
	reports := 0
	for range 3 {
		for range 50 {
			if _, first, err := th.begin("ann", "192.0.2.1"); first {
				reports++
				wait(t, err)
			}
		}
		h.move(time.Minute)
	}
	if reports != 3 {
		t.Errorf("told %d times", reports)
	}
}

func TestParallelAttempts(t *testing.T) {
	t.Parallel()
	th := newThrottle(newHands())
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() { admitted.Add(int64(fails(th, 100, "ann", "192.0.2.1"))) })
	}
	wg.Wait()
	if n := admitted.Load(); n != 10 {
		t.Errorf("%d parallel attempts", n)
	}
}

func TestNetworks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		one, other string
		same       bool
	}{
		"one /64":        {"2001:db8::1", "2001:db8::ffff:1", true},
		"two /64":        {"2001:db8:0:1::1", "2001:db8:0:2::1", false},
		"zones":          {"fe80::1%eth0", "fe80::2%eth1", true},
		"mapped":         {"::ffff:192.0.2.1", "192.0.2.1", true},
		"mapped, others": {"::ffff:192.0.2.1", "::ffff:192.0.2.2", false},
		"none":           {"", "what", true},
	} {
		th := newThrottle(newHands())
		fails(th, 10, "ann", c.one)
		if n := fails(th, 1, "ann", c.other); (n == 0) != c.same {
			t.Errorf("%s: counted together: %v", name, n == 0)
		}
	}
}

// TestClockThatIsSet moves the wall clock: back it neither opens nor locks anything, ahead it opens one window.
// Keeps F14.
func TestClockThatIsSet(t *testing.T) {
	t.Parallel()
	h := newHands()
	th := newThrottle(h)
	fails(th, 10, "ann", "192.0.2.1")
	h.move(-24 * time.Hour)
	_, _, err := th.begin("ann", "192.0.2.1")
	if d := wait(t, err); d != time.Minute {
		t.Errorf("a step back makes it %v", d)
	}
	h.move(time.Minute)
	if n := fails(th, 20, "ann", "192.0.2.1"); n != 10 {
		t.Errorf("%d attempts a minute after the step", n)
	}
}

// TestModel holds the throttle to the sentence of the contract, counted naively.
func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := newHands()
		th := newThrottle(h)
		pairs, sites := map[string][]time.Duration{}, map[string][]time.Duration{}
		var at time.Duration
		recent := func(list []time.Duration) (n int) {
			for _, x := range list {
				if at-x < time.Minute {
					n++
				}
			}
			return n
		}
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			d := time.Duration(rapid.IntRange(0, 800).Draw(t, "pause")) * time.Millisecond
			at += d
			h.move(d)
			name := string(rune('a' + rapid.IntRange(0, 20).Draw(t, "name")))
			address := rapid.SampledFrom([]string{"192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.2"}).Draw(t, "address")
			pair := name + "@" + address
			a, _, err := th.begin(name, address)
			if want := recent(pairs[pair]) < 10 && recent(sites[address]) < 100; want != (err == nil) {
				t.Fatalf("%d failures of the pair and %d of the address: %v", recent(pairs[pair]), recent(sites[address]), err)
			}
			if err != nil {
				continue
			}
			switch rapid.IntRange(0, 9).Draw(t, "end") {
			case 0:
				a.takeBack()
			case 1:
				a.succeed()
				pairs[pair] = nil
			default:
				pairs[pair] = append(pairs[pair], at)
				sites[address] = append(sites[address], at)
			}
		}
	})
}

// TestSlowed slows attempts at one account from many addresses, and refuses none.
func TestSlowed(t *testing.T) {
	t.Parallel()
	h := newHands()
	th := newThrottle(h)
	slowed := func(n int, name string) (slow int) {
		t.Helper()
		for i := range n {
			a, _, err := th.begin(name, fmt.Sprintf("10.%d.%d.%d", h.Now().Second(), i/256, i%256))
			switch {
			case err != nil:
				t.Fatalf("attempt %d at %s: %v", i, name, err)
			case a.delay == time.Second:
				slow++
			case a.delay != 0:
				t.Fatalf("a delay of %v", a.delay)
			}
			if i%2 == 0 {
				a.succeed() // which counts as a sign-in
			}
		}
		return slow
	}
	if n := slowed(100, "ann"); n != 0 {
		t.Errorf("%d of a hundred are slowed", n)
	}
	h.move(time.Second)
	if n := slowed(2000, "ann"); n != 2000 {
		t.Errorf("%d of two thousand more are slowed", n)
	}
	if n := len(th.accounts.entries[digestOf("ann")].times); n != perAccount {
		t.Errorf("%d times are kept", n)
	}
	if n := slowed(100, "bob"); n != 0 {
		t.Errorf("%d of another account are slowed", n)
	}
	h.move(window)
	if n := slowed(101, "ann"); n != 1 {
		t.Errorf("%d are slowed a minute later", n)
	}
	h.move(window)
	for i := range 300 { // which no password was verified for
		a, _, err := th.begin("ann", fmt.Sprintf("192.0.2.%d", i%250))
		if err != nil || a.delay != 0 {
			t.Fatalf("after attempts that were taken back: %+v %v", a, err)
		}
		a.takeBack()
	}
}

func digestOf(name string) digest { return sha256.Sum256([]byte(name)) }
