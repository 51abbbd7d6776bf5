package runs

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/writ-automation/writ/ports/secret/mask"
)

// Hidden are the texts of a run that readers do not see, since each holds a secret of the run's credentials. They are
// listed by digest, so that the same text is hidden wherever it is copied to: in a rerun, a shard or a step.
type Hidden struct {
	Submitted []string `json:"submitted,omitempty"` // known when the run was submitted; a part of its inputs' digest
	Later     []string `json:"later,omitempty"`     // learned when an executor got the secrets
}

const (
	// MaxHidden is how many texts of a run are listed. More hide all of its texts.
	MaxHidden = 256
	allTexts  = "*"
)

// TextDigest returns what lists a text.
func TextDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// Empty reports whether nothing is hidden.
func (h Hidden) Empty() bool { return len(h.Submitted)+len(h.Later) == 0 }

// Has reports whether a text is hidden.
func (h Hidden) Has(text string) bool {
	if h.Empty() || text == "" {
		return false
	}
	d := TextDigest(text)
	return slices.ContainsFunc(slices.Concat(h.Submitted, h.Later), func(s string) bool { return s == d || s == allTexts })
}

// Learn returns h with the digests of further texts.
func (h Hidden) Learn(digests []string) Hidden {
	return Hidden{Submitted: h.Submitted, Later: AddHidden(h.Later, digests)}
}

// AddHidden returns a list with more digests, each once.
func AddHidden(list, more []string) []string {
	list = slices.Compact(slices.Sorted(slices.Values(slices.Concat(list, more))))
	if len(list) > MaxHidden {
		return []string{allTexts}
	}
	return list
}

// Conceal returns the run as readers see it: Redacted in the place of each hidden text. A run that hides nothing is
// returned itself.
func (r *Run) Conceal() *Run {
	if r == nil || r.Hidden.Empty() {
		return r
	}
	return r.MapTexts(func(text string) string {
		if r.Hidden.Has(text) {
			return Redacted
		}
		return text
	})
}

// MapTexts returns a copy of a run with f of each text that its submitter chose or that its execution left: keys and
// values, also inside of documents. Names of tools, queues, steps and hosts, and ids, are no such texts.
func (r *Run) MapTexts(f func(string) string) *Run {
	out := *r
	out.Name, out.Change, out.Error, out.Labels = f(r.Name), f(r.Change), f(r.Error), mapTexts(r.Labels, f)
	out.Vars, out.Outputs, out.Graph = r.Vars.mapTexts(f), r.Outputs.mapTexts(f), r.Graph.mapTexts(f)
	s := &out.Spec
	s.Playbook, s.Command, s.Inventory, s.Env = f(s.Playbook), f(s.Command), f(s.Inventory), mapTexts(s.Env, f)
	s.Limit, s.Tags, s.SkipTags = f(s.Limit), mapList(s.Tags, f), mapList(s.SkipTags, f)
	s.InventoryQuery = f(s.InventoryQuery)
	s.Locks = mapList(s.Locks, f)
	out.Warnings = slices.Clone(r.Warnings)
	for i := range out.Warnings {
		out.Warnings[i].Message = f(out.Warnings[i].Message)
	}
	if r.Decision != nil {
		d := *r.Decision
		d.Reason, out.Decision = f(d.Reason), &d
	}
	if r.Approvals != nil {
		a := *r.Approvals
		a.Given = slices.Clone(a.Given)
		for i := range a.Given {
			a.Given[i].Reason = f(a.Given[i].Reason)
		}
		out.Approvals = &a
	}
	return &out
}

func (g *Graph) mapTexts(f func(string) string) *Graph {
	if g == nil {
		return nil
	}
	out := &Graph{Vars: g.Vars.mapTexts(f), Templated: g.Templated, Steps: slices.Clone(g.Steps)}
	for i := range out.Steps {
		s := &out.Steps[i]
		s.Playbook, s.Command, s.Limit = f(s.Playbook), f(s.Command), f(s.Limit)
		s.Tags, s.SkipTags, s.InventoryQuery = mapList(s.Tags, f), mapList(s.SkipTags, f), f(s.InventoryQuery)
		s.ExtraVars, s.Answers, s.Outputs = s.ExtraVars.mapTexts(f), s.Answers.mapTexts(f), s.Outputs.mapTexts(f)
		if s.Preset != nil {
			x := *s.Preset
			x.Inventory, x.Labels, x.Change = f(x.Inventory), mapTexts(x.Labels, f), f(x.Change)
			s.Preset = &x
		}
	}
	return out
}

// mapTexts keeps nil, which means "not read" in lists.
func (v Vars) mapTexts(f func(string) string) Vars {
	if v == nil {
		return nil
	}
	out := make(Vars, len(v))
	for _, k := range slices.Sorted(maps.Keys(v)) {
		out[f(k)] = mask.MapJSON(v[k], f)
	}
	return out
}

func mapTexts(m map[string]string, f func(string) string) map[string]string {
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) { // of two keys that become one the same stays each time
		out[f(k)] = f(m[k])
	}
	return out
}

func mapList(list []string, f func(string) string) []string {
	out := slices.Clone(list)
	for i := range out {
		out[i] = f(out[i])
	}
	return out
}
