package signin

import (
	"crypto/sha256"
	"net/netip"
	"sync"
	"time"

	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/identity"
)

const (
	// window is the time in which failures are counted.
	window = time.Minute
	// perPair and perAddress limit the failures in any window.
	perPair    = 10
	perAddress = 100
	// perAccount is how many sign-ins of an account in any window are as quick as can be, over all addresses. Each
	// further one takes slowness longer.
	perAccount = 100
	slowness   = time.Second
	// capacity limits the entries of each table. A failure costs the hashing of a password, so a table of this size
	// cannot be filled within a window. Beginnings cost nothing; they have a table of their own, which an attacker can
	// fill without removing failures.
	capacity = 1 << 16
	// siteBits is the part of an IPv6 address that counts, because a caller has all addresses of its network.
	siteBits = 64
)

// throttle limits how fast passwords can be guessed: ten failures in a minute of one account from one address, and a
// hundred from one address. An attempt counts from its beginning, so that parallel attempts cannot exceed a limit, and
// is taken back if it turns out to be no failure. Attempts from many addresses at one account are slowed and never
// refused, so that nobody can lock an account.
//
// It also limits how often an address begins sign-ins without a password: a hundred times in a minute, counted
// separately.
//
// The counts are in the memory of this process. It is safe for concurrent use.
type throttle struct {
	clock clock.Clock

	mu        sync.Mutex
	seen      time.Time     // the last time of the clock
	elapsed   time.Duration // monotonic
	pairs     table[pair]
	addresses table[netip.Prefix]
	accounts  table[digest] // of all attempts, also those that succeed
	begun     table[netip.Prefix]
}

// digest is a hashed name, because of the memory of long names.
type digest [sha256.Size]byte

// pair is an account's name and an address.
type pair struct {
	name digest
	from netip.Prefix
}

func newThrottle(c clock.Clock) *throttle {
	return &throttle{
		clock: c, seen: c.Now(),
		pairs:     table[pair]{limit: perPair, capacity: capacity},
		addresses: table[netip.Prefix]{limit: perAddress, capacity: capacity},
		accounts:  table[digest]{limit: perAccount, capacity: capacity},
		begun:     table[netip.Prefix]{limit: perAddress, capacity: capacity},
	}
}

// attempt is one attempt in progress. It counts as a failure unless takeBack or succeed is called.
type attempt struct {
	owner *throttle
	pair  pair
	at    time.Duration
	delay time.Duration // before the password may be verified
}

// begin counts an attempt to sign in to an account from an address. Beyond a limit it returns TooManyAttempts with the
// time to wait; first reports that it is the first refusal since the last admitted attempt. A name that no account has
// is counted alike.
func (t *throttle) begin(name, address string) (a *attempt, first bool, err error) {
	p := pair{name: sha256.Sum256([]byte(name)), from: network(address)}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	waitPair, firstOfPair := t.pairs.wait(p, now)
	waitAddress, firstOfAddress := t.addresses.wait(p.from, now)
	if wait := max(waitPair, waitAddress); wait > 0 {
		f := identity.TooManyAttempts.New("too many attempts failed; try again later")
		f.RetryAfter = wait
		return nil, firstOfPair || firstOfAddress, f
	}
	t.pairs.add(p, now)
	t.addresses.add(p.from, now)
	a = &attempt{owner: t, pair: p, at: now}
	if t.accounts.push(p.name, now) {
		a.delay = slowness
	}
	return a, false, nil
}

// count counts the beginning of a sign-in without a password. Beyond the limit of the address it returns
// TooManyAttempts with the time to wait; first reports that it is the first refusal since the last admitted beginning.
func (t *throttle) count(address string) (first bool, err error) {
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

// takeBack removes the attempt, whose password was not verified. Only one of takeBack and succeed may be called, once.
func (a *attempt) takeBack() {
	a.owner.mu.Lock()
	defer a.owner.mu.Unlock()
	a.owner.pairs.remove(a.pair, a.at)
	a.owner.addresses.remove(a.pair.from, a.at)
	a.owner.accounts.remove(a.pair.name, a.at)
}

// succeed removes the attempt and every failure of the account from the address. Other failures from the address, and
// the attempts at the account, stay.
func (a *attempt) succeed() {
	a.owner.mu.Lock()
	defer a.owner.mu.Unlock()
	a.owner.pairs.clear(a.pair)
	a.owner.addresses.remove(a.pair.from, a.at)
}

// now returns the elapsed time on a clock that may be set: a step back counts as no time, and a step ahead as one
// window at most.
func (t *throttle) now() time.Duration {
	at := t.clock.Now()
	t.elapsed += min(max(at.Sub(t.seen), 0), window)
	t.seen = at
	return t.elapsed
}

// network returns the part of an address that is counted. All texts that are no address share one count.
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
	p, _ := a.Prefix(bits) // fails for too many bits only
	return p
}
