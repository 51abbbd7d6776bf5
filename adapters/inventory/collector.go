package inventory

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/plaintext"
)

var _ catalog.Collector = (*Collector)(nil)

// DefaultTimeout is the default of Config.Timeout.
const DefaultTimeout = 2 * time.Minute

// maxSentence is the maximum length, in characters, of a reported line of a program's output.
const maxSentence = 300

// maxCause is the maximum length, in bytes, of what is reported of a program's standard error: its end.
const maxCause = 3900

// Config configures programs and limits access.
type Config struct {
	// TempDir is the parent of the directories, with mode 0700, in which scripts and plugins run; empty means the
	// system's temporary directory.
	TempDir string
	// Egress defines the addresses from which documents may be fetched. The zero value allows only public addresses;
	// Allow adds others.
	Egress egress.Policy
	// Resolver looks up hosts, and TLS configures private certificate authorities; nil means the defaults of the
	// machine.
	Resolver *net.Resolver
	TLS      *tls.Config
	// AnsibleInventory is a name to look up in PATH or an absolute path; empty means ansible-inventory.
	AnsibleInventory string
	// Boundary is where scripts and plugins run, and the program that starts them. Where it keeps nothing apart, or is
	// nil, they are refused unless AllowPrograms is set, and then run as the account of this process.
	Boundary      *boundary.Boundary
	AllowPrograms bool
	// Timeout limits one collection; 0 means DefaultTimeout.
	Timeout time.Duration
	// Environ is added to the environment of the program as NAME=value. The only other variable from this process is
	// PATH. Errors do not contain the values of variables with secret-looking names.
	Environ []string
}

// Collector collects inventories. It is safe for concurrent use and stateless between collections.
type Collector struct {
	cfg  Config
	path string // the PATH for programs
}

// New returns a Collector. Whether ansible-inventory is installed is only checked by the first source that needs it.
func New(c Config) *Collector {
	c.AnsibleInventory = cmp.Or(c.AnsibleInventory, "ansible-inventory")
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	path := cmp.Or(os.Getenv("PATH"), "/usr/local/bin:/usr/bin:/bin")
	return &Collector{cfg: c, path: path}
}

// If the caller's context ends, the error is that of the context.
func (k *Collector) Collect(ctx context.Context, c catalog.Collection) ([]byte, catalog.Format, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, k.cfg.Timeout,
		refuse("the source did not answer within %s", k.cfg.Timeout))
	defer cancel()
	collect := map[catalog.SourceKind]func(context.Context, catalog.Collection) ([]byte, catalog.Format, error){
		catalog.HTTPSource: k.overHTTP, catalog.ProjectSource: k.fromProject, catalog.ScriptSource: k.fromScript,
		catalog.PluginSource: k.fromPlugin,
	}[c.Kind]
	if collect == nil {
		return nil, "", refuse("there are no sources of the kind %.40q", string(c.Kind))
	}
	content, format, err := collect(ctx, c)
	if err == nil && len(content) > catalog.MaxInventory {
		err = refuse("the inventory has %d bytes, at most %d are taken", len(content), catalog.MaxInventory)
	}
	if err != nil {
		return nil, "", scrubbed(failure(ctx, err), secretsOf(c.Access))
	}
	return content, format, nil
}

// refuse returns the fault of a source that returned no inventory.
func refuse(format string, args ...any) *fault.Error {
	return catalog.RefreshFailed.New(format, args...)
}

// failure keeps faults, distinguishes a timeout from the end of the caller's context, and converts other errors to
// faults.
func failure(ctx context.Context, err error) error {
	var f *fault.Error
	switch {
	case errors.As(err, &f):
		return f
	case ctx.Err() != nil && errors.As(context.Cause(ctx), &f):
		return f
	case ctx.Err() != nil:
		return fmt.Errorf("collect an inventory: %w", context.Cause(ctx))
	default:
		return refuse("the inventory could not be collected").Because(err)
	}
}

var (
	// private matches paths of sources on this machine, which Ansible repeats and wraps at the hyphen. Messages must
	// not contain them.
	private    = lazyregexp.New(`/\S*writ- ?source-[0-9]+/`)
	userInfo   = lazyregexp.New(`([A-Za-z][A-Za-z0-9+.-]*://)[^/@\s']*@`)
	secretName = lazyregexp.New(`(?i)pass|secret|token|key|credential|auth`)
)

// clean returns one line of limited length without secrets: its beginning.
func clean(text string, secrets []string) string {
	return plaintext.Cut(line(text, secrets), maxSentence)
}

// cleanEnd is clean for what a program said last: the end of the line.
func cleanEnd(text string, secrets []string) string {
	text = line(text, secrets)
	if len(text) > maxCause {
		text = "…" + strings.ToValidUTF8(text[len(text)-maxCause:], "")
	}
	return text
}

// line returns a text as one line without secrets.
func line(text string, secrets []string) string {
	text = scrub(text, secrets)
	text = userInfo.ReplaceAllString(text, "$1")
	return private.ReplaceAllString(plaintext.Line(text, len(text)), "")
}

// secretsIn returns the texts of all members with secret-looking names, at any depth.
func secretsIn(v any, secret bool) []string {
	var out []string
	switch v := v.(type) {
	case string:
		if secret {
			out = append(out, v)
		}
	case map[string]any:
		for name, member := range v {
			out = append(out, secretsIn(member, secret || secretName.MatchString(name))...)
		}
	case []any:
		for _, member := range v {
			out = append(out, secretsIn(member, secret)...)
		}
	}
	return out
}
