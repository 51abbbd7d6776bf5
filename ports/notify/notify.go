package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
)

// Target is the destination of a channel. Kind.Required lists the members that are set; a webhook may also have a
// key.
type Target struct {
	Kind string
	URL  secret.Text
	Key  secret.Text
	To   string
}

// Message is the message that a channel delivers.
type Message struct {
	// Delivery is the id of the delivery, the same for each try.
	Delivery string
	Event    Event
	Run      *runs.Run       // values of variables may be secret, and channels do not send them
	Record   json.RawMessage // the run in the form of the API, with every value of extra_vars redacted
	// Drift is what DriftFound is about, nil for other events. Link is the address of the page about it, empty if the
	// server's own address is not known.
	Drift *estate.DriftFound
	Link  string
}

// Channel delivers messages of one kind, from many goroutines. Its errors contain no secret of the target or of the
// server's account. Refused means that another try is useless.
type Channel interface {
	Kind() string
	// Deliver sends one message within the time of ctx. A nil error means that the receiver accepted it.
	Deliver(ctx context.Context, to Target, m Message) error
}

// Renderer makes the record of a run in the form of the API, with every value of its extra variables redacted.
type Renderer interface {
	Record(r *runs.Run) (json.RawMessage, error)
}

// Targets seals the secret parts of targets.
type Targets interface {
	// Seal returns targets in the form of records, in the same order. It seals the secret parts of targets without a
	// Ref; the others stay unchanged. An Invalid fault names a member that is a mask, under notifications[i]. Seal
	// reads keys, and is called outside of units.
	Seal(ctx context.Context, list []runs.Notification) (SealedTargets, error)
	// Save stores the sealed parts, equal targets once, and returns the targets with their references. It joins the
	// unit of ctx.
	Save(ctx context.Context, t SealedTargets) ([]runs.Notification, error)
	// Echoed returns the targets that a client sent, and replaces those that repeat the masks of stored ones by the
	// stored ones. A stored key is only sent to the address that it was set for. An Invalid fault names a member,
	// under notifications[i], whose mask matches no stored target or several.
	Echoed(ctx context.Context, input, stored []runs.Notification) ([]runs.Notification, error)
	// Same reports whether the targets that a client sent equal the stored ones in their order. A repeated mask
	// equals the stored value.
	Same(ctx context.Context, input, stored []runs.Notification) (bool, error)
}

// SealedTargets are targets that are to be stored in a record.
type SealedTargets struct {
	List  []runs.Notification // masked; those of Fresh have no Ref yet
	Fresh []SealedTarget
}

// SealedTarget is the secret part of one target.
type SealedTarget struct {
	At     int    // its place in the list
	Ref    string // under which it is stored if there is no equal one
	Digest string // the same for equal ones
	Text   []byte
}

// TargetOpener opens targets that Targets has stored.
type TargetOpener interface {
	// Open returns the destination of a stored target. It returns KeyLost of package secrets if the target cannot be
	// opened.
	Open(ctx context.Context, n runs.Notification) (Target, error)
}

// Origin is the reason why a target receives a notification.
type Origin string

// The origins.
const (
	OfRun       Origin = "run"       // the run names it, or its template
	OfServer    Origin = "server"    // a flag of the server names it
	OfExtension Origin = "extension" // a notifier of an extension
)

// Status is the state of a delivery.
type Status string

// The statuses.
const (
	Pending   Status = "pending"
	Delivered Status = "delivered"
	Failed    Status = "failed"  // dropped after the last try
	Skipped   Status = "skipped" // the target does not receive this event, for the Reason
)

// Delivery is the notification of one target about one event of a run, sent or not.
type Delivery struct {
	ID    string // nty_...
	RunID string // of a top-level run, or of a step that is held
	Event Event
	// Cause tells apart what happens to a run several times: the id of the message of DriftFound, empty otherwise.
	Cause     string
	Drift     *estate.DriftFound // nil for other events
	Origin    Origin
	Position  int               // of the target within its origin; it gets an event of a run with a cause once
	Kind      string            // or the name of an extension's notifier
	Target    runs.Notification // masked; zero for an extension's notifier. Ref is kept for targets of runs
	Digest    string            // identifies a target of the server among its flags; empty for others
	Status    Status
	Reason    string // why it failed or was skipped, one sentence; empty otherwise
	Attempts  int
	CreatedAt time.Time
	EndedAt   time.Time // zero while pending
}

// Lane identifies the target of a delivery, also between runs: the digest, the Ref or the name of a notifier. It
// contains no secret and has at most 128 bytes.
func (d Delivery) Lane() string {
	switch {
	case d.Digest != "":
		return d.Digest
	case d.Origin != OfExtension && d.Target.Ref != "":
		return d.Target.Ref
	}
	sum := sha256.Sum256([]byte(string(d.Origin) + "\x00" + d.Kind + "\x00" + d.Target.URL + "\x00" + d.Target.To))
	return hex.EncodeToString(sum[:])
}

// Reader lists deliveries.
type Reader interface {
	// List returns the deliveries about a run, the oldest first, and their total number. It returns RunNotFound of
	// package runs for an unknown run and for one that the caller may not read.
	List(ctx context.Context, runID string, w page.Window) ([]Delivery, int, error)
}

// Store stores deliveries and sealed targets. Writes join the unit of ctx. Times come from the store's own clock.
type Store interface {
	// InsertDeliveries stores the deliveries that do not exist yet, by run, event, cause, origin and position, and
	// returns the number of new ones. It skips deliveries of a deleted run.
	InsertDeliveries(ctx context.Context, list []Delivery) (int, error)
	ListDeliveries(ctx context.Context, runID string, w page.Window) ([]Delivery, int, error)
	// TakeDeliveries returns at most limit pending deliveries that are due, the longest due first. It counts a try of
	// each and claims it for the given time, so that only one of several servers has it. It returns at most one of
	// each lane and none of the lanes in full, so that a slow target delays no other one. wait is the time until the
	// next pending delivery of a lane that is not in full is due; a claimed one is due when its claim expires. wait
	// is 0 if there is none.
	TakeDeliveries(ctx context.Context, limit int, visibility time.Duration, full []string) (list []Delivery,
		wait time.Duration, err error)
	// EndDelivery stores the end of a delivery. It ignores a delivery that was deleted or has ended.
	EndDelivery(ctx context.Context, id string, s Status, reason string) error
	// DeferDelivery makes a pending delivery due after a time, with the reason why the last try failed.
	DeferDelivery(ctx context.Context, id, reason string, after time.Duration) error
}

// TargetRecord returns the record name for which the target of a ref is sealed.
func TargetRecord(ref string) string { return "target/" + ref }

// TargetStore stores the sealed parts of targets.
type TargetStore interface {
	// SaveTarget stores a sealed target under ref, or returns the ref of a stored one with the same digest.
	// Concurrent units that store the same target wait for each other, so that a unit with several targets must store
	// them in the order of their digests.
	SaveTarget(ctx context.Context, ref, digest string, sealed []byte) (string, error)
	// SealedTarget returns a sealed target, or TargetNotFound.
	SealedTarget(ctx context.Context, ref string) ([]byte, error)
}

// Meter counts the results of notifications. It is safe for concurrent use.
type Meter interface {
	// Count counts a delivered, dropped or skipped notification. The kind is that of a target, or the name of an
	// extension's notifier if origin says so.
	Count(origin Origin, kind string, s Status)
}
