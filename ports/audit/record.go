package audit

import (
	"context"
	"encoding/hex"
	"strconv"
	"sync"

	"github.com/writ-automation/writ/ports/actor"
)

// Outcome is what became of what was asked.
type Outcome string

// The outcomes.
const (
	Applied Outcome = "applied"
	Denied  Outcome = "denied"
	Failure Outcome = "failed"
)

// Object is what an entry is about. Kind and ID stand in the chain for ever; the name is disclosed beside it and can be
// erased.
type Object struct{ Kind, ID, Name string }

// Entry is what is to be recorded. Who acted, from where and by which request is taken from the context, see actor.
type Entry struct {
	Action  Action
	Object  Object  // the zero value is none
	Run     string  // id of the top-level run that the entry belongs to
	Outcome Outcome // empty is Applied
	// By is who acted where that is not the actor of the context, such as the worker that ended a run.
	By *actor.Actor
	// Detail is the document of what was asked: values of JSON, whole numbers, no secret. The chain holds its digest; the
	// document is kept beside it under a salt and can be erased.
	Detail map[string]any
	// Text is free text of a person, such as the reason of a decision; it can be erased.
	Text string
	// Final marks the end of a run: Detail is the digest of what the run left behind. It gets no salt, since receipts
	// show it, and two members more: the number of the run's own entries before this one and the digest over them.
	Final bool
}

// Recorder records changes together with themselves.
type Recorder interface {
	// Record notes an entry in the open unit of work. The entry is linked to the chain as the last part of that unit:
	// both commit or neither does. Where no entry can be made the unit fails with Unrecorded, which is Unavailable. An
	// action that is not registered, a detail that is no such JSON, and a call outside of a unit are Internal faults.
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

// ReceiptCollector collects the receipt of the first entry that commits under its context: the request's own one. It
// may be used by several goroutines.
type ReceiptCollector struct {
	mu  sync.Mutex
	got *Receipt
}

// Put keeps a receipt where none is kept yet.
func (s *ReceiptCollector) Put(r Receipt) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.got == nil {
		s.got = &r
	}
}

// Receipt returns what was kept; ok is false where nothing was.
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

// WithCollector returns a context under which receipts go to the returned slip.
func WithCollector(ctx context.Context) (context.Context, *ReceiptCollector) {
	s := &ReceiptCollector{}
	return context.WithValue(ctx, collectorKey{}, s), s
}

// CollectorOf returns the slip of ctx, nil where there is none. A nil slip keeps nothing.
func CollectorOf(ctx context.Context) *ReceiptCollector {
	s, _ := ctx.Value(collectorKey{}).(*ReceiptCollector)
	return s
}
