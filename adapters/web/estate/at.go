package estate

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/fault"
)

const (
	maxBuckets  = 120
	maxHosts    = 50_000 // hosts that are folded at one instant
	maxValues   = 500    // values of a fact that are kept apart
	shownValues = 100
	samples     = 5   // hosts that a fold names
	shownNames  = 50  // hosts that a list names
	maxValue    = 200 // bytes of a value
	courseHosts = 1000
	courseAt    = 8 // instants of the course of a group
)

// instantLayout is that of the fields for a date and a time.
const instantLayout = "2006-01-02T15:04"

// atView is the estate at an instant, or between two.
type atView struct {
	Query    url.Values
	At, To   time.Time // To is zero without a comparison
	By       string
	Facts    []string // that can be grouped by
	Sentence string
	Remarks  []string
	Timeline timeline
	Groups   []group
	More     int // groups that are not shown
	Diff     *diffView
	Refused  string
	Empty    bool
}

// group are the hosts with one value of a fact.
type group struct {
	Value  string
	None   bool // the fact is not known of them
	Count  int
	Hosts  []string // the first ones by name
	Course []int    // the count over the kept time, nil if it is not drawn
}

// timeline is the kept time in buckets.
type timeline struct {
	Buckets  []estate.Bucket
	From, To time.Time
	I, J     int // the buckets of the instants
}

func (h *handlers) at(r *shell.Request) (*shell.Page, error) {
	q := r.URL.Query()
	v := atView{Query: q, By: strings.TrimSpace(q.Get("by"))}
	var err error
	if v.At, err = instant(r.Viewer.Zone, q.Get("at")); err == nil {
		v.To, err = instant(r.Viewer.Zone, q.Get("to"))
	}
	if err != nil {
		v.At, v.To, v.Refused = time.Time{}, time.Time{}, err.Error()
	}
	horizon, err := h.sample(r.Context(), &v)
	if err != nil {
		return nil, err
	}
	if err := h.fillTimeline(r, &v, horizon); err != nil {
		return nil, err
	}
	if q.Has("i") { // an instant of the slider becomes one of the address
		return nil, shell.Redirect(v.chosen(number(q.Get("i")), number(q.Get("j")), q.Get("do") == "compare"))
	}
	switch {
	case v.Empty:
		v.Sentence = emptyText
	case v.To.IsZero():
		err = h.fillGroups(r, &v)
	default:
		err = h.fillDiff(r, &v)
	}
	var f *fault.Error
	if errors.As(err, &f) && f.Kind == fault.Invalid {
		v.Refused, err = f.Message, nil
	}
	if err != nil {
		return nil, err
	}
	page := &shell.Page{Title: "Estate", Nav: shell.Fleet, Body: atPage(v)}
	if v.Refused != "" {
		page.Status = badRequest
	}
	return page, nil
}

const badRequest = 400

// instant reads a field: an instant of RFC 3339, or a time of the reader's zone.
func instant(zone *time.Location, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t, nil
	}
	for _, layout := range []string{instantLayout, time.DateTime, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errors.New(badInstant)
}

// sample reads one host for the facts that can be grouped by, and the horizon.
func (h *handlers) sample(ctx context.Context, v *atView) (horizon time.Time, err error) {
	var facts estate.Facts
	s, err := h.Estate.At(ctx, estate.AtQuery{Limit: 1}, func(r estate.Reading) error {
		facts = r.Facts
		return nil
	})
	if err != nil {
		return horizon, err
	}
	v.Empty = facts == nil && s.Horizon.IsZero()
	v.Facts = slices.Sorted(maps.Keys(facts))
	for _, key := range []string{v.By, "ansible_distribution", "ansible_kernel", "ansible_system"} {
		if v.By == "" && slices.Contains(v.Facts, key) {
			v.By = key
		}
	}
	if v.By == "" && len(v.Facts) > 0 {
		v.By = v.Facts[0]
	}
	return s.Horizon, nil
}

func (h *handlers) fillTimeline(r *shell.Request, v *atView, horizon time.Time) error {
	if horizon.IsZero() {
		return nil
	}
	from := horizon
	if day := r.Now.Add(-24 * time.Hour); day.Before(from) {
		from = day // a young install has a day, so that its bars stay thin
	}
	list, err := h.Estate.Timeline(r.Context(), from, r.Now, maxBuckets)
	if err != nil || len(list) == 0 {
		return err //nolint:wrapcheck // a fault
	}
	v.Timeline = timeline{Buckets: list, From: list[0].At, To: r.Now}
	last := len(list) - 1
	v.Timeline.I, v.Timeline.J = last, last
	if !v.At.IsZero() {
		v.Timeline.I = v.Timeline.bucket(v.At)
	}
	if !v.To.IsZero() {
		v.Timeline.J = v.Timeline.bucket(v.To)
	}
	return nil
}

// bucket returns the index of the bucket that ends first at or after an instant.
func (t timeline) bucket(at time.Time) int {
	for i := range t.Buckets {
		if !t.end(i).Before(at) {
			return i
		}
	}
	return len(t.Buckets) - 1
}

