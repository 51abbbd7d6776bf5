package saml

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/fault"
)

const (
	maxMetadata    = 2 << 20
	loadTimeout    = 10 * time.Second
	metadataAge    = time.Hour       // the interval of reads
	rotationPause  = time.Minute     // between two reads because of an unknown key
	failurePause   = 5 * time.Second // between two reads that fail
	metadataMaxAge = 24 * time.Hour  // while it cannot be read again
)

// issuer is the identity provider according to its metadata.
type issuer struct {
	entityID   string
	sso        string // address for requests by redirect
	certs      []*x509.Certificate
	validUntil time.Time // zero for no end
}

func (i *issuer) valid(now time.Time) bool { return i.validUntil.IsZero() || now.Before(i.validUntil) }

// source reads the provider's metadata on demand and caches it. The cache bridges an outage of the provider for at
// most a day, so that an attacker who blocks the reads cannot keep a revoked key valid.
type source struct {
	url, file string
	client    *http.Client
	clock     clock.Clock
	log       *slog.Logger
	readLock  chan struct{} // held by the reader

	mu             sync.Mutex
	known          *issuer
	loaded, failed time.Time
	turned         time.Time // last read because of an unknown key
	failure        error
}

func newSource(url, file string, client *http.Client, clock clock.Clock, log *slog.Logger) *source {
	return &source{url: url, file: file, client: client, clock: clock, log: log, readLock: make(chan struct{}, 1)}
}

// current returns the provider, read again if the cache is too old. Errors: Unavailable if it is neither cached nor
// readable.
func (s *source) current(ctx context.Context) (*issuer, error) {
	if p, fresh, err := s.held(); fresh {
		return p, err
	}
	select {
	case s.readLock <- struct{}{}:
		defer func() { <-s.readLock }()
	case <-ctx.Done():
		return nil, unavailable(ctx.Err())
	}
	if p, fresh, err := s.held(); fresh {
		return p, err
	}
	s.load(ctx)
	p, _, err := s.held()
	return p, err
}

// held returns the cached provider. fresh reports that no read is needed now: the cache is recent, or the last read
// failed just now.
func (s *source) held() (p *issuer, fresh bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	usable := s.known != nil && s.known.valid(now) && now.Sub(s.loaded) < metadataMaxAge
	if usable {
		fresh = now.Sub(s.loaded) < metadataAge || now.Sub(s.failed) < rotationPause
		return s.known, fresh, nil
	}
	cause := s.failure
	if cause == nil {
		cause = errors.New("the metadata is not valid any more")
	}
	return nil, now.Sub(s.failed) < failurePause, unavailable(cause)
}

// rotated reads the metadata again because a signature matches no key of old. It returns nil if the provider is
// unchanged or the next read is not allowed yet.
func (s *source) rotated(ctx context.Context, old *issuer) *issuer {
	select {
	case s.readLock <- struct{}{}:
		defer func() { <-s.readLock }()
	case <-ctx.Done():
		return nil
	}
	s.mu.Lock()
	known, wait := s.known, s.clock.Now().Sub(s.turned) < rotationPause
	if known == old && !wait {
		s.turned = s.clock.Now()
	}
	s.mu.Unlock()
	if known != old {
		return known
	}
	if wait {
		return nil
	}
	s.load(ctx)
	if p, _, err := s.held(); err == nil && p != old {
		return p
	}
	return nil
}

// load reads the metadata. It does not end with the caller's request, because other callers wait for it.
func (s *source) load(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
	defer cancel()
	p, err := s.read(ctx)
	if err == nil && !p.valid(s.clock.Now()) {
		err = errors.New("it is not valid any more")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.failed, s.failure = s.clock.Now(), err
		s.log.Warn("saml metadata cannot be read", "error", err.Error(), "known", s.known != nil)
		return
	}
	s.known, s.loaded, s.failure = p, s.clock.Now(), nil
	s.log.Info("saml metadata read", "entity_id", p.entityID, "keys", len(p.certs))
}

func (s *source) read(ctx context.Context) (*issuer, error) {
	if s.file != "" {
		return fromFile(s.file)
	}
	b, err := s.fetch(ctx)
	if err != nil {
		return nil, err
	}
	return parseMetadata(b)
}

func fromFile(name string) (*issuer, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := bounded(f)
	if err != nil {
		return nil, err
	}
	return parseMetadata(b)
}

func (s *source) fetch(ctx context.Context) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/samlmetadata+xml, application/xml, text/xml")
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if err := trustedAddress(resp.Request.URL.String()); err != nil {
		return nil, fmt.Errorf("where it was redirected to: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer is %s", resp.Status)
	}
	return bounded(resp.Body)
}

func bounded(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxMetadata+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxMetadata {
		return nil, errors.New("it is too large")
	}
	return b, nil
}

func unavailable(cause error) error {
	f := fault.Wrap(fault.Unavailable, cause, "the identity provider's metadata cannot be read")
	f.RetryAfter = failurePause
	return f
}
