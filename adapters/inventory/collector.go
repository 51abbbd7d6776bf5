package inventory

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
)

var _ catalog.Collector = (*Collector)(nil)

// DefaultTimeout is how long one collection may take where a Config says nothing.
const DefaultTimeout = 2 * time.Minute

// maxSentence is how many characters of what a program said are passed on.
const maxSentence = 300

// Config says what may be reached and run.
type Config struct {
	// TempDir is where scripts and plugins get a directory of their own with mode 0700; empty is the system's.
	TempDir string
	// Egress says which addresses documents may come from. The zero value allows public ones alone; Allow names others.
	Egress egress.Policy
	// Resolver looks hosts up and TLS is for authorities of the own; nil are the machine's.
	Resolver *net.Resolver
	TLS      *tls.Config
	// AnsibleInventory is the program, a name that is looked up in PATH or an absolute path; empty is ansible-inventory.
	AnsibleInventory string
	// Timeout is that of one collection; 0 is DefaultTimeout.
	Timeout time.Duration
	// Environ is added to the environment of the program as NAME=value. Nothing else of this process but PATH gets
	// there. The values of names that speak of secrets are taken out of errors.
	Environ []string
}

// Collector collects inventories. It is safe for concurrent use and keeps nothing between two collections.
type Collector struct {
	cfg  Config
	path string // the PATH of programs
}

// New makes a Collector. Whether ansible-inventory is there shows with the first source that needs it.
func New(c Config) *Collector {
	if c.AnsibleInventory == "" {
		c.AnsibleInventory = "ansible-inventory"
	}
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	path := os.Getenv("PATH")
	if path == "" {
		path = "/usr/local/bin:/usr/bin:/bin"
	}
	return &Collector{cfg: c, path: path}
}

// Where the caller's context ends the error is that of the context.
func (k *Collector) Collect(ctx context.Context, c catalog.Collection) ([]byte, catalog.Format, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, k.cfg.Timeout, refuse("the source did not answer within %s", k.cfg.Timeout))
	defer cancel()
	collect := map[catalog.SourceKind]func(context.Context, catalog.Collection) ([]byte, catalog.Format, error){
		catalog.HTTPSource: k.overHTTP, catalog.ProjectSource: k.fromProject, catalog.ScriptSource: k.fromScript, catalog.PluginSource: k.fromPlugin,
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

// refuse makes the fault of a source that gave nothing.
func refuse(format string, args ...any) *fault.Error {
	return catalog.RefreshFailed.New(format, args...)
}

// failure keeps faults as they are, tells the time that ran out from the caller who left, and makes a fault of
// anything else.
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
	// private is where a source lies on this machine, which Ansible repeats and wraps at the hyphen. Nobody is told.
	private    = regexp.MustCompile(`/\S*writ- ?source-[0-9]+/`)
	userInfo   = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^/@\s']*@`)
	secretName = regexp.MustCompile(`(?i)pass|secret|token|key|credential|auth`)
)

// clean makes one bounded line without secrets.
func clean(text string, secrets []string) string {
	text = scrub(text, secrets)
	text = userInfo.ReplaceAllString(text, "$1")
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	text = private.ReplaceAllString(strings.Join(strings.Fields(text), " "), "")
	if r := []rune(text); len(r) > maxSentence {
		text = string(r[:maxSentence-1]) + "…"
	}
	return text
}

// secretsIn lists the texts of members whose names speak of secrets, however deep.
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
