package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
)

// Target is where a channel delivers to. Which members are set, Kind.Required says; a webhook may also have a key.
type Target struct {
	Kind string
	URL  secret.Text
	Key  secret.Text
	To   string
}

// Message is what a channel delivers.
type Message struct {
	// Delivery names the delivery; each try of one has the same.
	Delivery string
	Event    Event
	Run      *runs.Run       // values of variables may be secret, and channels do not send them
	Record   json.RawMessage // the run as the API shows it, every value of extra_vars redacted
}

// Channel delivers messages of one kind, from many goroutines. Its errors hold no secret, neither of the target nor
// of the server's account; Refused says that another try is useless.
type Channel interface {
	Kind() string
	// Deliver sends one message within the time of ctx. A nil error means that the other side took it.
	Deliver(ctx context.Context, to Target, m Message) error
}

// Renderer makes the record of a run as the API shows it, with every value of its extra variables redacted.
type Renderer interface {
	Record(r *runs.Run) (json.RawMessage, error)
}

// Targets keeps what of targets is secret.
type Targets interface {
	// Seal returns targets as records hold them, in the same order, with what is secret of those without a Ref sealed.
	// The others stay as they are. An Invalid fault names the member, under notifications[i], that is a mask. It reads
	// keys, and is called outside of units.
	Seal(ctx context.Context, list []runs.Notification) (SealedTargets, error)
	// Save stores what was sealed, equal targets once, and returns the targets with their references. It joins the unit
	// of ctx.
	Save(ctx context.Context, t SealedTargets) ([]runs.Notification, error)
	// Echoed returns the targets that a client sent, with those that repeat masks of stored ones as they are stored. A
	// stored key goes nowhere but to the address for which it was given. An Invalid fault names the member, under
	// notifications[i], whose mask nothing stored has, or that several have.
	Echoed(ctx context.Context, input, stored []runs.Notification) ([]runs.Notification, error)
	// Same reports whether targets that a client sent, masks that they repeat included, are the stored ones in their
	// order.
	Same(ctx context.Context, input, stored []runs.Notification) (bool, error)
}

// SealedTargets are targets on their way into a record.
type SealedTargets struct {
	List  []runs.Notification // masked; those of Fresh have no Ref yet
	Fresh []SealedTarget
}

// SealedTarget is what is secret of one target.
type SealedTarget struct {
	At     int    // its place in the list
	Ref    string // under which it is stored where no equal one is
	Digest string // the same for equal ones
	Text   []byte
}

// TargetOpener opens what Targets keeps.
type TargetOpener interface {
	// Open returns where a stored target leads. KeyLost of package secrets where it cannot be opened.
	Open(ctx context.Context, n runs.Notification) (Target, error)
}

// Origin says why somebody is a target.
type Origin string

// The origins.
const (
	OfRun       Origin = "run"       // the run names it, or its template
	OfServer    Origin = "server"    // a flag of the server names it
	OfExtension Origin = "extension" // a notifier of an extension
)

// Status is how far a delivery has come.
type Status string

// The statuses.
const (
	Pending   Status = "pending"
	Delivered Status = "delivered"
	Failed    Status = "failed"  // dropped after the last try
	Skipped   Status = "skipped" // the target does not hear of this; Reason says why
)

// Delivery is what was sent, or not, to one target about one event of a run.
type Delivery struct {
	ID        string // nty_...
	RunID     string
	Event     Event
	Origin    Origin
	Position  int               // of the target within its origin; what happened to a run reaches a position once
	Kind      string            // or the name of an extension's notifier
	Target    runs.Notification // masked; zero for an extension's notifier. Ref is kept for targets of runs
	Digest    string            // of a target of the server, which finds it again among the flags; empty for others
	Status    Status
	Reason    string // why it failed or was skipped, one sentence; empty otherwise
	Attempts  int
	CreatedAt time.Time
	EndedAt   time.Time // zero while pending
}

// Lane names what deliveries to one target have in common, also those of other runs: the digest, the Ref or the name
// of a notifier. It holds no secret and has at most 128 bytes.
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

// Reader tells what was sent.
type Reader interface {
	// List returns the deliveries about a run, oldest first, and how many there are. RunNotFound of package runs for an
	// unknown run and for one that the caller may not read.
	List(ctx context.Context, runID string, w page.Window) ([]Delivery, int, error)
}

// Store keeps deliveries and sealed targets. Writes join the unit of ctx; its time is the store's own.
type Store interface {
	// InsertDeliveries stores those that are not there yet, by run, event, origin and position, and reports how many
	// were new. A run that is gone takes none and is no error.
	InsertDeliveries(ctx context.Context, list []Delivery) (int, error)
	ListDeliveries(ctx context.Context, runID string, w page.Window) ([]Delivery, int, error)
	// TakeDeliveries returns at most limit pending deliveries that are due, the longest due first, counts a try of each
	// and books them for the given time, so that of several servers one has each. Of one lane it returns at most one,
	// and of the lanes in full none, so that a target that is slow keeps no other one waiting. wait is how long until
	// the next pending one of another lane than those in full is due, where booked ones are due at the end of their
	// time; 0 where none ever is.
	TakeDeliveries(ctx context.Context, limit int, visibility time.Duration, full []string) (list []Delivery,
		wait time.Duration, err error)
	// EndDelivery stores how a delivery ended. One that is gone or ended already is no error.
	EndDelivery(ctx context.Context, id string, s Status, reason string) error
	// DeferDelivery makes a pending one due after a time, with why the last try failed.
	DeferDelivery(ctx context.Context, id, reason string, after time.Duration) error
}

// TargetRecord is for which record the target of a ref is sealed.
func TargetRecord(ref string) string { return "target/" + ref }

// TargetStore keeps what of targets is secret, sealed.
type TargetStore interface {
	// SaveTarget stores a sealed target under ref and returns the ref that rules: of two with one digest the first
	// stays. Of units that keep the same one at once the later ones wait for the first to end, so that whoever keeps
	// several in one unit does so by digest, in order.
	SaveTarget(ctx context.Context, ref, digest string, sealed []byte) (string, error)
	// SealedTarget returns a sealed target. TargetNotFound.
	SealedTarget(ctx context.Context, ref string) ([]byte, error)
}

// Meter counts what became of notifications. It is safe for concurrent use.
type Meter interface {
	// Count counts one that was delivered, dropped or skipped. The kind is that of a target, or the name of an
	// extension's notifier where origin says so.
	Count(origin Origin, kind string, s Status)
}
