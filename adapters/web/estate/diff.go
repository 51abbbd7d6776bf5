package estate

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/estate"
)

const (
	maxFolds   = 2000 // different changes that are kept apart
	shownFolds = 200
)

// diffView are the differences between two instants.
type diffView struct {
	estate.DiffSummary
	Folds  []changeFold
	More   int // folds that are not shown
	Others int // changes of facts beyond the bound
}

// changeFold are the hosts with an equal change of a fact.
type changeFold struct {
	Key      string
	From, To string
	Had, Has bool
	Count    int
	Hosts    []string // the first ones by name
}

type foldKey struct{ key, from, to string }

// changeFolder folds changes while they are read.
type changeFolder struct {
	folds  map[foldKey]*changeFold
	others int
}

func (f *changeFolder) add(c estate.HostChange) error {
	for _, x := range c.Facts {
		key := foldKey{x.Key, string(x.From), string(x.To)}
		fold := f.folds[key]
		if fold == nil {
			if len(f.folds) == maxFolds {
				f.others++
				continue
			}
			fold = &changeFold{Key: x.Key, From: cut(plain(x.From)), To: cut(plain(x.To)), Had: x.From != nil,
				Has: x.To != nil}
			f.folds[key] = fold
		}
		fold.Count++
		if len(fold.Hosts) < samples {
			fold.Hosts = append(fold.Hosts, c.Host)
		}
	}
	return nil
}

func (h *handlers) fillDiff(r *shell.Request, v *atView) error {
	from, to := v.At, v.To
	if from.IsZero() {
		from = v.Timeline.From
	}
	if to.Before(from) {
		from, to = to, from
	}
	f := changeFolder{folds: map[foldKey]*changeFold{}}
	s, err := h.Estate.Diff(r.Context(), from, to, f.add)
	if err != nil {
		return err //nolint:wrapcheck // a fault
	}
	d := &diffView{DiffSummary: s, Others: f.others}
	for _, x := range f.folds {
		d.Folds = append(d.Folds, *x)
	}
	slices.SortFunc(d.Folds, func(a, b changeFold) int {
		switch {
		case a.Count != b.Count:
			return b.Count - a.Count
		case a.Key != b.Key:
			return strings.Compare(a.Key, b.Key)
		case a.From != b.From:
			return strings.Compare(a.From, b.From)
		}
		return strings.Compare(a.To, b.To)
	})
	d.More = max(0, len(d.Folds)-shownFolds)
	d.Folds = d.Folds[:len(d.Folds)-d.More]
	v.Diff, v.At, v.To = d, from, to
	v.Sentence, v.Remarks = diffText(r.Context(), d), diffRemarks(r.Context(), d)
	return nil
}

// plain writes a value for a reader: a text without its quotes, everything else as JSON.
func plain(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return string(value)
	}
	return text
}

func cut(s string) string {
	if len(s) <= maxValue {
		return s
	}
	return strings.ToValidUTF8(s[:maxValue], "") + "…"
}
