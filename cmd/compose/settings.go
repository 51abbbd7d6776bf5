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
	"slices"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/proof"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/system"
)

// Executor are the settings of every process that executes runs: a server and both kinds of workers.
type Executor struct {
	DataDir string // empty: see each of them
	RunsDir string // empty: in memory where there is room, else below the data directory
	WorkDir string // empty: the working directory

	Name         string // empty: the id that the data directory keeps
	Queues       []string
	Executors    int           // runs at once; 0 executes nothing
	RunTimeout   time.Duration // for runs that set none; 0 is no limit
	DefaultForks int
	LogCap       int64
	KillGrace    time.Duration
	DrainTimeout time.Duration

	Info system.Info
	Log  *slog.Logger
	// Options replace adapters and add subscribers.
	Options []Option
}

// Install are the settings of every process that works on the database of an install: a server, and a worker over the
// database.
type Install struct {
	DB string // the path of an SQLite file, or a postgres:// URL

	// EncryptionKeyFile and EncryptionKey give the keys that seal secrets, as a file or as its text; both empty:
	// encryption.key in the data directory, which the first start of a server makes.
	EncryptionKeyFile string
	EncryptionKey     secret.Text
	LocalProjects     string         // absolute; file projects lie below it; empty: there are none
	AllowPrivate      []netip.Prefix // private networks that inventory sources and notifications may reach
	Secrets           Secrets
}

// Settings are all that a server can be told. A zero value of a time or a size is the default of what it is for.
type Settings struct {
	Executor
	Install

	Addr    string // host:port to listen on
	TLSCert string
	TLSKey  string

	RetainRuns   time.Duration // 0 keeps everything
	RetainEvents time.Duration
	Catchup      time.Duration // how late a missed schedule still fires; 0 is never late

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

	// WorkerToken lets workers in over the relay; empty: there is no relay. WorkerQueues are those whose runs they may
	// have; none: all.
	WorkerToken  secret.Text
	WorkerQueues []string

	// SigningKeyFile and SigningKey give the keys that sign the audit trail, as a file or as its text; both empty:
	// signing.key in the data directory, which a first start makes.
	SigningKeyFile string
	SigningKey     secret.Text
	AuditBeat      time.Duration
	// AuditOutsiders are the time-stamping authorities and witnesses that are believed.
	AuditOutsiders proof.Outsiders

	Notify Notify

	// Announce is where the first start prints the admin token, once.
	Announce io.Writer
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
	if s.Announce == nil {
		return errors.New("compose: a place for announcements is required")
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
	case s.SessionTTL < 0:
		return errors.New("session-ttl: must not be negative")
	case s.AuditBeat < 0 || s.AuditBeat > 0 && s.AuditBeat < minBeat:
		return fmt.Errorf("audit-beat: expected %s or more", minBeat)
	case s.SigningKeyFile != "" && s.SigningKey != "":
		return errors.New("signing-key-file: the environment gives another signing key")
	case s.Catchup < 0:
		return errors.New("schedule-catchup: must not be negative")
	}
	if _, err := busOf(s.Events); err != nil {
		return err
	}
	if s.PublicURL != "" {
		if _, err := webAddress("public-url", s.PublicURL); err != nil {
			return err
		}
	}
	return errors.Join(s.Executor.validate(), s.Install.validate(), s.validateRelay(), s.OIDC.validate(s), s.SAML.validate(s), s.Notify.validate())
}

func (s *Settings) validateRelay() error {
	if s.WorkerToken == "" && len(s.WorkerQueues) > 0 {
		return errors.New("worker-queue: is of no use without worker-token")
	}
	if slices.Contains(s.WorkerQueues, "") {
		return errors.New("worker-queue: a queue needs a name")
	}
	if s.WorkerToken == "" {
		return nil
	}
	return workerToken(s.WorkerToken)
}

// minWorkerToken is how many characters a worker token has at least.
const minWorkerToken = 32

// workerToken returns an error that names the flag, and shows nothing of the token. What a header cannot carry is no
// token.
func workerToken(t secret.Text) error {
	for _, c := range []byte(t.Reveal()) {
		if c <= ' ' || c > '~' {
			return errors.New("worker-token: expected letters, digits and signs without spaces")
		}
	}
	if len(t.Reveal()) < minWorkerToken {
		return fmt.Errorf("worker-token: expected at least %d characters", minWorkerToken)
	}
	return nil
}

// validate returns an error that names the flag.
func (x *Executor) validate() error {
	switch {
	case x.Log == nil:
		return errors.New("compose: a log is required")
	case x.Executors < 0 || x.Executors > maxExecutors:
		return fmt.Errorf("executors: expected a number from 0 to %d", maxExecutors)
	case x.DefaultForks < 0:
		return errors.New("default-forks: must not be negative")
	}
	return nil
}

// validate returns an error that names the flag.
func (i *Install) validate() error {
	if i.EncryptionKeyFile != "" && i.EncryptionKey != "" {
		return errors.New("encryption-key-file: the environment gives another encryption key")
	}
	return nil
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
		dir = s.beside("")
	}
	return absolute(dir)
}

// beside is a directory hidden beside an SQLite database and named after it; of another database it is in the working
// directory.
func (i *Install) beside(suffix string) string {
	if storeOf(i.DB) != SQLite {
		return ".writ" + suffix
	}
	base := filepath.Base(i.DB)
	return filepath.Join(filepath.Dir(i.DB), "."+strings.TrimSuffix(base, filepath.Ext(base))+suffix)
}

func absolute(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("data-dir: %w", err)
	}
	return abs, nil
}
