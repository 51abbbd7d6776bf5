package importer

import (
	_ "embed"
	"html/template"
	"io"
	"slices"
	"sync"
	"time"
)

//go:embed report.html
var reportPage string

// WriteReport writes a plan as one HTML page that needs no other file, no script and no network.
func WriteReport(w io.Writer, b Body) error {
	page, err := reportTemplate()
	if err != nil {
		return err
	}
	return page.Execute(w, reportOf(b))
}

var reportTemplate = sync.OnceValues(func() (*template.Template, error) {
	return template.New("report").Funcs(template.FuncMap{
		"time": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") },
		"iso":  func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	}).Parse(reportPage)
})

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
