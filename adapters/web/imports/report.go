package imports

import (
	"context"
	"html"
	"net/url"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/importer"
)

// Bounds of a page, for exports of any size: the objects of a class, the bytes of their markup, and the lines of one
// object. The report as a file has all.
const (
	maxObjects = 200
	maxBytes   = 180 << 10
	maxLines   = 20
)

// report is what an import does or did.
type report struct {
	importer.Body
	File string
	// Head is what an import did, or that it has nothing to do; nil for none. Summary says what the file has.
	Head    *headline
	Summary string
	// Apply is the button that imports, empty for none.
	Apply string
	// Lacks says which credentials lack their secrets.
	Lacks string
	Parts []part
	Notes []importer.WarningBody
	// Shares are the parts of the bar of the classes.
	Shares []shell.Share
}

type headline struct{ Hue, Glyph, Text, More string }

// changes counts the objects that the import writes.
func (r *report) changes() int { return r.Counts.Create + r.Counts.Update }

// part are the objects of a class.
type part struct {
	Class   importer.Class
	Left    string
	Count   int
	Objects []object
}

// State is the mark of the class.
func (p *part) State() shell.State {
	return shell.State{Glyph: glyphOf(p.Class), Word: p.Class.Title()}
}

// object is an object of the report.
type object struct {
	importer.PlannedBody
	Title, Sets, Act, Left string
	Href                   string // the page of the stored object
	Enter                  string // the form of a credential without its secret
	Warnings               []importer.WarningBody
	Fires                  [][2]string
	Moved                  int // how many of the fires differ
}

// reportOf makes the report of a plan. Entry is that of an applied import in the trail.
func reportOf(ctx context.Context, b importer.Body, file, entry string) *report {
	r := &report{Body: b, File: file, Notes: b.Notes()}
	r.Notes = r.Notes[:min(len(r.Notes), maxObjects)]
	if text, more := headText(r, entry); text != "" {
		r.Head = &headline{"idle", "skip", text, more}
		if b.Applied && r.changes() > 0 {
			r.Head.Hue, r.Head.Glyph = "done", "done"
		}
	}
	if !b.Applied {
		r.Summary, r.Apply = summaryText(r), applyText(r.changes())
	}
	for _, class := range importer.Classes() {
		r.Shares = append(r.Shares, shell.Share{Hue: shell.Hue(glyphOf(class)), Size: b.Counts.Of(class)})
	}
	warnings, secrets := b.WarningsOf(), 0
	for _, class := range []importer.Class{importer.NeedsYou, importer.NoHome, importer.Adapted, importer.Same} {
		p := part{Class: class, Count: b.Counts.Of(class)}
		for size, i := 0, 0; i < len(b.Objects); i++ {
			x := &b.Objects[i]
			if x.Class != class {
				continue
			}
			if lacksSecret(x) {
				secrets++
			}
			if len(p.Objects) < maxObjects && size < maxBytes {
				o := objectOf(ctx, *x, b.Applied, warnings[[2]string{string(x.Kind), x.Name}])
				size += o.size()
				p.Objects = append(p.Objects, o)
			}
		}
		if p.Count > 0 {
			p.Left = leftText(p.Count-len(p.Objects), "object")
			r.Parts = append(r.Parts, p)
		}
	}
	r.Lacks = secretsText(secrets, b.Applied)
	return r
}

// lacksSecret reports whether an object is a credential of which somebody has to enter the secret.
func lacksSecret(o *importer.PlannedBody) bool {
	return o.Kind == importer.Credential && o.Class == importer.NeedsYou
}

// objectOf returns how an object is shown. Lines beyond the bound are left out.
func objectOf(ctx context.Context, x importer.PlannedBody, applied bool, warnings []importer.WarningBody) object {
	o := object{PlannedBody: x, Title: x.Name, Sets: setsText(x.Changes), Act: actionText(x, applied),
		Href: pageOf(x.Kind, x.ID), Warnings: warnings}
	if x.Name == "" {
		o.Title = x.SourceRef
	}
	if lacksSecret(&x) && applied && x.ID != "" {
		o.Enter = "/ui/objects/credentials/" + url.PathEscape(x.ID) + "/edit"
	}
	o.Left = leftText(max(0, len(o.Warnings)-maxLines)+max(0, len(o.Mapping)-maxLines), "line")
	o.Warnings, o.Mapping = o.Warnings[:min(len(o.Warnings), maxLines)], o.Mapping[:min(len(o.Mapping), maxLines)]
	for _, pair := range x.NextFires.Pairs() {
		row := [2]string{timeText(ctx, pair[0]), timeText(ctx, pair[1])}
		if row[0] != row[1] {
			o.Moved++
		}
		o.Fires = append(o.Fires, row)
	}
	return o
}

// movedState says how many times differ.
func movedState(n int) shell.State {
	if n == 0 {
		return shell.State{Glyph: "done", Word: sameText}
	}
	return shell.State{Glyph: "chg", Word: movedText(n)}
}

func timeText(ctx context.Context, t *time.Time) string {
	if t == nil {
		return noTime
	}
	return t.In(shell.Of(ctx).Zone).Format("Mon 2 Jan 2006 15:04 MST")
}

// size returns about how long the markup of an object is.
func (o *object) size() int {
	const frame, line, time = 500, 50, 450
	n := frame + len(o.Fires)*time + len(html.EscapeString(o.Title+o.SourceRef+o.Reason+o.Sets))
	for _, w := range o.Warnings {
		n += line + len(html.EscapeString(w.Field+w.Message))
	}
	for _, text := range o.Mapping {
		n += line + len(html.EscapeString(text))
	}
	return n
}

// pageOf is the page of a stored object, empty for none.
func pageOf(kind importer.Kind, id string) string {
	page := map[importer.Kind]string{
		importer.CredentialType: "settings/credential-types/", importer.Credential: "settings/credentials/",
		importer.Project: "projects/", importer.Inventory: "inventories/", importer.Template: "launch/",
		importer.Schedule: "schedules/", importer.Source: "objects/inventory-sources/",
	}[kind]
	if id == "" || page == "" {
		return ""
	}
	if kind == importer.Source { // which is a part of its inventory and has no page of its own
		id += "/edit"
	}
	return "/ui/" + page + id
}
