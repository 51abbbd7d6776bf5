package scheduling

import (
	"context"
	"net/http"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/secret"
)

// Trigger launches a template when a forge tells of a push.
type Trigger struct {
	Record
	TemplateID       string
	RequireSignature bool
	Branch           string   // only pushes to it; empty: any
	Events           []string // only these, as the forge names them; empty: push
	LastFiredAt      time.Time
	LastRunID        string
	LastError        string
}

// NewTrigger is a trigger with what is shown once.
type NewTrigger struct {
	Trigger
	Token         secret.Text // part of the hook's path
	SigningSecret secret.Text
}

// Triggers keeps triggers. One is read by whoever may read its template, and kept by whoever may keep objects of its
// organization. TriggerNotFound, NotAllowed.
type Triggers interface {
	// Create makes a trigger with its token and its signing secret. The caller has to be able to use the template.
	Create(ctx context.Context, t Trigger) (NewTrigger, error)
	Get(ctx context.Context, id string) (Trigger, error)
	List(ctx context.Context, f Filter, w page.Window) ([]Trigger, int, error)
	Update(ctx context.Context, id string, revision int64, t Trigger) (Trigger, error)
	// Rotate makes a new signing secret; the old one holds no more.
	Rotate(ctx context.Context, id string) (NewTrigger, error)
	// Delete revokes the hook at once.
	Delete(ctx context.Context, id string, revision int64) error
}

// StoredTrigger is a trigger with what proves deliveries.
type StoredTrigger struct {
	Trigger
	TokenHash [32]byte // SHA-256 of the token
	Sealed    []byte   // the signing secret
}

// TriggerStore keeps triggers. Writes join the unit of ctx.
type TriggerStore interface {
	InsertTrigger(ctx context.Context, t StoredTrigger) error
	TriggerByID(ctx context.Context, id string) (StoredTrigger, error)
	// TriggerByToken is the one reading before a signature holds. TriggerNotFound.
	TriggerByToken(ctx context.Context, hash [32]byte) (StoredTrigger, error)
	ListTriggers(ctx context.Context, s access.Scope, f Filter, w page.Window) ([]Trigger, int, error)
	UpdateTrigger(ctx context.Context, t Trigger, revision int64) (Trigger, error)
	// ReplaceSecret stores a new sealed secret and counts the revision up. TriggerNotFound.
	ReplaceSecret(ctx context.Context, id string, sealed []byte, at time.Time) (Trigger, error)
	DeleteTrigger(ctx context.Context, id string, revision int64) error
}

// Delivered is how a delivery was answered first.
type Delivered struct {
	RunID   string
	Ignored string // why nothing was started; empty where a run was
	Done    bool   // false: it is under way, or its server died
}

// DeliveryStore remembers deliveries.
type DeliveryStore interface {
	// Remember notes a delivery of a trigger, unless one of that id is younger than DeliveryMemory by the store's clock:
	// fresh is false then and was is how that one ended. One that is not done within hold is fresh again.
	Remember(ctx context.Context, triggerID, delivery string, leaseTime time.Duration) (was Delivered, fresh bool, err error)
	// SettleDelivery notes how it ended and, on the trigger, when it fired last, with the failure if there was one;
	// after a failure the delivery is forgotten, so that the forge may send it again.
	SettleDelivery(ctx context.Context, triggerID, delivery string, d Delivered, failure string) error
	// ForgetDeliveries drops those that are older than DeliveryMemory.
	ForgetDeliveries(ctx context.Context) error
}

// DeliveryMemory is how long a delivery's id is remembered.
const DeliveryMemory = time.Hour

// MaxHook is how many bytes a delivery has at most.
const MaxHook = 5 << 20

// Delivery is a request of a forge, as it came.
type Delivery struct {
	Token  string
	Header http.Header
	Body   []byte
}

// Hooks takes deliveries.
type Hooks interface {
	// Deliver fires the trigger of the token. TriggerNotFound for an unknown token; BadSignature, before anything but
	// the trigger was looked up; Invalid for a body that is no push of a known form. What came before is answered with
	// its first result.
	Deliver(ctx context.Context, d Delivery) (Delivered, error)
}

// Sealer keeps secrets that have to be read again. A text that was sealed for one record opens for no other one.
type Sealer interface {
	Seal(ctx context.Context, record string, plain []byte) ([]byte, error)
	// Open returns the text; a Conflict says that the key which sealed it is gone.
	Open(ctx context.Context, record string, sealed []byte) ([]byte, error)
}
