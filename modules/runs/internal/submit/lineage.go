package submit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/writ-automation/writ/ports/runs"
)

// lineage groups the runs of one definition. A run that something saved made belongs to that; any other to what it
// executes and where.
func lineage(o runs.Origin, s *runs.Spec, steps []runs.StepSpec) string {
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
