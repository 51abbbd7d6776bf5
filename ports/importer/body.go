package importer

import "time"

// Body is a plan in the form of the API, of the command line and of reports.
type Body struct {
	Format   string        `json:"format"`
	Applied  bool          `json:"applied"`
	Objects  []PlannedBody `json:"objects"`
	Counts   Counts        `json:"counts"`
	Warnings []WarningBody `json:"warnings"`
}

// PlannedBody is an object of a plan.
type PlannedBody struct {
	Kind      Kind       `json:"kind"`
	Name      string     `json:"name"`
	Action    Action     `json:"action"`
	ID        string     `json:"id,omitempty"`
	SourceRef string     `json:"source_ref"`
	Changes   []string   `json:"changes"`
	Reason    string     `json:"reason,omitempty"`
	Class     Class      `json:"class"`
	Mapping   []string   `json:"mapping"`
	NextFires *FiresBody `json:"next_fires,omitempty"`
}

// FiresBody has the next times of a schedule: in the product that it comes from, and in Writ.
type FiresBody struct {
	Source []time.Time `json:"source"`
	Writ   []time.Time `json:"writ"`
}

// WarningBody is a warning of a plan. Object is empty for the export as a whole.
type WarningBody struct {
	Kind    Kind   `json:"kind,omitempty"`
	Object  string `json:"object"`
	Field   string `json:"field"`
	Message string `json:"message"`
}

// BodyOf returns a plan in the form of the API. It has no member with a nil list.
func BodyOf(p Plan) Body {
	b := Body{
		Format: p.Format, Applied: p.Applied, Counts: p.Counts,
		Objects: make([]PlannedBody, len(p.Objects)), Warnings: []WarningBody{},
	}
	for i, o := range p.Objects {
		b.Objects[i] = PlannedBody{
			Kind: o.Kind, Name: o.Name, Action: o.Action, ID: o.ID, SourceRef: o.Ref,
			Changes: append([]string{}, o.Changes...), Reason: o.Reason, Class: o.Class,
			Mapping: append([]string{}, o.Mapping...),
		}
		if o.Kind == Schedule && o.Spec != nil && o.Class != NoHome {
			b.Objects[i].NextFires = &FiresBody{utc(o.Object.Fires), utc(o.Fires)}
		}
		for _, w := range o.Warnings {
			b.Warnings = append(b.Warnings, WarningBody{o.Kind, w.Object, w.Field, w.Message})
		}
	}
	return b
}

func utc(times []time.Time) []time.Time {
	out := make([]time.Time, len(times))
	for i, t := range times {
		out[i] = t.UTC()
	}
	return out
}
