package argon2

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"runtime"
	"time"

	"golang.org/x/crypto/argon2"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

// maxWaiting is how many callers may wait for their hash. At 25 ms for each, the last one of them waits for 1.6 s on a
// single core.
const maxWaiting = 64

// Hasher implements identity.Hasher. It is safe for concurrent use.
type Hasher struct {
	places chan struct{} // one for who is at work and who waits
	cores  chan struct{} // one for who is at work
	derive func(p identity.Password, h phc) []byte
}

var _ identity.Hasher = (*Hasher)(nil)

// New makes a Hasher for as many hashes at once as the process has cores.
func New() *Hasher { return newHasher(max(1, runtime.GOMAXPROCS(0)), maxWaiting) }

func newHasher(atOnce, waiting int) *Hasher {
	return &Hasher{places: make(chan struct{}, atOnce+waiting), cores: make(chan struct{}, atOnce), derive: derive}
}

// derive computes the key of a password with the salt and the costs of h, as long as that of h.
func derive(p identity.Password, h phc) []byte {
	return argon2.IDKey([]byte(p), h.salt, h.passes, h.memory, h.threads, uint32(len(h.key)))
}

func (x *Hasher) Hash(ctx context.Context, p identity.Password) (string, error) {
	h := phc{params: today(), salt: make([]byte, saltLen), key: make([]byte, keyLen)}
	if _, err := rand.Read(h.salt); err != nil {
		return "", err
	}
	leave, err := x.enter(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	h.key = x.derive(p, h)
	return h.String(), nil
}

// A hash that is neither empty nor readable is an error that does not show it.
func (x *Hasher) Verify(ctx context.Context, p identity.Password, hash string) (ok, outdated bool, err error) {
	h := phc{params: today(), salt: make([]byte, saltLen), key: make([]byte, keyLen)} // of no password
	if hash != "" {
		if h, err = parse(hash); err != nil {
			return false, false, err
		}
	}
	leave, err := x.enter(ctx)
	if err != nil {
		return false, false, err
	}
	defer leave()
	ok = subtle.ConstantTimeCompare(x.derive(p, h), h.key) == 1 && hash != ""
	return ok, ok && !h.current(), nil
}

// enter waits for a core and returns what gives it back. It returns an Unavailable fault where too many wait already,
// and where ctx ends first.
func (x *Hasher) enter(ctx context.Context) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, unavailable(err)
	}
	select {
	case x.places <- struct{}{}:
	default:
		return nil, unavailable(errors.New("argon2: too many passwords wait"))
	}
	select {
	case x.cores <- struct{}{}:
		return func() { <-x.cores; <-x.places }, nil
	case <-ctx.Done():
		<-x.places
		return nil, unavailable(ctx.Err())
	}
}

func unavailable(cause error) error {
	f := fault.Wrap(fault.Unavailable, cause, "too many passwords are being checked")
	f.RetryAfter = time.Second
	return f
}
