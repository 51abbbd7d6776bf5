package identity_test

import (
	"encoding/json"
	"fmt"
	"testing"

	module "github.com/writ-automation/writ/modules/identity"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
)

// entry is what was recorded, with who acted as the trail would tell it.
type entry struct {
	audit.Entry
	actor actor.Actor
}

// entries returns what was recorded since the last call.
func (b *bundle) entries() []entry {
	var out []entry
	for _, e := range b.trail.Take() {
		out = append(out, entry{e, *e.By})
	}
	return out
}

// one returns the only entry since the last call.
func (b *bundle) one(what string) entry {
	b.t.Helper()
	list := b.entries()
	if len(list) != 1 {
		b.t.Fatalf("%s has %d entries: %+v", what, len(list), list)
	}
	return list[0]
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
