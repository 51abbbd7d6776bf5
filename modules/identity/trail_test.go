package identity_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	module "github.com/writ-automation/writ/modules/identity"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/tx"
)

// entry is what was recorded, with who acted as the trail would tell it.
type entry struct {
	audit.Entry
	actor actor.Actor
}

// trail records entries that commit, as the last part of their unit. It holds back nothing of what a chain and its
// disclosures would hold.
type trail struct {
	mu      sync.Mutex
	kept    []entry
	refuses error // what Record answers
	breaks  error // what the end of the unit answers
}

func (r *trail) Record(ctx context.Context, e audit.Entry) error {
	if !slices.Contains(audit.Actions(), e.Action) {
		return fmt.Errorf("%q is no action", e.Action)
	}
	if err := plain(e.Detail); err != nil {
		return err
	}
	refuses, _ := r.faults()
	if refuses != nil {
		return refuses
	}
	by := actor.From(ctx)
	if e.By != nil {
		by = *e.By
	}
	return tx.BeforeCommit(ctx, r, entry{e, by}, func(ctx context.Context, list []entry) error {
		if _, breaks := r.faults(); breaks != nil {
			return breaks
		}
		tx.OnCommit(ctx, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.kept = append(r.kept, list...)
		})
		return nil
	})
}

func (r *trail) faults() (refuses, breaks error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refuses, r.breaks
}

// fail makes what is recorded fail at once, or at the end of its unit; two nils mend it.
func (r *trail) fail(refuses, breaks error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuses, r.breaks = refuses, breaks
}

// take returns what was recorded since the last call.
func (r *trail) take() []entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.kept
	r.kept = nil
	return list
}

// one returns the only entry since the last call.
func (b *bundle) one(what string) entry {
	b.t.Helper()
	list := b.trail.take()
	if len(list) != 1 {
		b.t.Fatalf("%s has %d entries: %+v", what, len(list), list)
	}
	return list[0]
}

// plain refuses a detail that a chain cannot hold.
func plain(v any) error {
	switch v := v.(type) {
	case string, bool:
		return nil
	case int:
		if v < 0 {
			return errors.New("a number below zero")
		}
		return nil
	case []any:
		for _, x := range v {
			if err := plain(x); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		for name, x := range v {
			if err := plain(x); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	default:
		return fmt.Errorf("%T is no value of a detail", v)
	}
}

// text is all that a chain, its disclosures and its details would hold of an entry.
func (e entry) text(t testing.TB) string {
	t.Helper()
	detail, err := json.Marshal(e.Detail)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %+v %s %q %+v %s", e.Action, e.Object, detail, e.Text, e.actor, e.Outcome)
}

// outcome spells the empty outcome out.
func (e entry) outcome() audit.Outcome {
	if e.Outcome == "" {
		return audit.Applied
	}
	return e.Outcome
}

// TestRecorderIsRequired: identity that nobody records is not made.
func TestRecorderIsRequired(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		p := b.params
		p.Recorder = nil
		if _, err := module.New(p); err == nil {
			t.Error("identity is made without a recorder")
		}
	})
}
