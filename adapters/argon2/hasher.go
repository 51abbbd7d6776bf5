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

// maxWaiting is the number of callers that may wait. At 25 ms per hash the last one waits 1.6 s on a single core.
const maxWaiting = 64

// Hasher implements identity.Hasher. It is safe for concurrent use.
type Hasher struct {
	places chan struct{} // one for each running or waiting caller
	cores  chan struct{} // one for each running caller
	derive func(p identity.Password, h phc) []byte
}

var _ identity.Hasher = (*Hasher)(nil)

// New creates a Hasher that runs as many hashes at once as the process has cores.
func New() *Hasher { return newHasher(max(1, runtime.GOMAXPROCS(0)), maxWaiting) }

func newHasher(atOnce, waiting int) *Hasher {
	return &Hasher{places: make(chan struct{}, atOnce+waiting), cores: make(chan struct{}, atOnce), derive: derive}
}

// derive computes the key of a password with the salt, the costs and the key length of h.
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

// A stored hash that is neither empty nor well-formed is an error that does not contain it.
func (x *Hasher) Verify(ctx context.Context, p identity.Password, hash string) (ok, outdated bool, err error) {
	h := phc{params: today(), salt: make([]byte, saltLen), key: make([]byte, keyLen)} // matches no password
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

// enter waits for a core and returns the function that releases it. It returns an Unavailable fault if too many
// callers wait already or ctx ends first.
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
