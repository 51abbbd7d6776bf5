package estate

import (
	"context"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
)

// Bounds of ignore rules. MaxWildcards is of one pattern.
const (
	MaxIgnores   = 500
	MaxWildcards = 8
)

// Ignore leaves findings out whose host and resource fit: names with * for any text. Its name is both patterns.
type Ignore struct {
	object.Record
	Host, Resource string
	Reason         string
	ExpiresAt      time.Time // zero for never
}

// Fits reports whether a rule leaves out a finding while it is in force.
func (i *Ignore) Fits(host, resource string) bool {
	return fits(i.Host, host) && fits(i.Resource, resource)
}

// fits reports whether a text fits a pattern.
func fits(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	last := len(parts) - 1
	if last == 0 {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	for _, p := range parts[1:last] {
		if _, text, ok = strings.Cut(text, p); !ok {
			return false
		}
	}
	return strings.HasSuffix(text, parts[last])
}

// Ignores manages what is left out of drift. Errors: IgnoreNotFound, NameTaken for a rule with the same patterns,
// TooManyIgnores, RevisionChanged; Invalid faults name the field.
type Ignores interface {
	Create(ctx context.Context, i Ignore) (Ignore, error)
	Get(ctx context.Context, id string) (Ignore, error)
	List(ctx context.Context, w page.Window) ([]Ignore, int, error)
	Update(ctx context.Context, id string, revision int64, i Ignore) (Ignore, error)
	Delete(ctx context.Context, id string, revision int64) error
}

// IgnoreStore stores ignore rules.
type IgnoreStore interface {
	Insert(ctx context.Context, i Ignore) error
	ByID(ctx context.Context, id string) (Ignore, error)
	// List returns rules by name, those with the given name unless it is empty.
	List(ctx context.Context, name string, w page.Window) ([]Ignore, int, error)
	Update(ctx context.Context, i Ignore, revision int64) (Ignore, error)
	Delete(ctx context.Context, id string, revision int64) error
	// Active returns the rules in force at an instant, at most MaxIgnores.
	Active(ctx context.Context, now time.Time) ([]Ignore, error)
}
