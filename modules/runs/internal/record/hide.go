package record

import (
	"slices"

	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secret/mask"
)

// Holding returns the digests of the texts of a run that hold one of the secrets, in any form that a masker finds, and
// that the run does not hide yet.
func Holding(r *runs.Run, secrets []secret.Text) []string {
	if len(secrets) == 0 {
		return nil
	}
	longest := 0
	r.MapTexts(func(text string) string {
		longest = max(longest, len(text))
		return text
	})
	list := make([]string, len(secrets))
	for i, s := range secrets {
		list[i] = s.Reveal()
	}
	m := mask.NewFor(list, longest)
	return hide(r, m.Found)
}

// Inherited returns the digests of the texts of a run that another one hides.
func Inherited(r, of *runs.Run) []string {
	if of == nil || of.Hidden.Empty() {
		return nil
	}
	return hide(r, of.Hidden.Has)
}

// hide returns the digests of the texts that are meant and not hidden yet. There are no more than hide all texts.
func hide(r *runs.Run, meant func(text string) bool) []string {
	var out []string
	r.MapTexts(func(text string) string {
		if len(out) <= runs.MaxHidden && meant(text) && !r.Hidden.Has(text) {
			if d := runs.TextDigest(text); !slices.Contains(out, d) {
				out = append(out, d)
			}
		}
		return text
	})
	return out
}
