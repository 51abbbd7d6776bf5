package compose

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/mail"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/execution"
	portidentity "github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/proof"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/system"
)

// Executor are the settings of every process that executes runs: a server and both kinds of workers.
type Executor struct {
	DataDir string // empty: the default of each process
	RunsDir string // empty: in memory if possible, else below the data directory
	WorkDir string // empty: the working directory

	Name         string // empty: the id that the data directory keeps
	Queues       []string
	Executors    int           // runs at once; 0 executes nothing
	RunTimeout   time.Duration // for runs that set none; 0 is no limit
	DefaultForks int
	LogCap       int64
	KillGrace    time.Duration
	DrainTimeout time.Duration

	Isolation Isolation
	// PluginsDir is the directory with the executables of plugins; empty: there are none.
	PluginsDir string
	// PluginEnv has variables of plugins and their values by the names of the plugins' files.
	PluginEnv map[string]map[string]secret.Text

	SourcePrograms bool   // scripts and plugins of inventory sources run also where nothing is kept apart
	ConfigFile     string // which no run may read; empty for none

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
	LocalProjects     string         // absolute parent of file projects; empty: none
	AllowPrivate      []netip.Prefix // private networks that inventory sources and notifications may reach
	SourceQueue       string         // whose executors run the programs of inventory sources; empty: the default queue
	Secrets           Secrets
}

// Settings are all settings of a server. A zero time or size means the default of its consumer.
type Settings struct {
	Executor
	Install

	// Docs are the pages of the manual that the web interface shows; nil leaves them out.
	Docs fs.FS

	Addr    string // host:port to listen on
	TLSCert string
	TLSKey  string

	RetainRuns   time.Duration // 0 keeps everything
	ApprovalTTL  time.Duration // 0 holds runs for ever
	RetainEvents time.Duration
	// RetainHistory is how many results are kept of each host; fewer than estate.MinHistory are raised to it.
	RetainHistory int
	Catchup       time.Duration // how late a missed schedule still fires; 0 is never late

	Open            bool
	MetricsAuth     bool
	StrictGrants    bool // restrict objects that carry no grant as well
	ReadOnly        bool // refuse every change by a request
	MCP             bool // agents may speak with the server
	VolatileFacts   []string
	InsecureCookies bool // session cookies also over plain http from other machines
	SessionTTL      time.Duration
	OIDC            OIDC
	SAML            SAML
	Events          string // memory or nats://...
	PublicURL       string
	TrustedProxies  []netip.Prefix

	// WorkerToken admits workers over the relay; empty: there is no relay. WorkerQueues are the queues that they may
	// claim from; none: all.
	WorkerToken  secret.Text
	WorkerQueues []string

	// SigningKeyFile and SigningKey give the keys that sign the audit trail, as a file or as its text; both empty:
	// signing.key in the data directory, which a first start makes.
	SigningKeyFile string
	SigningKey     secret.Text
	AuditBeat      time.Duration
	// AuditOutsiders are the trusted time-stamping authorities and witnesses.
	AuditOutsiders proof.Outsiders

	// AdminPasswordFile has the password of the first account, which a first start makes; empty: it has none.
	AdminPasswordFile string
	adminPassword     portidentity.Password // its text

	// LicenseFile is the licence of the install; empty: none.
	LicenseFile string
	// PolicyFile is the only source of policies; empty: the database.
	PolicyFile string

	Notify Notify
	AI     AI

	demo  *demoContent // nil for every other server
	links *signInLinks // of a desktop, nil for every other server

	// Announce is the output on which the first start prints the admin token, once.
	Announce io.Writer
}

// Secrets are the settings of the engines that read secrets on the server's own machine.
type Secrets struct {
	Env   string // patterns of variables, with commas between them; empty: none
	Files string // absolute parent of the files; empty: none
}

// Notify configures the targets of every run, and the accounts that send mail and messages.
type Notify struct {
	Targets   []notify.Target
	OnFailure bool // failed runs only
	SMTP      SMTP
	Twilio    Twilio
}

// SMTP is the server's mail transport; without an address there is no mail.
type SMTP struct {
	Addr, From, Username string
	Password             secret.Text
}

// Twilio is the server's account for SMS; without an id there is no SMS.
type Twilio struct {
	SID, From string
	Token     secret.Text
}

