package runs

import (
	"cmp"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/ids"
)

// ObjectsOf returns the objects that a record names itself, sorted. They decide who may read a run without a parent.
func ObjectsOf(r *Run) []string {
	out := []string{access.Queue(cmp.Or(r.Spec.Queue, DefaultQueue))}
	add := func(ids ...string) {
		for _, id := range ids {
			if id != "" {
				out = append(out, id)
			}
		}
	}
	if strings.HasPrefix(r.Origin.SourceID, string(ids.Template)) {
		add(r.Origin.SourceID)
	}
	add(r.Spec.TemplateID, r.Spec.ProjectID, r.Spec.InventoryID)
	if r.Graph != nil {
		for i := range r.Graph.Steps {
			s := &r.Graph.Steps[i]
			add(s.InventoryID, s.ProjectID, s.TemplateID)
			if s.Queue != "" {
				add(access.Queue(s.Queue))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
