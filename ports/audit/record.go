package audit

import (
	"context"
	"encoding/hex"
	"strconv"
	"sync"

	"github.com/writ-automation/writ/ports/actor"
)

// Outcome is the result of a request.
type Outcome string

// The outcomes.
const (
	Applied Outcome = "applied"
	Denied  Outcome = "denied"
	Failure Outcome = "failed"
)

// Object is the subject of an entry. Kind and ID are part of the chain; the name is a disclosure and can be erased.
type Object struct{ Kind, ID, Name string }

// Entry is an entry to record. The actor, the address and the request come from the context, see actor.
type Entry struct {
	Action  Action
	Object  Object  // the zero value is none
	Run     string  // id of the top-level run that the entry belongs to
	Outcome Outcome // empty is Applied
	// By replaces the actor of the context, for example by the worker that ended a run.
	By *actor.Actor
	// Detail is the document of the request: values of JSON, whole numbers, no secret. The chain holds its digest; the
	// store holds the document with a salt, and can erase it.
	Detail map[string]any
	// Text is free text of a person, such as the reason of a decision; it can be erased.
	Text string
	// Final marks the end of a run: Detail is the digest of the run's results. It gets no salt, since receipts show
	// it, and two more members: the number of the run's earlier own entries and the digest over them.
	Final bool
}

// Recorder records changes in the unit of work that makes them.
type Recorder interface {
	// Record adds an entry to the open unit of work. The entry is linked to the chain at the end of that unit: both
	// commit or neither does. If no entry can be made, the unit fails with Unrecorded, which is Unavailable. An
	// unregistered action, an invalid detail, and a call outside of a unit are Internal faults.
	Record(ctx context.Context, e Entry) error
}

// Receipt names a committed entry.
type Receipt struct {
	Seq  int64
	Hash [32]byte // leaf hash
}

// String returns "<seq>:<hex leaf hash>", the form of the header Audit-Receipt.
func (r Receipt) String() string {
	return strconv.FormatInt(r.Seq, 10) + ":" + hex.EncodeToString(r.Hash[:])
}

// ReceiptCollector stores the receipt of the first entry that commits under its context, which is the entry of the
// request. It is safe for concurrent use.
type ReceiptCollector struct {
	mu  sync.Mutex
	got *Receipt
	run string // to which that entry belongs
}

// Put stores the first receipt, with the id of the run to which the entry belongs, and ignores further ones.
func (s *ReceiptCollector) Put(r Receipt, run string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.got == nil {
		s.got, s.run = &r, run
	}
}

// OfRun returns the stored receipt if its entry belongs to the run.
func (s *ReceiptCollector) OfRun(run string) (r Receipt, ok bool) {
	r, ok = s.Receipt()
	return r, ok && s.run == run
}

// Receipt returns the stored receipt; ok is false without one.
func (s *ReceiptCollector) Receipt() (r Receipt, ok bool) {
	if s == nil {
		return Receipt{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.got == nil {
		return Receipt{}, false
	}
	return *s.got, true
}

type collectorKey struct{}

// WithCollector returns a context whose receipts go to the returned collector.
func WithCollector(ctx context.Context) (context.Context, *ReceiptCollector) {
	s := &ReceiptCollector{}
	return context.WithValue(ctx, collectorKey{}, s), s
}

// CollectorOf returns the collector of ctx, or nil. A nil collector stores nothing.
func CollectorOf(ctx context.Context) *ReceiptCollector {
	s, _ := ctx.Value(collectorKey{}).(*ReceiptCollector)
	return s
}
