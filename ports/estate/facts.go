package estate

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/runs"
)

// Facts are the facts of a host by key. A key has the names of the members on the way to a value, joined by dots; a
// name that is empty or contains a dot or a quote is a JSON string. A value is JSON: a scalar, an empty object or a
// list.
type Facts map[string]json.RawMessage

// Reading is what one gathering found on a host. Facts that change all the time (Volatile) are known of the newest
// reading of a host alone.
type Reading struct {
	Host        string
	Facts       Facts
	GatheredAt  time.Time
	RunID       string
	InventoryID string // of the run, empty for none
}

// AtQuery selects readings at an instant: of each host the newest one at or before At.
type AtQuery struct {
	At time.Time
	// Query keeps the hosts whose facts it fits, empty every host. The guide host-queries has its language.
	Query string
	// Keys are the facts that are returned, each with all keys below it. None returns every fact.
	Keys []string
	// After is the name after which the page begins, and Limit the number of its hosts; 0 is any number.
	After string
	Limit int
}

// Selected reports whether keys select a fact: each selects its own and all below it, no keys select every fact.
func Selected(key string, keys []string) bool {
	return len(keys) == 0 || slices.ContainsFunc(keys, func(k string) bool {
		return strings.HasPrefix(key, k) && (len(key) == len(k) || key[len(k)] == '.')
	})
}

// AtSummary describes the estate at an instant.
type AtSummary struct {
	At    time.Time
	Count int // of the hosts that were yielded
	// Withheld counts all hosts that the caller may not see, whatever the query and the page: their newest reading is one
	// of a run that it may not read.
	Withheld int
	// Horizon is the oldest reading that the caller may see, zero if there is none. BeforeHistory means that At is before
	// it.
	Horizon       time.Time
	BeforeHistory bool
	HasMore       bool
}

// FactChange is a fact with its value at each end of a time, nil where there was none.
type FactChange struct {
	Key      string
	From, To json.RawMessage
}

// HostChange are the facts of a host that differ, by key. At least one does.
type HostChange struct {
	Host  string
	Facts []FactChange
}

// DiffSummary describes the hosts of a diff. Every host that was ever gathered by To is in exactly one of the lists and
// counts, by name.
type DiffSummary struct {
	From, To time.Time
	// Added were first gathered in the time, Unobserved were not gathered in it.
	Added, Unobserved []string
	// Changed counts the hosts that were yielded, Unchanged those that were gathered in the time and found identical.
	Changed, Unchanged int
	// Withheld counts hosts of which the caller may not read the run of one end.
	Withheld      int
	Horizon       time.Time
	BeforeHistory bool
}

// Bucket is a part of a time: how many readings it has, and how many of them found something else than the one before.
// A caller counts the latter if it may read both.
type Bucket struct {
	At       time.Time
	Readings int64
	Changed  int64
}

// MaxBuckets bounds a timeline, MaxChanges the changes of a host that are read at once.
const (
	MaxBuckets = 1000
	MaxChanges = 500
)

// Estate answers what the fleet is and was.
type Estate interface {
	// At calls yield with the readings of a query by name of host. Errors: Invalid faults name the field; those of yield.
	At(ctx context.Context, q AtQuery, yield func(Reading) error) (AtSummary, error)
	// Diff calls yield with the hosts that changed between two instants, by name. A zero to is now. Errors: Invalid faults
	// name the field, also of a from that is after to; those of yield.
	Diff(ctx context.Context, from, to time.Time, yield func(HostChange) error) (DiffSummary, error)
	// Timeline returns equal parts of the time between two instants, each of whole hours, the last hour with to in it.
	// There are at most as many as buckets. A zero from is 30 days before to. Errors: Invalid faults name the field.
	Timeline(ctx context.Context, from, to time.Time, buckets int) ([]Bucket, error)
	// Newest returns the newest reading of a host. Errors: HostNotFound, also if the caller may not read its run.
	Newest(ctx context.Context, host string) (Reading, error)
	// Changed returns when facts of a host changed last, by key: the time of the reading that found the present value,
	// of the newest MaxChanges changes. Facts that have not changed since are absent. A change counts if the caller may
	// read both readings.
	Changed(ctx context.Context, host string) (map[string]time.Time, error)
}

// GatheredFacts are facts to store. Objects are those of the run, nil if they are not known.
type GatheredFacts struct {
	Host       string
	GatheredAt time.Time
	RunID      string
	// Run is the record of the run, nil if it was deleted. Objects are its objects, nil if they are not known.
	Run     *runs.Run
	Objects []string
	// Stable are compared and kept, Volatile are kept of the newest reading.
	Stable, Volatile Facts
}

// FactStore stores readings as differences.
type FactStore interface {
	// Record stores readings, in any order of time. One that is stored already changes nothing: a host has one reading of
	// a run at an instant. Of several runs in one microsecond, each after the first is a microsecond later, in the order
	// of their ids if they come together.
	Record(ctx context.Context, list []GatheredFacts) error
	// At yields what the reader may read, by name of host after q.After, with the facts of Keys, and ignores Query and
	// Limit.
	At(ctx context.Context, q AtQuery, reader access.Scope, yield func(Reading) error) error
	// Withheld counts the hosts whose newest reading at or before a time the reader may not read.
	Withheld(ctx context.Context, at time.Time, reader access.Scope) (int, error)
	// Diff leaves the horizon out.
	Diff(ctx context.Context, from, to time.Time, reader access.Scope, yield func(HostChange) error) (DiffSummary, error)
	Timeline(ctx context.Context, from, to time.Time, buckets int, reader access.Scope) ([]Bucket, error)
	Newest(ctx context.Context, host string, reader access.Scope) (Reading, error)
	Changed(ctx context.Context, host string, reader access.Scope) (map[string]time.Time, error)
	// Horizon returns the time of the oldest reading that the reader may read, zero if there is none.
	Horizon(ctx context.Context, reader access.Scope) (time.Time, error)
}