// validate returns an error that names the invalid flag and does not contain a target.
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
		return errors.New("smtp-addr: is required with smtp-from and smtp-username")
	case (n.SMTP.Username == "") != (n.SMTP.Password == ""):
		return errors.New("smtp-username: set it and the password (WRIT_SMTP_PASSWORD) together")
	case n.Twilio.SID == "" && n.Twilio.From != "", n.Twilio.SID != "" && (n.Twilio.From == "" || n.Twilio.Token == ""):
		return errors.New("twilio-sid: set it, twilio-from and the token (WRIT_TWILIO_TOKEN) together")
	}
	for _, t := range n.Targets {
		switch {
		case t.Kind == "email" && n.SMTP.Addr == "":
			return errors.New("notify-email: needs smtp-addr and smtp-from")
		case t.Kind == "twilio" && n.Twilio.SID == "":
			return errors.New("notify-twilio: needs twilio-sid and twilio-from")
		}
	}
	return nil
}

// minBeat keeps the trail from filling itself.
const minBeat = time.Second

// Validate returns an error that names the first invalid flag.
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
		return fmt.Errorf("open: addr must be a loopback address such as 127.0.0.1:8080, not %q", s.Addr)
	case (s.TLSCert == "") != (s.TLSKey == ""):
		return errors.New("tls-cert and tls-key: set both or none")
	case s.SessionTTL < 0:
		return errors.New("session-ttl: expected zero or more")
	case s.AuditBeat < 0 || s.AuditBeat > 0 && s.AuditBeat < minBeat:
		return fmt.Errorf("audit-beat: expected %s or more", minBeat)
	case s.SigningKeyFile != "" && s.SigningKey != "":
		return errors.New("signing-key-file: WRIT_SIGNING_KEY is set as well; remove one of the two")
	case s.Catchup < 0:
		return errors.New("schedule-catchup: expected zero or more")
	}
	if _, err := busOf(s.Events); err != nil {
		return err
	}
	if s.PublicURL != "" {
		if _, err := webAddress("public-url", s.PublicURL); err != nil {
			return err
		}
	}
	return errors.Join(s.Executor.validate(), s.Install.validate(), s.validateRelay(), s.OIDC.validate(s),
		s.SAML.validate(s), s.Notify.validate(), s.AI.validate())
}

func (s *Settings) validateRelay() error {
	if s.WorkerToken == "" && len(s.WorkerQueues) > 0 {
		return errors.New("worker-queue: has no effect without worker-token")
	}
	if slices.Contains(s.WorkerQueues, "") {
		return errors.New("worker-queue: expected the name of a queue, not an empty text")
	}
	if s.WorkerToken == "" {
		return nil
	}
	if strings.HasPrefix(s.WorkerToken.Reveal(), execution.WorkerTokenPrefix) {
		return fmt.Errorf("worker-token: must not begin with %s: that is the token of one worker",
			execution.WorkerTokenPrefix)
	}
	return workerToken(s.WorkerToken)
}

// minWorkerToken is the minimum length of a worker token, in characters.
const minWorkerToken = 32

// workerToken returns an error that names the flag and does not contain the token. A text that a header cannot
// contain is not a token.
func workerToken(t secret.Text) error {
	for _, c := range []byte(t.Reveal()) {
		if c <= ' ' || c > '~' {
			return errors.New("worker-token: expected printable ASCII characters without spaces")
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
		return errors.New("default-forks: expected zero or more")
	case x.Isolation.Processes < 0:
		return errors.New("run-pids: expected zero or more")
	case x.Isolation.Memory > 0 && x.Isolation.Memory < minRunMemory:
		return errors.New("run-memory: expected 0 or at least 16MiB")
	}
	if _, err := x.Isolation.users(); err != nil {
		return err
	}
	_, err := x.Isolation.profiles()
	return err
}

// validate returns an error that names the flag.
func (i *Install) validate() error {
	if i.EncryptionKeyFile != "" && i.EncryptionKey != "" {
		return errors.New("encryption-key-file: WRIT_ENCRYPTION_KEY is set as well; remove one of the two")
	}
	return nil
}

const maxExecutors = 10_000

// minRunMemory is the least limit of memory with which a tool can start, in bytes.
const minRunMemory = 16 << 20

func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// dataDir returns the absolute path of the data directory: the configured one, else a hidden one next to the database.
func (s *Settings) dataDir() (string, error) {
	dir := s.DataDir
	if dir == "" {
		dir = s.beside("")
	}
	return absolute(dir)
}

// beside returns a hidden directory next to an SQLite database and named after it; for another database it is in the
// working directory.
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
