// Package draft collects the objects of an export. It gives every object a valid name that is unique among its kind.
package draft

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/object"
)

const maxName = 200 // characters, as for every object

// Builder collects objects in their order. The zero value is ready.
type Builder struct {
	objects []*importer.Object
	names   map[importer.Kind]map[string]int // the next number to try for a name that is taken
}

// Name returns a valid name that no object of the kind has yet, and reserves it: name itself if possible, otherwise a
// shorter one, without line breaks, or with a number. Use it for objects that others refer to before they are added.
func (b *Builder) Name(kind importer.Kind, name string) string {
	name = clean(name)
	if name == "" {
		name = strings.ReplaceAll(string(kind), "_", " ")
	}
	if b.names == nil {
		b.names = make(map[importer.Kind]map[string]int)
	}
	taken := b.names[kind]
	if taken == nil {
		taken = make(map[string]int)
		b.names[kind] = taken
	}
	free, n := name, max(2, taken[name])
	for ; taken[free] > 0; n++ {
		suffix := fmt.Sprintf(" (%d)", n)
		free = cut(name, maxName-len(suffix)) + suffix
	}
	taken[name], taken[free] = max(1, taken[name]), 1
	if free != name {
		taken[name] = n
	}
	return free
}

// Add adds an object whose name was reserved by Name, with the class that its warnings allow, and returns it. The
// caller may change it until the draft is taken.
func (b *Builder) Add(o importer.Object) *importer.Object {
	if o.Class == "" {
		o.Class = importer.Same
	}
	b.objects = append(b.objects, &o)
	return &o
}

// Count returns a number with a regular noun: "1 host", "2 hosts".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Skip adds an object that is not written.
func (b *Builder) Skip(kind importer.Kind, name, ref, format string, args ...any) {
	b.Add(importer.Object{
		Kind: kind, Name: clean(name), Ref: ref, Class: importer.NoHome, Reason: fmt.Sprintf(format, args...),
	})
}

// Draft returns what was collected. NothingFound is a builder without objects. An object of the class Same with
// warnings becomes Adapted.
func (b *Builder) Draft() (importer.Draft, error) {
	if len(b.objects) == 0 {
		return importer.Draft{}, importer.NothingFound.New("nothing to import was found")
	}
	d := importer.Draft{Objects: make([]importer.Object, len(b.objects))}
	for i, o := range b.objects {
		if o.Class == importer.Same && len(o.Warnings) > 0 {
			o.Class = importer.Adapted
		}
		d.Objects[i] = *o
	}
	return d, nil
}

// Warn adds a warning to an object. Field is the member of the export that is lost or different.
func Warn(o *importer.Object, field, format string, args ...any) {
	o.Warnings = append(o.Warnings, importer.Warning{Object: o.Name, Field: field, Message: fmt.Sprintf(format, args...)})
}

// Need is Warn for what somebody has to complete before the object works.
func Need(o *importer.Object, field, format string, args ...any) {
	Warn(o, field, format, args...)
	o.Class = importer.NeedsYou
}

// Map adds a sentence about what became of a part of an object.
func Map(o *importer.Object, format string, args ...any) {
	o.Mapping = append(o.Mapping, fmt.Sprintf(format, args...))
}

// clean returns a text as a name of an object: one line without control characters, of valid UTF-8, within the limit.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if object.LineBreak(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return strings.TrimSpace(cut(strings.TrimSpace(s), maxName))
}

// cut returns at most limit characters of s.
func cut(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit])
}