// end is the instant that a position of the slider stands for.
func (t timeline) end(i int) time.Time {
	if i+1 < len(t.Buckets) {
		return t.Buckets[i+1].At
	}
	return t.To
}

// perDay is how many buckets a day has.
func (t timeline) perDay() int {
	if len(t.Buckets) < 2 {
		return 1
	}
	return max(1, int(24*time.Hour/t.Buckets[1].At.Sub(t.Buckets[0].At)))
}

// chosen returns the address of the instants at positions of the sliders. The newest position is now.
func (v atView) chosen(i, j int, compare bool) string {
	text := func(i int) string {
		if i >= len(v.Timeline.Buckets)-1 && !compare {
			return ""
		}
		return v.Timeline.end(min(i, len(v.Timeline.Buckets)-1)).UTC().Format(time.RFC3339)
	}
	if len(v.Timeline.Buckets) == 0 {
		return "/ui/estate"
	}
	to := ""
	if compare {
		i, j = min(i, j), max(i, j)
		to = text(j)
	}
	return with("/ui/estate", url.Values{"by": {v.Query.Get("by")}}, "at", text(i), "to", to, "by", v.Query.Get("by"))
}

// folder folds readings by a value. Its memory depends on the number of values, not on that of the hosts.
type folder struct {
	by     string
	groups map[string]*group
	others int // hosts whose value is beyond the bound
	oldest time.Time
	newest time.Time
}

func (f *folder) add(r estate.Reading) error {
	if f.oldest.IsZero() || r.GatheredAt.Before(f.oldest) {
		f.oldest = r.GatheredAt
	}
	if r.GatheredAt.After(f.newest) {
		f.newest = r.GatheredAt
	}
	value, ok := valueOf(r.Facts, f.by)
	g := f.groups[value]
	if g == nil {
		if len(f.groups) == maxValues {
			f.others++
			return nil
		}
		g = &group{Value: value, None: !ok}
		f.groups[value] = g
	}
	g.Count++
	if len(g.Hosts) < samples {
		g.Hosts = append(g.Hosts, r.Host)
	}
	return nil
}

// valueOf returns the value of a fact, or those of all facts below its key.
func valueOf(facts estate.Facts, by string) (string, bool) {
	if v, ok := facts[by]; ok {
		return cut(plain(v)), true
	}
	keys := slices.Sorted(maps.Keys(facts))
	parts := make([]string, 0, len(keys))
	for _, k := range keys {
		parts = append(parts, strings.TrimPrefix(strings.TrimPrefix(k, by), ".")+"="+plain(facts[k]))
	}
	return cut(strings.Join(parts, ", ")), len(parts) > 0
}

func (h *handlers) fillGroups(r *shell.Request, v *atView) error {
	f := folder{by: v.By, groups: map[string]*group{}}
	query := estate.AtQuery{At: v.At, Keys: keysOf(v.By), Limit: maxHosts}
	s, err := h.Estate.At(r.Context(), query, f.add)
	if err != nil {
		return err //nolint:wrapcheck // a fault
	}
	for _, g := range f.groups {
		v.Groups = append(v.Groups, *g)
	}
	slices.SortFunc(v.Groups, func(a, b group) int {
		if a.Count != b.Count {
			return b.Count - a.Count
		}
		return strings.Compare(a.Value, b.Value)
	})
	v.More = max(0, len(v.Groups)-shownValues)
	v.Groups = v.Groups[:len(v.Groups)-v.More]
	v.Sentence = atText(r.Context(), s, len(f.groups), v.By)
	v.Remarks = atRemarks(r.Context(), s, f)
	if s.Count > courseHosts {
		v.Remarks = append(v.Remarks, noCourseText)
		return nil
	}
	return h.fillCourse(r, v)
}

func keysOf(by string) []string {
	if by == "" {
		return nil
	}
	return []string{by}
}

// fillCourse counts the hosts of each shown group at some instants of the kept time.
func (h *handlers) fillCourse(r *shell.Request, v *atView) error {
	from, span := v.Timeline.From, v.Timeline.To.Sub(v.Timeline.From)
	if span <= 0 {
		return nil
	}
	for i := range courseAt {
		f := folder{by: v.By, groups: map[string]*group{}}
		at := from.Add(span * time.Duration(i+1) / courseAt)
		if _, err := h.Estate.At(r.Context(), estate.AtQuery{At: at, Keys: keysOf(v.By), Limit: maxHosts},
			f.add); err != nil {
			return err //nolint:wrapcheck // a fault
		}
		for k := range v.Groups {
			n := 0
			if g := f.groups[v.Groups[k].Value]; g != nil {
				n = g.Count
			}
			v.Groups[k].Course = append(v.Groups[k].Course, n)
		}
	}
	return nil
}

// shown writes an instant as a field takes it.
func shown(ctx context.Context, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(shell.Of(ctx).Zone).Format(instantLayout)
}

func position(i int) string { return strconv.Itoa(i) }
