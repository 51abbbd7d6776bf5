package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Key names an object: names are unique per kind within an organization. Org is the organization's name, empty for
// none, or its id if the name is not visible.
type Key struct{ Kind, Org, Name string }

// String returns the key in the form of messages.
func (k Key) String() string {
	s := fmt.Sprintf("%s %q", noun(k.Kind), k.Name)
	if k.Kind == Grant {
		s = "grant to " + k.Name
	}
	if k.Org != "" {
		s += fmt.Sprintf(" of %q", k.Org)
	}
	return s
}

// Ref is an object that a document names. Bare is a name without an organization, which Resolve finds; ID is set
// instead of the others if the object's name is unknown.
type Ref struct {
	Key
	Bare bool
	ID   string
}

// Document is one object as files have it.
type Document struct {
	Key
	// Spec holds the members: texts, json.Number, bool, nil, Ref, []any and map[string]any of those.
	Spec map[string]any
	File string // the file that it was read from, if any
	Line int
	// Texts are the files that hold its long texts, relative to the directory.
	Texts []string

	lines map[string]int // of each member, by its path
}

// Problem is a mistake in a file, with its position.
type Problem struct {
	File string
	Line int
	Path string // of the member, empty for the file or the document as a whole
	Text string
}

// Error returns the problem in one line.
func (p Problem) Error() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File + ":")
		if p.Line > 0 {
			fmt.Fprintf(&b, "%d:", p.Line)
		}
		b.WriteByte(' ')
	}
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Text)
	return printable(b.String())
}

// printable escapes control characters, since files may have any origin.
func printable(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}

// maxProblems limits the number of problems in one error.
const maxProblems = 20

// Problems are the mistakes in files.
type Problems []Problem

// Error returns one problem per line.
func (p Problems) Error() string {
	var lines []string
	for _, x := range p[:min(len(p), maxProblems)] {
		lines = append(lines, x.Error())
	}
	if more := len(p) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// orNil returns the problems as an error, nil if there are none.
func (p Problems) orNil() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

// Problem makes a problem of a member of the document.
func (d *Document) Problem(path, format string, args ...any) Problem {
	line, ok := d.lines[path]
	if !ok {
		line = d.Line
	}
	return Problem{File: d.File, Line: line, Path: path, Text: fmt.Sprintf(format, args...)}
}

// Index finds objects by name.
type Index map[string][]Key

// Add adds an object.
func (x Index) Add(k Key) {
	at := k.Kind + "\x00" + k.Name
	if !slices.Contains(x[at], k) {
		x[at] = append(x[at], k)
	}
}

// Find returns the object that a name means in an object of an organization: the one in the same organization, else
// the one without an organization, else the only one. The error is one sentence that begins with the kind.
func (x Index) Find(kind, name, org string) (Key, error) {
	all := x[kind+"\x00"+name]
	for _, k := range []Key{{kind, org, name}, {kind, "", name}} {
		if slices.Contains(all, k) {
			return k, nil
		}
	}
	switch len(all) {
	case 0:
		return Key{}, fmt.Errorf("there is no %s %q%s", noun(kind), name, didYouMean(name, x.names(kind)))
	case 1:
		return all[0], nil
	default:
		return Key{}, fmt.Errorf("several organizations have %s %q: name one with {name: ..., org: ...}",
			article(kind), name)
	}
}

// names lists the names of the objects of a kind.
func (x Index) names(kind string) []string {
	var out []string
	for at := range x {
		if name, ok := strings.CutPrefix(at, kind+"\x00"); ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Noun returns a kind for use within a sentence, for one object.
func Noun(kind string) string { return noun(kind) }

func noun(kind string) string {
	switch kind {
	case Source:
		return "inventory source"
	case CredentialType:
		return "credential type"
	}
	return strings.ToLower(kind)
}

// Identify derives the name of a grant, and after Resolve its organization too, from its subject and its object. It
// does nothing to other documents.
func (d *Document) Identify() {
	if d.Kind != Grant {
		return
	}
	to, _ := d.Spec["subject"].(Ref)
	on, _ := d.Spec["object"].(Ref)
	d.Name = to.subject() + " on " + on.subject()
	if !on.Bare {
		d.Org = on.Org
	}
}

// subject returns a reference as KIND:NAME.
func (r Ref) subject() string {
	name := cmp.Or(r.ID, r.Name)
	if strings.Contains(name, " on ") {
		name = strconv.Quote(name) // the name of a grant has one meaning
	}
	return noun(r.Kind) + ":" + name
}

func article(kind string) string {
	if n := noun(kind); strings.ContainsRune("aeiou", rune(n[0])) {
		return "an " + n
	}
	return "a " + noun(kind)
}

// Resolve replaces the bare names in the document by the objects. An id that is not the name of an object stays an id.
func (d *Document) Resolve(x Index) Problems {
	k, _ := KindOf(d.Kind)
	var out Problems
	eachRef(k.of(d.Spec), d.Spec, "spec", func(path string, r Ref) Ref {
		switch {
		case r.Kind == Queue: // every name is one
			return Ref{Key: Key{Kind: Queue, Name: r.Name}}
		case r.ID != "":
			return r
		case !r.Bare:
			if !slices.Contains(x[r.Kind+"\x00"+r.Name], r.Key) {
				out = append(out, d.Problem(path, "there is no %s", nounOf(r.Key)))
			}
			return r
		}
		key, err := x.Find(r.Kind, r.Name, d.Org)
		if err == nil {
			return Ref{Key: key}
		}
		if IsID(r.Kind, r.Name) {
			return Ref{Key: Key{Kind: r.Kind}, ID: r.Name}
		}
		out = append(out, d.Problem(path, "%v", err))
		return r
	})
	return out
}

func nounOf(k Key) string {
	if k.Org == "" {
		return fmt.Sprintf("%s %q without an organization", noun(k.Kind), k.Name)
	}
	return fmt.Sprintf("%s %q of %q", noun(k.Kind), k.Name, k.Org)
}

// eachRef calls fn with every reference and puts its answer in place.
func eachRef(members []member, spec map[string]any, path string, fn func(string, Ref) Ref) {
	for i := range members {
		m := &members[i]
		at := path + "." + m.name
		switch v := spec[m.name].(type) {
		case Ref:
			spec[m.name] = fn(at, v)
		case map[string]any:
			if m.shape == record {
				eachRef(m.fields, v, at, fn)
			}
		case []any:
			for j, x := range v {
				in := fmt.Sprintf("%s[%d]", at, j)
				if r, ok := x.(Ref); ok {
					v[j] = fn(in, r)
				} else if inner, ok := x.(map[string]any); ok && m.shape == records {
					eachRef(m.fields, inner, in, fn)
				}
			}
		}
	}
}

// Refs lists the objects that the document names.
func (d *Document) Refs() []Ref {
	k, _ := KindOf(d.Kind)
	var out []Ref
	eachRef(k.of(d.Spec), d.Spec, "spec", func(_ string, r Ref) Ref {
		out = append(out, r)
		return r
	})
	return out
}
