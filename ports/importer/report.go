package importer

import (
	"bufio"
	_ "embed"
	"fmt"
	"html"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed report.css
var reportStyle string

// reportHead begins a report: the format twice, and the style sheet.
const reportHead = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Import of %[1]s</title>
<style>
%[2]s</style>
</head>
<body>
<h1>Import of %[1]s</h1>
`

// WriteReport writes a plan as one HTML page that needs no other file, no script and no network.
func WriteReport(w io.Writer, b Body) error {
	r := reportOf(b)
	m := &markup{w: bufio.NewWriter(w)}
	_, _ = fmt.Fprintf(m.w, reportHead, html.EscapeString(r.Format), reportStyle)
	m.line("<p>%s</p>", r.summary())
	m.line(`<svg viewBox="0 0 1000 24" preserveAspectRatio="none" role="img" aria-labelledby="counts">`)
	for _, s := range r.Bar {
		m.line(`<rect class="%s" x="%s" width="%s" height="24"/>`, string(s.Class), strconv.Itoa(s.At),
			strconv.Itoa(s.Wide))
	}
	m.line("</svg>")
	m.line(`<p id="counts">%s</p>`, r.counts())
	if len(r.Notes) > 0 {
		m.line("<h2>Other warnings</h2>")
		m.list(r.Notes, func(w WarningBody) string { return joined(": ", w.Object, w.Field, w.Message) })
	}
	for _, g := range r.Groups {
		m.line("<section>\n<h2>%s (%s)</h2>", g.Title, strconv.Itoa(len(g.Objects)))
		for i := range g.Objects {
			m.object(&g.Objects[i])
		}
		m.line("</section>")
	}
	m.line("</body>\n</html>")
	return m.w.Flush()
}

// markup writes HTML. Its writer keeps the first error.
type markup struct{ w *bufio.Writer }

// line writes a line; the texts in it are escaped.
func (m *markup) line(format string, texts ...string) {
	escaped := make([]any, len(texts))
	for i, s := range texts {
		escaped[i] = html.EscapeString(s)
	}
	_, _ = fmt.Fprintf(m.w, format+"\n", escaped...)
}

func (m *markup) list(of []WarningBody, text func(WarningBody) string) {
	m.line("<ul>")
	for _, w := range of {
		m.line("<li>%s</li>", text(w))
	}
	m.line("</ul>")
}

func (m *markup) object(o *reportObject) {
	m.line("<article>\n<h3>%s %s</h3>", string(o.Kind), o.Name)
	m.line("<p>%s</p>", joined(": ", string(o.Action)+", from "+o.SourceRef, o.Reason))
	if len(o.Mapping) > 0 {
		m.line("<ul>")
		for _, s := range o.Mapping {
			m.line("<li>%s</li>", s)
		}
		m.line("</ul>")
	}
	if len(o.Changes) > 0 {
		m.line("<p>Changes: %s</p>", strings.Join(o.Changes, ", "))
	}
	if len(o.Warnings) > 0 {
		m.line("<h4>Warnings</h4>")
		m.list(o.Warnings, func(w WarningBody) string { return joined(": ", w.Field, w.Message) })
	}
	if len(o.Pairs) > 0 {
		m.line("<table>\n<caption>Next fires</caption>")
		m.line(`<thead><tr><th scope="col">Source</th><th scope="col">Writ</th></tr></thead>`)
		m.line("<tbody>")
		for _, p := range o.Pairs {
			m.line("<tr><td>%s</td><td>%s</td></tr>", fireText(p[0]), fireText(p[1]))
		}
		m.line("</tbody></table>")
	}
	m.line("</article>")
}

func fireText(t *time.Time) string {
	if t == nil {
		return "none"
	}
	return t.UTC().Format("2006-01-02 15:04 MST")
}

type report struct {
	Body
	Bar    []share
	Groups []reportGroup
	Notes  []WarningBody
}

// share is a part of the bar of the classes, in thousandths.
type share struct {
	Class    Class
	Title    string
	Count    int
	At, Wide int
}

type reportGroup struct {
	Class   Class
	Title   string
	Objects []reportObject
}

type reportObject struct {
	PlannedBody
	Warnings []WarningBody
	Pairs    [][2]*time.Time
}

func (r report) summary() string {
	done := "This is a preview. Nothing was written."
	if r.Applied {
		done = "The import was applied."
	}
	return fmt.Sprintf("%s %d to create, %d to update, %d to skip.", done, r.Counts.Create, r.Counts.Update,
		r.Counts.Skip)
}

func (r report) counts() string {
	texts := make([]string, 0, len(r.Bar))
	for _, s := range r.Bar {
		texts = append(texts, fmt.Sprintf("%s: %d", s.Title, s.Count))
	}
	return strings.Join(texts, ", ")
}

// joined joins the texts that are not empty.
func joined(mark string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), mark)
}

// Title returns the class in words.
func (c Class) Title() string {
	return map[Class]string{
		Same: "Same", Adapted: "Adapted", NeedsYou: "Needs you", NoHome: "No home",
	}[c]
}

// Of returns how many objects of a plan are of a class.
func (c Counts) Of(class Class) int {
	return map[Class]int{Same: c.Same, Adapted: c.Adapted, NeedsYou: c.NeedsYou, NoHome: c.NoHome}[class]
}

// Notes returns the warnings that are about no object of the plan, such as those about the export as a whole.
func (b Body) Notes() []WarningBody {
	known := make(map[[2]string]bool, len(b.Objects))
	for _, o := range b.Objects {
		known[[2]string{string(o.Kind), o.Name}] = true
	}
	return slices.DeleteFunc(slices.Clone(b.Warnings), func(w WarningBody) bool {
		return known[[2]string{string(w.Kind), w.Object}]
	})
}

// WarningsOf returns the warnings of each object, by its kind and name.
func (b Body) WarningsOf() map[[2]string][]WarningBody {
	out := make(map[[2]string][]WarningBody)
	for _, w := range b.Warnings {
		key := [2]string{string(w.Kind), w.Object}
		out[key] = append(out[key], w)
	}
	return out
}

// Pairs returns the times side by side: that of the source, and that of Writ. A time that is missing is nil.
func (f *FiresBody) Pairs() [][2]*time.Time {
	if f == nil {
		return nil
	}
	out := make([][2]*time.Time, max(len(f.Source), len(f.Writ)))
	for i := range f.Source {
		out[i][0] = &f.Source[i]
	}
	for i := range f.Writ {
		out[i][1] = &f.Writ[i]
	}
	return out
}

func reportOf(b Body) report {
	r := report{Body: b}
	warnings := b.WarningsOf()
	r.Notes = b.Notes()
	total, at := max(1, len(b.Objects)), 0
	for _, class := range Classes() {
		n := b.Counts.Of(class)
		s := share{Class: class, Title: class.Title(), Count: n, At: at, Wide: n * 1000 / total}
		at += s.Wide
		r.Bar = append(r.Bar, s)
		g := reportGroup{Class: class, Title: class.Title()}
		for _, o := range b.Objects {
			if o.Class == class {
				g.Objects = append(g.Objects, reportObject{
					o, warnings[[2]string{string(o.Kind), o.Name}], o.NextFires.Pairs(),
				})
			}
		}
		if len(g.Objects) > 0 {
			r.Groups = append(r.Groups, g)
		}
	}
	return r
}
