package audittest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof/jcs"
	"github.com/writ-automation/writ/ports/tx"
)

// Recorder is an audit.Recorder for the tests of other contexts: it stores the entries of committed units. Like the
// chain it refuses an unregistered action, an invalid detail, and a call outside of a unit. The zero value is ready
// for use.
type Recorder struct {
	// FillBy sets By of an entry without one to the actor of its context.
	FillBy bool

	mu          sync.Mutex
	entries     []audit.Entry
	record, end error
}

// Record stores the entry until the unit commits, or returns the error of Fail.
func (r *Recorder) Record(ctx context.Context, e audit.Entry) error {
	if !slices.Contains(audit.Actions(), e.Action) {
		return fmt.Errorf("%q is no action", e.Action)
	}
	if _, err := (jcs.Form{Text: func(s string) string { return strings.ToValidUTF8(s, "\ufffd") }}).
		Append(nil, e.Detail); err != nil {
		return err
	}
	if err, _ := r.errors(); err != nil {
		return err
	}
	if r.FillBy && e.By == nil {
		by := actor.From(ctx)
		e.By = &by
	}
	return tx.BeforeCommit(ctx, tx.Last, r, e, func(ctx context.Context, list []audit.Entry) error {
		tx.OnCommit(ctx, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.entries = append(r.entries, list...)
		})
		_, err := r.errors()
		return err
	})
}

func (r *Recorder) errors() (record, end error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.record, r.end
}

// Fail makes Record and every unit with an entry fail with an error. A nil error ends that.
func (r *Recorder) Fail(record, end error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.record, r.end = record, end
}

// Entries returns the entries since the last Take, the oldest first.
func (r *Recorder) Entries() []audit.Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.entries)
}

// Take returns the entries since the last Take and drops them.
func (r *Recorder) Take() []audit.Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.entries
	r.entries = nil
	return list
}
