package compose

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/system"
)

// Settings are all that a server can be told. A zero value of a time or a size is the default of what it is for.
type Settings struct {
	Addr    string // host:port to listen on
	DB      string // the path of an SQLite file, or a postgres:// URL
	DataDir string // empty: beside the database
	RunsDir string // empty: in memory where there is room, else below the data directory
	TLSCert string
	TLSKey  string

	RunTimeout   time.Duration // for runs that set none; 0 is no limit
	Executors    int           // runs at once; 0 executes nothing
	DefaultForks int
	RetainRuns   time.Duration // 0 keeps everything
	RetainEvents time.Duration
	LogCap       int64
	KillGrace    time.Duration
	DrainTimeout time.Duration
	WorkDir      string // empty: the working directory
	Name         string // empty: the id that the data directory keeps
	Queues       []string

	Open            bool
	MetricsAuth     bool
	StrictGrants    bool // restrict objects that carry no grant as well
	ReadOnly        bool // refuse every change that a request asks for
	InsecureCookies bool // session cookies also over plain http from other machines
	SessionTTL      time.Duration
	OIDC            OIDC
	SAML            SAML
	Events          string // memory or nats://...
	PublicURL       string
	TrustedProxies  []netip.Prefix

	// SigningKeyFile and SigningKey give the keys that sign the audit trail, as a file or as its text; both empty: signing.key
	// in the data directory, which a first start makes.
	SigningKeyFile string
	SigningKey     secret.Text
	AuditBeat      time.Duration

	// EncryptionKeyFile and EncryptionKey give the keys that seal secrets, as a file or as its text; both empty: encryption.key in
	// the data directory, which a first start makes.
	EncryptionKeyFile string
	EncryptionKey     secret.Text
	Catalog           Catalog

	Info system.Info
	Log  *slog.Logger
	// Announce is where the first start prints the admin token, once.
	Announce io.Writer
}

// Catalog are the settings of what people launch and of what launches it.
type Catalog struct {
	LocalProjects string         // absolute; file projects lie below it; empty: there are none
	Catchup       time.Duration  // how late a missed schedule still fires; 0 is never late
	AllowPrivate  []netip.Prefix // private networks that inventory sources may fetch from
}

// minBeat keeps the trail from filling itself.
const minBeat = time.Second

// Validate returns an error that names the first flag that makes no sense.
func (s *Settings) Validate() error {
	if s.Log == nil || s.Announce == nil {
		return errors.New("compose: a log and a place for announcements are required")
	}
	host, _, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return fmt.Errorf("addr: expected host:port: %w", err)
	}
	switch {
	case s.DB == "":
		return errors.New("db: expected a path or a postgres:// URL")
	case s.Open && !loopback(host):
		return fmt.Errorf("open: without tokens only a loopback address may be listened on, not %q", s.Addr)
	case (s.TLSCert == "") != (s.TLSKey == ""):
		return errors.New("tls-cert and tls-key belong together")
	case s.Executors < 0 || s.Executors > maxExecutors:
		return fmt.Errorf("executors: expected a number from 0 to %d", maxExecutors)
	case s.SessionTTL < 0:
		return errors.New("session-ttl: must not be negative")
	case s.AuditBeat < 0 || s.AuditBeat > 0 && s.AuditBeat < minBeat:
		return fmt.Errorf("audit-beat: expected %s or more", minBeat)
	case s.SigningKeyFile != "" && s.SigningKey != "":
		return errors.New("signing-key-file: the environment gives another signing key")
	case s.EncryptionKeyFile != "" && s.EncryptionKey != "":
		return errors.New("encryption-key-file: the environment gives another encryption key")
	case s.Catalog.Catchup < 0:
		return errors.New("schedule-catchup: must not be negative")
	case s.DefaultForks < 0:
		return errors.New("default-forks: must not be negative")
	}
	if _, err := busOf(s.Events); err != nil {
		return err
	}
	if s.PublicURL != "" {
		if _, err := webAddress("public-url", s.PublicURL); err != nil {
			return err
		}
	}
	return errors.Join(s.OIDC.validate(s), s.SAML.validate(s))
}

const maxExecutors = 10_000

func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// dataDir returns the absolute path of the data directory: as told, else hidden beside the database.
func (s *Settings) dataDir() (string, error) {
	dir := s.DataDir
	if dir == "" {
		dir = ".writ"
		if storeOf(s.DB) == SQLite {
			base := filepath.Base(s.DB)
			dir = filepath.Join(filepath.Dir(s.DB), "."+strings.TrimSuffix(base, filepath.Ext(base)))
		}
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("data-dir: %w", err)
	}
	return abs, nil
}
