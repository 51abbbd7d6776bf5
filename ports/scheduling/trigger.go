package scheduling

import (
	"context"
	"net/http"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/secret"
)

// Trigger launches a template when a forge reports a push.
type Trigger struct {
	Record
	TemplateID       string
	RequireSignature bool
	Branch           string   // only pushes to this branch; empty for any
	Events           []string // only these events, by the forge's names; empty for push
	LastFiredAt      time.Time
	LastRunID        string
	LastError        string
}

// NewTrigger is a trigger with the secrets that are shown once.
type NewTrigger struct {
	Trigger
	Token         secret.Text // part of the hook's path
	SigningSecret secret.Text
}

// Triggers manages triggers. Reading one needs read access to its template; writing one needs write access to its
// organization. Errors: TriggerNotFound, NotAllowed.
type Triggers interface {
	// Create creates a trigger with its token and signing secret. The caller needs use access to the template.
	Create(ctx context.Context, t Trigger) (NewTrigger, error)
	Get(ctx context.Context, id string) (Trigger, error)
	List(ctx context.Context, f Filter, w page.Window) ([]Trigger, int, error)
	Update(ctx context.Context, id string, revision int64, t Trigger) (Trigger, error)
	// Rotate creates a new signing secret. The old one is invalid at once.
	Rotate(ctx context.Context, id string) (NewTrigger, error)
	// Delete revokes the hook at once.
	Delete(ctx context.Context, id string, revision int64) error
	// Deliveries lists what was delivered to a trigger, the newest first.
	Deliveries(ctx context.Context, id string, w page.Window) ([]LoggedDelivery, int, error)
}

// StoredTrigger is a trigger with the values that authenticate deliveries.
type StoredTrigger struct {
	Trigger
	TokenHash [32]byte // SHA-256 of the token
	Sealed    []byte   // the signing secret
}

// TriggerStore stores triggers. Writes join the unit of ctx.
type TriggerStore interface {
	InsertTrigger(ctx context.Context, t StoredTrigger) error
	TriggerByID(ctx context.Context, id string) (StoredTrigger, error)
	// TriggerByToken is the only read before the signature is verified. Errors: TriggerNotFound.
	TriggerByToken(ctx context.Context, hash [32]byte) (StoredTrigger, error)
	ListTriggers(ctx context.Context, s access.Scope, f Filter, w page.Window) ([]Trigger, int, error)
	UpdateTrigger(ctx context.Context, t Trigger, revision int64) (Trigger, error)
	// ReplaceSecret stores a new sealed secret and increments the revision. Errors: TriggerNotFound.
	ReplaceSecret(ctx context.Context, id string, sealed []byte, at time.Time) (Trigger, error)
	DeleteTrigger(ctx context.Context, id string, revision int64) error
}

// Delivered is the first answer to a delivery.
type Delivered struct {
	RunID   string
	Ignored string // why no run was started; empty if one was
	Done    bool   // false while it is in progress, or if its server crashed
}

// DeliveryKeys identify a delivery. At least one is not empty.
type DeliveryKeys struct {
	ID   string // the forge's id of the delivery, which nobody signs
	Body string // the digest of an authenticated body
}

// DeliveryStore stores the keys of deliveries.
type DeliveryStore interface {
	// Remember stores the keys of a delivery of a trigger. If one of them is known, fresh is false, was is the answer
	// to the delivery that brought it, and nothing is stored. By the store's clock an ID is known for DeliveryMemory and
	// a Body for BodyMemory. A delivery that is not done within leaseTime is fresh again. Errors: TriggerNotFound.
	Remember(ctx context.Context, triggerID string, k DeliveryKeys, leaseTime time.Duration) (was Delivered, fresh bool,
		err error)
	// SettleDelivery stores the answer and, on the trigger, the time of its last firing with the failure, if any.
	// After a failure the keys are deleted, so that the forge may send the delivery again. So are those of an ignored
	// delivery, which does not change the trigger.
	SettleDelivery(ctx context.Context, triggerID string, k DeliveryKeys, d Delivered, failure string) error
	// ForgetDeliveries deletes the keys that are no longer known.
	ForgetDeliveries(ctx context.Context) error
	// LogDelivery adds a delivery to the log of a trigger, at the time of the store's clock, and deletes those beyond the
	// newest DeliveryLog of it. Errors: TriggerNotFound.
	LogDelivery(ctx context.Context, triggerID string, d LoggedDelivery) error
	// LoggedDeliveries lists the log of a trigger, the newest first, and returns how many there are.
	LoggedDeliveries(ctx context.Context, triggerID string, w page.Window) ([]LoggedDelivery, int, error)
}

// DeliveryLog is how many deliveries of a trigger are logged.
const DeliveryLog = 50

// Verdict is what became of a delivery.
type Verdict string

// The verdicts.
const (
	Fired    Verdict = "fired"    // it launched a run
	Repeated Verdict = "repeated" // it came before, and got its first answer again
	Ignored  Verdict = "ignored"  // it is of no interest to the trigger
	Refused  Verdict = "refused"  // its signature is missing or wrong, or it has no known form
	Failed   Verdict = "failed"   // it launched nothing, and may be sent again
)

// LoggedDelivery is a delivery in the log of its trigger. Its texts are one line each.
type LoggedDelivery struct {
	At         time.Time
	Verdict    Verdict
	Event      string // as in Trigger.Events; empty if no forge was recognized
	DeliveryID string // the forge's; empty if it sent none
	Reason     string // why it launched nothing
	RunID      string
}

const (
	// DeliveryMemory is how long the id of a delivery is known.
	DeliveryMemory = time.Hour
	// BodyMemory is how long an authenticated body is known. Whoever repeats one under another id starts nothing.
	BodyMemory = 24 * time.Hour
)

// MaxHook is the largest size of a delivery, in bytes.
const MaxHook = 5 << 20

// Delivery is the request of a forge as received.
type Delivery struct {
	Token  string
	Header http.Header
	Body   []byte
}

// Hooks receives deliveries.
type Hooks interface {
	// Deliver fires the trigger of the token. A repeated delivery gets the answer of the first one. It ignores a
	// delivery whose launch is TemplateBusy of package runs. Errors:
	// TriggerNotFound for an unknown token; BadSignature before anything except the trigger is read; Invalid for a
	// body that is no push of a known form.
	Deliver(ctx context.Context, d Delivery) (Delivered, error)
}

// Sealer encrypts secrets that are read again. A text that was sealed for one record opens for no other.
type Sealer interface {
	Seal(ctx context.Context, record string, plain []byte) ([]byte, error)
	// Open returns the text. Errors: Conflict if the key that sealed it was removed.
	Open(ctx context.Context, record string, sealed []byte) ([]byte, error)
}
