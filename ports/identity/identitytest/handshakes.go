package identitytest

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

func handshakeCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"a handshake is taken once":            handshakeOnce,
		"of many takers one succeeds":          handshakeRace,
		"a handshake of another kind":          handshakeKind,
		"a handshake expires":                  handshakeExpires,
		"a taking that fails":                  handshakeRolledBack,
		"what is witnessed is new once":        seenOnce,
		"of many witnesses one is the first":   seenRace,
		"what is witnessed is forgotten later": seenExpires,
		"a witness that fails":                 seenRolledBack,
		"expired ones are purged":              handshakesPurged,
	}
}

// crowd is the number of concurrent callers.
const crowd = 16

// life outlasts every test, and instant expires at once.
const (
	life    = time.Hour
	instant = time.Millisecond
)

func (e *env) save(t *testing.T, hash [32]byte, kind string, data []byte, ttl time.Duration) {
	t.Helper()
	e.must(t, func(ctx context.Context) error { return e.Handshakes.SaveHandshake(ctx, hash, kind, data, ttl) })
}

func (e *env) take(t *testing.T, hash [32]byte, kind string) ([]byte, error) {
	t.Helper()
	var data []byte
	err := e.do(t, func(ctx context.Context) error {
		var err error
		data, err = e.Handshakes.TakeHandshake(ctx, hash, kind)
		return err
	})
	return data, err
}

func (e *env) markSeen(ctx context.Context, hash [32]byte, ttl time.Duration) (fresh bool, err error) {
	err = e.Unit.Do(ctx, func(ctx context.Context) error {
		var err error
		fresh, err = e.Handshakes.MarkSeen(ctx, hash, ttl)
		return err
	})
	return fresh, err
}

func handshakeOnce(t *testing.T, e *env) {
	_, err := e.take(t, [32]byte{1}, "oidc")
	wantFault(t, err, identity.HandshakeNotFound)
	for i, data := range [][]byte{[]byte(odd), {}, nil, {0, 255, 0, 128, 39}, bytes.Repeat([]byte{0, 1, 254}, 20000)} {
		hash := [32]byte{0, 255, byte(i)}
		e.save(t, hash, "oidc", data, identity.HandshakeTTL)
		e.save(t, [32]byte{0, 255, byte(i), 1}, "oidc", []byte("another"), life)
		got, err := e.take(t, hash, "oidc")
		noError(t, err)
		if !bytes.Equal(got, data) {
			t.Errorf("data of %d bytes come back as %d bytes", len(data), len(got))
		}
		_, err = e.take(t, hash, "oidc")
		wantFault(t, err, identity.HandshakeNotFound)
	}
	got, err := e.take(t, [32]byte{0, 255, 0, 1}, "oidc")
	noError(t, err)
	same(t, "another one", "another", string(got))
}

func handshakeRace(t *testing.T, e *env) {
	hash := [32]byte{31: 7}
	for range 3 {
		e.save(t, hash, "saml", []byte("state"), life)
		same(t, "takers", int64(1), wins(t, crowd, identity.HandshakeNotFound, func(int) error {
			return e.Unit.Do(t.Context(), func(ctx context.Context) error {
				data, err := e.Handshakes.TakeHandshake(ctx, hash, "saml")
				if err == nil && string(data) != "state" {
					t.Errorf("the taker gets %q", data)
				}
				return err
			})
		}))
	}
}

func handshakeKind(t *testing.T, e *env) {
	hash := [32]byte{1}
	e.save(t, hash, "oidc", []byte("state"), life)
	for _, kind := range []string{"saml", "", "OIDC", "%", "oid"} {
		_, err := e.take(t, hash, kind)
		wantFault(t, err, identity.HandshakeNotFound)
	}
	got, err := e.take(t, hash, "oidc")
	noError(t, err)
	same(t, "data", "state", string(got))
}

func handshakeExpires(t *testing.T, e *env) {
	hash := [32]byte{1}
	e.save(t, [32]byte{2}, "oidc", []byte("kept"), life)
	e.save(t, hash, "oidc", nil, instant)
	// A take that is rolled back leaves the handshake, so only expiry removes it.
	eventually(t, "the handshake expires", func() bool {
		err := e.do(t, func(ctx context.Context) error {
			if _, err := e.Handshakes.TakeHandshake(ctx, hash, "oidc"); err != nil {
				return err
			}
			return errAbandoned
		})
		if !errors.Is(err, errAbandoned) {
			wantFault(t, err, identity.HandshakeNotFound)
		}
		return identity.HandshakeNotFound.Is(err)
	})
	e.save(t, [32]byte{3}, "oidc", nil, -time.Second)
	_, err := e.take(t, [32]byte{3}, "oidc")
	wantFault(t, err, identity.HandshakeNotFound)
	_, err = e.take(t, [32]byte{2}, "oidc")
	noError(t, err)
}

