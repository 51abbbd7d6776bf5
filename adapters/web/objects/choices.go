package objects

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/identity"
)

// maxChoices bounds how many records a field offers. With more of them it takes an id.
const maxChoices = "500"

// choiceList are the records that a field offers. It is not complete if there are too many, or if the viewer may not
// list them.
type choiceList struct {
	rows     []shell.Choice
	complete bool
}

// listOf returns the records of a kind by name.
func (b *builder) listOf(kind string) *choiceList {
	if l := b.lists[kind]; l != nil {
		return l
	}
	l := &choiceList{}
	switch kind {
	case "subjects":
		b.join(l, "users", "", identity.UserSubject)
		b.join(l, "teams", "Team ", identity.TeamSubject)
	case "objects":
		same := func(id string) string { return id }
		for _, of := range []string{"templates", "inventories", "projects", "credentials"} {
			b.join(l, of, shell.Words(strings.TrimSuffix(strings.ReplaceAll(of, "ies", "ys"), "s"))+" ", same)
		}
		b.join(l, "queues", "Queue ", func(name string) string { return "queue:" + name })
	default:
		l = b.read(kind)
	}
	b.lists[kind] = l
	return l
}

// join adds the records of a kind to a list of several kinds.
func (b *builder) join(l *choiceList, kind, prefix string, value func(id string) string) {
	part := b.listOf(kind)
	l.complete = part.complete && (l.complete || len(l.rows) == 0)
	for _, c := range part.rows {
		l.rows = append(l.rows, shell.Choice{Value: value(c.Value), Label: prefix + c.Label})
	}
}

// read asks the API for the records of a kind.
func (b *builder) read(kind string) *choiceList {
	var answer map[string]json.RawMessage
	if b.r.Get("/v1/"+kind+"?limit="+maxChoices, &answer) != nil {
		return &choiceList{}
	}
	var rows []struct {
		ID, Name, Username string
	}
	var total int
	if json.Unmarshal(answer[strings.ReplaceAll(kind, "-", "_")], &rows) != nil ||
		json.Unmarshal(answer["total"], &total) != nil {
		return &choiceList{}
	}
	l := &choiceList{complete: total <= len(rows)}
	for _, x := range rows {
		l.rows = append(l.rows, shell.Choice{Value: cmp.Or(x.ID, x.Name), Label: cmp.Or(x.Name, x.Username)})
	}
	return l
}

// refer makes the field of a value that names a record.
func (b *builder) refer(f *field, w memberSpec) {
	l := b.listOf(w.Refers)
	if !l.complete {
		f.Widget, f.Suggest, f.Mono = "suggest", l.rows, true
		f.Help = strings.TrimSpace(f.Help + " " + idHelp)
		return
	}
	f.Kind = "select"
	f.Choices = append(noneFirst(f.Required, w.None), withMissing(l.rows, f.Value)...)
}

// withMissing adds the values that a list lacks: those of records that the viewer may not read.
func withMissing(rows []shell.Choice, values ...string) []shell.Choice {
	for _, v := range values {
		if v != "" && !slices.ContainsFunc(rows, func(c shell.Choice) bool { return c.Value == v }) {
			rows = append(rows[:len(rows):len(rows)], shell.Choice{Value: v, Label: unreadText(v)})
		}
	}
	return rows
}

// suggestions are what a field of text offers.
func (b *builder) suggestions(w memberSpec) []shell.Choice {
	if w.Widget == "tool" {
		return shell.Choices("ansible", "bash", "python", "powershell", "go")
	}
	return b.listOf(w.Refers).rows
}

// fires are the next times of a cron expression.
type fires struct {
	Next     []time.Time `json:"next"`
	Notes    []string    `json:"notes"`
	Timezone string      `json:"timezone"`
	Problem  string      `json:"-"`
}

// zone is the time zone of the expression, UTC if the server's is used.
func (f *fires) zone() *time.Location {
	if zone, err := time.LoadLocation(f.Timezone); err == nil {
		return zone
	}
	return time.UTC
}

// cron adds the next times of the expression, as it is stored or was entered.
func (b *builder) cron(f *field) {
	f.Mono = true
	cron, zone := f.Value, textOf(b.stored["timezone"])
	if s := b.r.Refused(b.operation()); s != nil {
		cron, zone = s.Values.Get("cron"), s.Values.Get("timezone")
	}
	if cron != "" {
		f.Fires = previewOf(b.r, cron, zone)
	}
}

// previewOf asks when an expression fires next.
func previewOf(r *shell.Request, cron, zone string) *fires {
	q := url.Values{"cron": {cron}}
	if zone != "" {
		q.Set("timezone", zone)
	}
	out := &fires{}
	if err := r.Get("/v1/schedules/preview?"+q.Encode(), out); err != nil {
		return &fires{Problem: err.Error()}
	}
	return out
}
