package submit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/writ-automation/writ/ports/runs"
)

// descend gives a new run its lineage and its objects. One that is made of another run keeps that one's lineage, and is
// read by nobody who may not read that one.
func descend(r, of *runs.Run, steps []runs.StepSpec) {
	r.Objects = runs.ObjectsOf(r)
	if of != nil {
		r.Lineage = of.Lineage
		r.Objects = slices.Compact(slices.Sorted(slices.Values(slices.Concat(r.Objects, of.Objects))))
	}
	if r.Lineage == "" {
		r.Lineage = lineage(r.Origin, &r.Spec, steps)
	}
}

// lineage groups the runs of one definition. A run that something saved made belongs to that, to the template
// whatever launched it; any other to what it executes and where.
func lineage(o runs.Origin, s *runs.Spec, steps []runs.StepSpec) string {
	if s.TemplateID != "" {
		return s.TemplateID
	}
	switch o.Source {
	case runs.FromTemplate, runs.FromSchedule, runs.FromTrigger:
		if o.SourceID != "" {
			return o.SourceID
		}
	}
	h := sha256.New()
	e := json.NewEncoder(h)
	// A hash takes every write, and plain strings always encode.
	_ = e.Encode([]string{s.Tool, s.Playbook, s.Command, s.InventoryID, s.Inventory, s.ProjectID})
	for i := range steps {
		x := &steps[i]
		_ = e.Encode([]string{x.Name, x.Tool, x.Playbook, x.Command, x.InventoryID})
	}
	return "def_" + hex.EncodeToString(h.Sum(nil)[:16])
}
