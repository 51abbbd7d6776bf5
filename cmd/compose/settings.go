package compose

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/mail"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/notify"
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
	Secrets           Secrets
	Notify            Notify

	Info system.Info
	Log  *slog.Logger
	// Announce is where the first start prints the admin token, once.
	Announce io.Writer
}

// Catalog are the settings of what people launch and of what launches it.
type Catalog struct {
	LocalProjects string         // absolute; file projects lie below it; empty: there are none
	Catchup       time.Duration  // how late a missed schedule still fires; 0 is never late
	AllowPrivate  []netip.Prefix // private networks that inventory sources and notifications may reach
}

// Secrets are the settings of the engines that read secrets on the server's own machine.
type Secrets struct {
	Env   string // patterns of variables, with commas between them; empty: none
	Files string // absolute; files lie below it; empty: there are none
}

// Notify says who hears of every run, and through which accounts mail and messages go.
type Notify struct {
	Targets   []notify.Target
	OnFailure bool // of failed runs alone
	SMTP      SMTP
	Twilio    Twilio
}

// SMTP is the server's mail transport; without an address there is none.
type SMTP struct {
	Addr, From, Username string
	Password             secret.Text
}

// Twilio is the server's account for SMS; without an id there is none.
type Twilio struct {
	SID, From string
	Token     secret.Text
}

// validate returns an error that names the flag which makes no sense, and nothing of a target.
func (n *Notify) validate() error {
	if n.SMTP.Addr != "" {
		if _, _, err := net.SplitHostPort(n.SMTP.Addr); err != nil {
			return errors.New("smtp-addr: expected host:port")
		}
		if _, err := mail.ParseAddress(n.SMTP.From); err != nil {
			return errors.New("smtp-from: expected a mail address")
		}
	}
	switch {
	case n.SMTP.Addr == "" && (n.SMTP.From != "" || n.SMTP.Username != ""):
		return errors.New("smtp-addr: is needed with smtp-from and smtp-username")
	case (n.SMTP.Username == "") != (n.SMTP.Password == ""):
		return errors.New("smtp-username: the account and its password (WRIT_SMTP_PASSWORD) belong together")
	case n.Twilio.SID == "" && n.Twilio.From != "", n.Twilio.SID != "" && (n.Twilio.From == "" || n.Twilio.Token == ""):
		return errors.New("twilio-sid: the account, twilio-from and the token (WRIT_TWILIO_TOKEN) belong together")
	}
	for _, t := range n.Targets {
		switch {
		case t.Kind == "email" && n.SMTP.Addr == "":
			return errors.New("notify-email: takes smtp-addr and smtp-from")
		case t.Kind == "twilio" && n.Twilio.SID == "":
			return errors.New("notify-twilio: takes twilio-sid and twilio-from")
		}
	}
	return nil
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
	return errors.Join(s.OIDC.validate(s), s.SAML.validate(s), s.Notify.validate())
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
