package httpserver

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/writ-automation/writ/platform/clock"
)

// lookEvery is how long a certificate is used before its files are checked again.
const lookEvery = 5 * time.Second

// certificate serves the pair of files, and reads replaced files, so that a renewal needs no restart.
type certificate struct {
	certFile, keyFile string
	every             time.Duration
	log               *slog.Logger

	mu     sync.Mutex
	pair   *tls.Certificate
	stamp  [2]fileStamp
	looked clock.Stopwatch
}

// fileStamp identifies a version of a file.
type fileStamp struct {
	modified time.Time
	size     int64
}

// newCertificate loads the pair. It returns an error if that fails.
func newCertificate(certFile, keyFile string, every time.Duration, log *slog.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, every: every, log: log}
	stamp, err := c.stamps()
	if err == nil {
		err = c.load(stamp)
	}
	if err != nil {
		return nil, fmt.Errorf("tls-cert, tls-key: %w; name a certificate and its private key, both PEM", err)
	}
	return c, nil
}

// get is the GetCertificate of a tls.Config. If files cannot be read, or do not match each other while they are being
// replaced, the previous pair stays in use.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.looked.Elapsed() < c.every {
		return c.pair, nil
	}
	c.looked = clock.Start()
	stamp, err := c.stamps()
	if err == nil && stamp != c.stamp {
		if err = c.load(stamp); err == nil {
			c.log.Info("the TLS certificate was renewed", "file", c.certFile)
		}
	}
	if err != nil {
		c.log.Warn("the TLS certificate could not be read again; the previous one stays in use", "error", err)
	}
	return c.pair, nil
}

func (c *certificate) load(stamp [2]fileStamp) error {
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return err
	}
	c.pair, c.stamp, c.looked = &pair, stamp, clock.Start()
	return nil
}

func (c *certificate) stamps() (out [2]fileStamp, err error) {
	for i, name := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(name)
		if err != nil {
			return out, err
		}
		out[i] = fileStamp{info.ModTime(), info.Size()}
	}
	return out, nil
}