func handshakeRolledBack(t *testing.T, e *env) {
	hash := [32]byte{1}
	e.save(t, hash, "oidc", []byte("state"), life)
	err := e.do(t, func(ctx context.Context) error {
		if _, err := e.Handshakes.TakeHandshake(ctx, hash, "oidc"); err != nil {
			return err
		}
		if err := e.Handshakes.SaveHandshake(ctx, [32]byte{2}, "oidc", nil, life); err != nil {
			return err
		}
		return errAbandoned
	})
	if !errors.Is(err, errAbandoned) {
		t.Fatalf("the unit ends with %v", err)
	}
	_, err = e.take(t, [32]byte{2}, "oidc")
	wantFault(t, err, identity.HandshakeNotFound)
	_, err = e.take(t, hash, "oidc")
	noError(t, err)
}

func seenOnce(t *testing.T, e *env) {
	e.save(t, [32]byte{1}, "saml", nil, life) // handshakes and seen hashes are separate
	for _, hash := range [][32]byte{{}, {1}, {31: 1}, {0, 255, 39}} {
		for i := range 3 {
			fresh, err := e.markSeen(t.Context(), hash, life)
			noError(t, err)
			same(t, "fresh", i == 0, fresh)
		}
	}
	_, err := e.take(t, [32]byte{1}, "saml")
	noError(t, err)
}

func seenRace(t *testing.T, e *env) {
	for i := range byte(3) {
		same(t, "new to one", 1, e.firsts(t, [32]byte{i, 7}))
		same(t, "new to nobody", 0, e.firsts(t, [32]byte{i, 7}))
	}
}

// firsts counts for how many concurrent callers a hash is new.
func (e *env) firsts(t *testing.T, hash [32]byte) int {
	t.Helper()
	var count atomic.Int64
	txtest.Together(crowd, func(int) {
		fresh, err := e.markSeen(t.Context(), hash, life)
		if err != nil {
			t.Errorf("witness: %v", err)
		}
		if fresh {
			count.Add(1)
		}
	})
	return int(count.Load())
}

// expired marks a hash as seen for an instant and waits until it expires, without marking it again.
func (e *env) expired(t *testing.T, hash [32]byte) {
	t.Helper()
	if _, err := e.markSeen(t.Context(), hash, instant); err != nil {
		t.Fatal(err)
	}
	eventually(t, "what was witnessed expires", func() bool {
		var fresh bool
		err := e.do(t, func(ctx context.Context) error {
			var err error
			if fresh, err = e.Handshakes.MarkSeen(ctx, hash, life); err != nil {
				return err
			}
			return errAbandoned
		})
		if !errors.Is(err, errAbandoned) {
			t.Fatalf("witness: %v", err)
		}
		return fresh
	})
}

func seenExpires(t *testing.T, e *env) {
	hash, kept := [32]byte{1}, [32]byte{2}
	same(t, "new", 1, e.firsts(t, kept))
	e.expired(t, hash)
	same(t, "new once more to one", 1, e.firsts(t, hash))
	same(t, "another one is not", 0, e.firsts(t, kept))
}

func seenRolledBack(t *testing.T, e *env) {
	hash := [32]byte{1}
	err := e.do(t, func(ctx context.Context) error {
		for i := range 2 {
			fresh, err := e.Handshakes.MarkSeen(ctx, hash, life)
			if err != nil {
				return err
			}
			same(t, "fresh within the unit", i == 0, fresh)
		}
		return errAbandoned
	})
	if !errors.Is(err, errAbandoned) {
		t.Fatalf("the unit ends with %v", err)
	}
	fresh, err := e.markSeen(t.Context(), hash, life)
	noError(t, err)
	same(t, "fresh after the unit", true, fresh)
}

// handshakesPurged: unexpired handshakes stay, whatever the limit is.
func handshakesPurged(t *testing.T, e *env) {
	purge := func(limit, want int) {
		t.Helper()
		n := 0
		e.must(t, func(ctx context.Context) (err error) {
			n, err = e.Handshakes.PurgeHandshakes(ctx, limit)
			return err
		})
		same(t, "purged", want, n)
	}
	purge(10, 0)
	for i := range byte(6) {
		ttl := []time.Duration{life, instant}[i%2]
		e.save(t, [32]byte{i}, "oidc", []byte{i}, ttl)
		if _, err := e.markSeen(t.Context(), [32]byte{i}, ttl); err != nil {
			t.Fatal(err)
		}
	}
	e.expired(t, [32]byte{100})
	purge(2, 4)
	purge(2, 3) // one handshake and two seen hashes
	purge(2, 0)
	for i := range byte(6) {
		_, err := e.take(t, [32]byte{i}, "oidc")
		fresh, other := e.markSeen(t.Context(), [32]byte{i}, life)
		noError(t, other)
		same(t, "fresh after the purge", i%2 == 1, fresh)
		if i%2 == 1 {
			wantFault(t, err, identity.HandshakeNotFound)
		} else {
			noError(t, err)
		}
	}
}
