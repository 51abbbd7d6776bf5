package throttle

import (
	"crypto/sha256"
	"net/netip"
	"sync"
	"time"

	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/identity"
)

const (
	// window is the stretch of time in which failures are counted.
	window = time.Minute
	// perPair and perAddress bound the failures in any window.
	perPair    = 10
	perAddress = 100
	// capacity bounds the entries of each table. A failure costs the hashing of a password, so that nobody can fill
	// a table of this size within a window. What costs nothing is counted in a table of its own, which may be filled
	// without making anybody's failures forgotten.
	capacity = 1 << 16
	// siteBits is the part of an IPv6 address that counts: whoever has one of them has all the others of its network.
	siteBits = 64
)

// Throttle counts failures. It is safe for concurrent use.
type Throttle struct {
	clock clock.Clock

	mu        sync.Mutex
	seen      time.Time     // the last time that the clock told
	elapsed   time.Duration // what went by, never backwards
	pairs     table[pair]
	addresses table[netip.Prefix]
	begun     table[netip.Prefix]
}

// pair is an account's name, hashed so that a long one costs no memory, and an address.
type pair struct {
	name [sha256.Size]byte
	from netip.Prefix
}

// New makes a throttle that has counted nothing.
func New(c clock.Clock) *Throttle {
	return &Throttle{
		clock: c, seen: c.Now(),
		pairs: table[pair]{limit: perPair, capacity: capacity}, addresses: table[netip.Prefix]{limit: perAddress, capacity: capacity},
		begun: table[netip.Prefix]{limit: perAddress, capacity: capacity},
	}
}

// Attempt is one attempt under way. It counts as a failure unless it is taken back.
type Attempt struct {
	owner *Throttle
	pair  pair
	at    time.Duration
}

// Begin counts an attempt to prove an account's password from an address. TooManyAttempts where a bound is reached;
// the fault says when to try again, and first that nothing was refused there since the last attempt that was let in.
func (t *Throttle) Begin(name, address string) (a *Attempt, first bool, err error) {
	p := pair{name: sha256.Sum256([]byte(name)), from: network(address)}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	waitPair, newsPair := t.pairs.wait(p, now)
	waitAddress, newsAddress := t.addresses.wait(p.from, now)
	if wait := max(waitPair, waitAddress); wait > 0 {
		f := identity.TooManyAttempts.New("too many attempts failed; try again later")
		f.RetryAfter = wait
		return nil, newsPair || newsAddress, f
	}
	t.pairs.add(p, now)
	t.addresses.add(p.from, now)
	return &Attempt{owner: t, pair: p, at: now}, false, nil
}

// Count counts what an address may do without proving anything, apart from its failures. TooManyAttempts where the
// address's bound is reached; the fault says when to try again, and first that nothing was refused there since the last
// time that one was let in.
func (t *Throttle) Count(address string) (first bool, err error) {
	from := network(address)
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	wait, first := t.begun.wait(from, now)
	if wait > 0 {
		f := identity.TooManyAttempts.New("too many sign-ins began; try again later")
		f.RetryAfter = wait
		return first, f
	}
	t.begun.add(from, now)
	return false, nil
}

// TakeBack forgets the attempt: nobody judged the password. It must be called at most once, and not with Succeed.
func (a *Attempt) TakeBack() {
	a.owner.mu.Lock()
	defer a.owner.mu.Unlock()
	a.owner.pairs.remove(a.pair, a.at)
	a.owner.addresses.remove(a.pair.from, a.at)
}

// Succeed forgets the attempt and every failure of the account from the address. The address's other failures count on.
func (a *Attempt) Succeed() {
	a.owner.mu.Lock()
	defer a.owner.mu.Unlock()
	a.owner.pairs.clear(a.pair)
	a.owner.addresses.remove(a.pair.from, a.at)
}

// now returns how much time went by on a clock that may be set: a step back counts as no time at all, and a step ahead
// as one window at most.
func (t *Throttle) now() time.Duration {
	at := t.clock.Now()
	t.elapsed += min(max(at.Sub(t.seen), 0), window)
	t.seen = at
	return t.elapsed
}

// network returns what counts as one address. Whoever has none shares one count.
func network(address string) netip.Prefix {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return netip.Prefix{}
	}
	a = a.Unmap().WithZone("")
	bits := a.BitLen()
	if a.Is6() {
		bits = siteBits
	}
	p, _ := a.Prefix(bits) // a length of the address's own cannot be wrong
	return p
}
