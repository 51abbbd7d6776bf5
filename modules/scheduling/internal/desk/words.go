package desk

import (
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
)

const (
	maxName   = 200 // characters
	maxReason = 500 // characters
)

// Line reports whether s is at most limit characters of UTF-8 on one line, without control characters.
func Line(s string, limit int) bool {
	return utf8.ValidString(s) && utf8.RuneCountInString(s) <= limit && !strings.ContainsFunc(s, broken)
}

func broken(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

// Name returns a name without the space around it. An Invalid fault names name.
func Name(s string) (string, error) {
	s = strings.TrimSpace(s)
	if s == "" || !Line(s, maxName) {
		return "", fault.BadField("name", "expected 1 to %d characters on one line", maxName)
	}
	return s, nil
}

// Ref is an object that a record names, with the member that names it.
type Ref struct{ Path, ID string }

// Missing is the NotFound fault of what does not exist, or may not be read.
func (r Ref) Missing() error {
	f := fault.Missing(noun(r.ID), r.ID)
	return naming(f, r.Path, f.Message)
}

// Unusable is the fault of what may be read and not used.
func (r Ref) Unusable(code fault.Code) error {
	said := "this takes the right to use the " + noun(r.ID)
	return naming(code.New("%s", said), r.Path, said)
}

func naming(f *fault.Error, path, said string) error {
	f.Message = path + ": " + said
	f.Fields = []fault.Field{{Location: path, Message: said}}
	return f
}

func noun(id string) string {
	if kind := ids.KindOf(id); kind != "" {
		return kind
	}
	return "object"
}

// Refs are the objects that a record names.
type Refs []Ref

// IDs returns each id once, in order, so that two units that hold several objects never wait for one another crosswise.
func (r Refs) IDs() []string {
	out := make([]string, len(r))
	for i, x := range r {
		out[i] = x.ID
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Unknown returns the fault that names the member whose object is not there, where err says that one is not, and err itself otherwise.
func (r Refs) Unknown(err error) error {
	var f *fault.Error
	if !catalog.ObjectNotFound.Is(err) || !errors.As(err, &f) {
		return err
	}
	for _, x := range r {
		if x.ID == f.Detail["id"] {
			return x.Missing()
		}
	}
	return err
}

// Below returns the fault of a part of a record, with its members named below the path.
func Below(path string, err error) error {
	var f *fault.Error
	if !errors.As(err, &f) || len(f.Fields) == 0 {
		return err
	}
	c := *f
	c.Fields = slices.Clone(f.Fields)
	for i := range c.Fields {
		c.Fields[i].Location = path + "." + c.Fields[i].Location
	}
	if strings.HasPrefix(c.Message, f.Fields[0].Location+": ") {
		c.Message = path + "." + c.Message
	}
	return &c
}

// Reason is one sentence for people about why something made no run. What is no fault stays in the log.
func Reason(err error) string {
	var f *fault.Error
	if !errors.As(err, &f) || f.Message == "" || f.Kind == fault.Internal {
		return "an internal error, which the server's log names"
	}
	said := strings.Map(func(r rune) rune {
		if broken(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(f.Message, "\uFFFD"))
	if utf8.RuneCountInString(said) > maxReason {
		said = string([]rune(said)[:maxReason])
	}
	return said
}
