package relayclient

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
)

// defaultWait is how long a claim waits for a run by default.
const defaultWait = 10 * time.Second

// Config holds the server and the identity of a worker.
type Config struct {
	// Server is the address of the server: http or https; a path before the relay's is kept. A proxy from the
	// environment is used only for https, where it cannot read the traffic.
	Server string
	Token  secret.Text // the worker token of the install
	// Worker is the worker's name, without the prefix of relay workers. It executes at least one run at once.
	Worker execution.RelayPeer
	Queues []string // queues of requests that name none; empty: the default queue
	// Wait is how long a claim waits at the server for a run, in whole seconds, at most execution.RelayWait; zero means
	// 10 s. While one claim waits, every other one returns nothing. Below one second claims do not wait, and any number
	// is made at once.
	Wait time.Duration
	// StateDir is an absolute path that no other worker uses.
	StateDir string
	Heads    audit.HeadStore // stores signed heads of the audit trail; nil stores none
	// Installer installs the requirements of projects that the server leaves to workers; nil: the server fails their runs.
	Installer catalog.Installer
	CAFile    string       // PEM, trusted for https in place of the system's roots; empty means the system's roots
	Log       *slog.Logger // nil logs nothing
}

// check returns the parsed address, or an Invalid fault that names the first wrong member.
func (c *Config) check() (*url.URL, error) {
	base, err := address(c.Server)
	switch {
	case err != nil:
		return nil, err
	case !visible(c.Token.Reveal()):
		return nil, fault.BadField("worker-token", "has to be given, and to be of visible characters without spaces")
	case c.Worker.Name == "" || strings.HasPrefix(c.Worker.Name, execution.RelayPrefix):
		return nil, fault.BadField("worker.name", "has to be given, without %q in front", execution.RelayPrefix)
	case c.Worker.Executors < 1:
		return nil, fault.BadField("worker.executors", "a worker executes at least one run at once")
	case c.Wait < 0 || c.Wait > execution.RelayWait:
		return nil, fault.BadField("wait", "a claim waits for at most %s", execution.RelayWait)
	case !filepath.IsAbs(c.StateDir):
		return nil, fault.BadField("state-dir", "must be an absolute path")
	}
	return base, nil
}

// filled returns c with its defaults.
func (c Config) filled() Config {
	c.Wait = cmp.Or(c.Wait, defaultWait)
	if len(c.Queues) == 0 {
		c.Queues = []string{runs.DefaultQueue}
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	c.Worker.Installs = c.Installer != nil
	return c
}

// address parses the address of a server. Its errors omit the address, which may contain a password.
func address(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "":
		return nil, fault.BadField("server", "has to be an address of http or https")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, fault.BadField("server", "takes neither a user nor a password, a query or a fragment")
	}
	return u, nil
}

// authorities reads the trusted roots; nil means the system's roots.
func authorities(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("ca-file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fault.BadField("ca-file", "holds no certificate in PEM")
	}
	return pool, nil
}

// maxHeader is the longest proof in a header.
const maxHeader = 1024

// visible reports whether a text can be sent in a header unchanged: visible ASCII, not empty.
func visible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return s != "" && len(s) <= maxHeader
}
