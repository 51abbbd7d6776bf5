package httpserver

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Config is the address of a server and the limits of its clients. Zero limits take the defaults.
type Config struct {
	Addr    string
	TLSCert string // with TLSKey: serve only TLS; both are read again when they change
	TLSKey  string

	MaxConns       int           // open connections; more wait in the kernel's queue
	MaxHeaderBytes int           // 64 KiB
	HeaderTimeout  time.Duration // from the first byte of a request to the end of its header: 10 s
	BodyTimeout    time.Duration // from the header to the end of the body: 60 s
	IdleTimeout    time.Duration // between requests of one connection: 2 min
	StallTimeout   time.Duration // longest time in which a client reads nothing: 60 s
	EndGrace       time.Duration // time for pending requests at the end: 2 s
}

// The defaults of a Config.
const (
	defaultMaxHeader = 64 << 10
	defaultHeader    = 10 * time.Second
	defaultBody      = 60 * time.Second
	defaultIdle      = 2 * time.Minute
	defaultStall     = 60 * time.Second
	defaultGrace     = 2 * time.Second
)

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&c.HeaderTimeout, defaultHeader)
	set(&c.BodyTimeout, defaultBody)
	set(&c.IdleTimeout, defaultIdle)
	set(&c.StallTimeout, defaultStall)
	set(&c.EndGrace, defaultGrace)
	c.MaxHeaderBytes = cmp.Or(c.MaxHeaderBytes, defaultMaxHeader)
	if c.MaxConns == 0 {
		c.MaxConns = defaultMaxConns()
	}
	return c
}

// Server is one listening address. Its methods are called in the order Open, Serve, Close, End, each after the previous
// one has returned. Close and End may be called without the others.
type Server struct {
	cfg     Config
	log     *slog.Logger
	http    *http.Server
	life    context.Context
	cut     context.CancelFunc
	ln      net.Listener
	served  net.Listener // ln, with TLS if it is configured
	serving sync.WaitGroup
	closing atomic.Bool
}

// New makes a server. Nothing listens yet.
func New(cfg Config, log *slog.Logger) *Server {
	s := &Server{cfg: cfg.withDefaults(), log: log}
	s.life, s.cut = context.WithCancel(context.Background())
	s.http = &http.Server{
		ReadHeaderTimeout: s.cfg.HeaderTimeout,
		IdleTimeout:       s.cfg.IdleTimeout,
		MaxHeaderBytes:    s.cfg.MaxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return s.life },
	}
	return s
}

// Open loads the certificate and takes the address: requests wait for Serve. The errors name the flag at fault.
func (s *Server) Open(ctx context.Context) error {
	tlsConf, err := s.tls()
	if err != nil {
		return err
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", s.cfg.Addr)
	if err != nil {
		return unbound(s.cfg.Addr, err)
	}
	s.ln = limit(ln, s.cfg.MaxConns, s.cfg.StallTimeout)
	s.served = s.ln
	if tlsConf != nil {
		s.served = tls.NewListener(s.ln, tlsConf)
	}
	return nil
}

// unbound says what to do about an address that cannot be taken.
func unbound(addr string, err error) error {
	advice := "set addr to an address of this machine, such as 127.0.0.1:8080"
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		advice = "stop the process that uses it, or choose another port"
	case errors.Is(err, syscall.EACCES):
		advice = "choose a port above 1023, or give the process the capability CAP_NET_BIND_SERVICE"
	}
	return fmt.Errorf("addr: %w; %s", err, advice)
}

// Serve answers requests to the open address until Close. failed is called, from a goroutine of the server, if serving
// ends by itself.
func (s *Server) Serve(h http.Handler, failed func(error)) {
	s.http.Handler = bodyDeadline(h, s.cfg.BodyTimeout)
	s.serving.Go(func() {
		if err := s.http.Serve(s.served); err != nil && !s.closing.Load() {
			failed(fmt.Errorf("serve %s: %w", s.cfg.Addr, err))
		}
	})
}

func (s *Server) tls() (*tls.Config, error) {
	if s.cfg.TLSCert == "" && s.cfg.TLSKey == "" {
		return nil, nil
	}
	cert, err := newCertificate(s.cfg.TLSCert, s.cfg.TLSKey, lookEvery, s.log)
	if err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: cert.get, NextProtos: []string{"h2", "http/1.1"}}, nil
}

// Addr returns the address that is listened on, nil before Open.
func (s *Server) Addr() net.Addr {
	if s.ln == nil {
		return nil
	}
	return s.ln.Addr()
}

// Scheme returns "https" if the server uses TLS, else "http".
func (s *Server) Scheme() string {
	if s.cfg.TLSCert != "" {
		return "https"
	}
	return "http"
}

// Close stops accepting connections and returns when the address is free. Pending requests and streams continue.
func (s *Server) Close() error {
	if s.ln == nil || s.closing.Swap(true) {
		return nil
	}
	s.http.SetKeepAlivesEnabled(false)
	err := s.ln.Close()
	s.serving.Wait()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close %s: %w", s.cfg.Addr, err)
	}
	return nil
}

// End waits a short grace for pending requests, then ends the contexts of the rest, including streams, and then closes
// their connections.
func (s *Server) End(ctx context.Context) error {
	err := s.Close()
	for _, step := range []func(){s.cut, func() {}} {
		graceful, cancel := context.WithTimeout(ctx, s.cfg.EndGrace)
		down := s.http.Shutdown(graceful)
		cancel()
		step()
		if down == nil {
			return err
		}
	}
	return errors.Join(err, s.http.Close())
}
