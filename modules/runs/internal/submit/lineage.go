package submit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/writ-automation/writ/ports/runs"
)

// descend sets the lineage and the objects of a new run. A run that is made from another one keeps that one's lineage
// and has its objects too, so that only callers who may read the first may read the second.
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

// lineage groups the runs of one definition. A run belongs to its template, else to the saved object that made it,
// else to the content of its request.
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
	// Writing to a hash and encoding strings cannot fail.
	_ = e.Encode([]string{s.Tool, s.Playbook, s.Command, s.InventoryID, s.Inventory, s.ProjectID})
	for i := range steps {
		x := &steps[i]
		_ = e.Encode([]string{x.Name, x.Tool, x.Playbook, x.Command, x.InventoryID})
	}
	return "def_" + hex.EncodeToString(h.Sum(nil)[:16])
}
