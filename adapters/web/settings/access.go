package settings

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

// names are the names of objects or subjects by their ids.
type names map[string]string

// of returns the name, or the id of what has none here.
func (n names) of(id string) string { return cmp.Or(n[id], id) }

func (n names) cell(object string) cell {
	return cell{Text: n.of(object), Sub: kindWord(object), Href: objectPage(object)}
}

// objectPage is the page of an object that can carry grants.
func objectPage(object string) string {
	if queue, ok := access.QueueName(object); ok {
		return "/ui/objects/queues/" + url.PathEscape(queue) + "/edit"
	}
	return editOf(pathOf(identity.KindOf(object)), object)
}

// pathOf is the path of a kind below /v1.
func pathOf(kind string) string {
	if strings.HasSuffix(kind, "y") {
		return strings.TrimSuffix(kind, "y") + "ies"
	}
	return kind + "s"
}

// objectNames returns the names of the objects that can carry grants.
func objectNames(r *shell.Request) names {
	out := names{}
	for _, kind := range []string{"templates", "inventories", "projects", "credentials", "queues"} {
		var answer map[string]json.RawMessage
		var rows []struct{ ID, Name string }
		if r.Get("/v1/"+kind+"?limit=500", &answer) != nil || json.Unmarshal(answer[kind], &rows) != nil {
			continue // what has no name is shown by its id
		}
		for _, x := range rows {
			out[cmp.Or(x.ID, access.Queue(x.Name))] = x.Name
		}
	}
	return out
}

// subjectNames returns the names of accounts and teams as grants name them.
func (h *handlers) subjectNames(r *shell.Request) (names, error) {
	accounts, err := h.accountNames(r)
	if err != nil {
		return nil, err
	}
	out := names{}
	for id, name := range accounts {
		out[identity.UserSubject(id)] = name
	}
	teams, _, err := h.Teams.List(r.Context(), page.Window{Limit: page.MaxRows})
	for _, t := range teams {
		out[identity.TeamSubject(t.ID)] = t.Name
	}
	return out, err //nolint:wrapcheck // a fault
}

// matrix are the grants, with the subjects as rows and the objects as columns.
type matrix struct {
	Objects []cell
	Rows    []matrixRow
	// Left counts the objects and the subjects that are not shown.
	Left int
}

type matrixRow struct {
	Subject cell
	Cells   []grantCell
}

// grantCell is the strongest level of a subject on an object.
type grantCell struct {
	Level  access.Level
	Target string
}

// maxColumns and maxSubjects bound the matrix.
const (
	maxColumns  = 24
	maxSubjects = 100
)

// accessView is the page of grants.
type accessView struct {
	Matrix             matrix
	Grants             table
	Subject, Object    string
	Subjects, Objects  []shell.Choice
	Who, What          string
	Accounts, Anything []shell.Choice
	Why                *reasons
}

// access shows the grants, and why an account reaches an object.
func (h *handlers) access(r *shell.Request) (*shell.Page, error) {
	q := r.URL.Query()
	v := accessView{Subject: q.Get("subject"), Object: q.Get("object"), Who: q.Get("who"), What: q.Get("what")}
	list, total, err := h.Grants.List(r.Context(), identity.GrantFilter{Subject: v.Subject, Object: v.Object},
		page.Window{Limit: maxRows})
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	subjects, err := h.subjectNames(r)
	if err != nil {
		return nil, err
	}
	objects := objectNames(r)
	v.Matrix = matrixOf(list, subjects, objects)
	v.Grants = table{Caption: "Grants", Heads: []string{"Account or team", "Object", "Level", "Made", ""},
		Empty: "No grants", Why: grantsWhy}
	for _, g := range list {
		v.Grants.Rows = append(v.Grants.Rows, row{Cells: []cell{subjectCell(g.Subject, subjects), objects.cell(g.Object),
			text(string(g.Level)), at(g.CreatedAt)}, Link: deleteOf("grants", g.ID), LinkText: "Delete"})
	}
	v.Subjects, v.Objects = choicesOf("Everybody", subjects, subjectWord), choicesOf("Every object", objects, kindWord)
	v.Anything = choicesOf("Choose one", objects, kindWord)
	v.Accounts = choicesOf("Choose one", subjects, func(s string) string {
		if strings.HasPrefix(s, "team:") {
			return "" // an account asks, not a team
		}
		return subjectWord(s)
	})
	if v.Who != "" && v.What != "" {
		if v.Why, err = h.why(r, strings.TrimPrefix(v.Who, "user:"), v.What, objects); err != nil {
			return nil, err
		}
	}
	return show(r, head{Title: tabAccess, Sentence: grantsText(total, v.Subject+v.Object != ""),
		Add: "New grant", New: "/ui/objects/grants/new"}, accessPage(v))
}

func subjectCell(subject string, n names) cell {
	c := cell{Text: n.of(subject), Sub: subjectWord(subject)}
	if kind, id, ok := identity.SubjectID(subject); ok && string(kind) == "team" {
		c.Href = "/ui/settings/teams/" + id
	} else if ok {
		c.Href = editOf("users", id)
	}
	return c
}

// choicesOf returns choices by name. What has no word is left out.
func choicesOf(none string, n names, word func(string) string) []shell.Choice {
	var out []shell.Choice
	for id, name := range n {
		if w := word(id); w != "" {
			out = append(out, shell.Choice{Value: id, Label: w + ": " + name})
		}
	}
	slices.SortFunc(out, func(a, b shell.Choice) int { return strings.Compare(a.Label, b.Label) })
	return append([]shell.Choice{{Label: none}}, out...)
}

// matrixOf folds grants: the objects with the most grants are the columns.
func matrixOf(list []identity.Grant, subjects, objects names) (m matrix) {
	level, perObject := map[[2]string]access.Level{}, map[string]int{}
	var order, rows []string
	for _, g := range list {
		key := [2]string{g.Subject, g.Object}
		if level[key] == access.None || g.Level.Covers(level[key]) {
			level[key] = g.Level
		}
		if perObject[g.Object]++; perObject[g.Object] == 1 {
			order = append(order, g.Object)
		}
		if !slices.Contains(rows, g.Subject) {
			rows = append(rows, g.Subject)
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(perObject[b], perObject[a]) })
	slices.SortFunc(rows, func(a, b string) int { return strings.Compare(subjects.of(a), subjects.of(b)) })
	m.Left = max(0, len(order)-maxColumns) + max(0, len(rows)-maxSubjects)
	order, rows = order[:min(len(order), maxColumns)], rows[:min(len(rows), maxSubjects)]
	slices.SortFunc(order, func(a, b string) int { return strings.Compare(objects.of(a), objects.of(b)) })
	for _, o := range order {
		c := objects.cell(o)
		c.Href = "?" + url.Values{"object": {o}}.Encode()
		m.Objects = append(m.Objects, c)
	}
	for _, s := range rows {
		line := matrixRow{Subject: subjectCell(s, subjects)}
		line.Subject.Href = "?" + url.Values{"subject": {s}}.Encode()
		for _, o := range order {
			line.Cells = append(line.Cells, grantCell{Level: level[[2]string{s, o}],
				Target: "?" + url.Values{"subject": {s}, "object": {o}}.Encode()})
		}
		m.Rows = append(m.Rows, line)
	}
	return m
}
