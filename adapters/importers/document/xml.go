package document

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/writ-automation/writ/ports/lazyregexp"
)

// Element is an element of an XML document.
type Element struct {
	Name     string // without a prefix of a namespace
	Attrs    map[string]string
	Children []*Element
	Text     string // all text directly in the element
	Line     int
}

// Child returns the first child of a name, nil if there is none or e is nil.
func (e *Element) Child(name string) *Element {
	if e == nil {
		return nil
	}
	for _, c := range e.Children {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Find returns the element at a path of names below e, nil if there is none or e is nil.
func (e *Element) Find(path ...string) *Element {
	for _, name := range path {
		e = e.Child(name)
	}
	return e
}

// All returns the children of a name.
func (e *Element) All(name string) []*Element {
	var out []*Element
	if e == nil {
		return nil
	}
	for _, c := range e.Children {
		if c.Name == name {
			out = append(out, c)
		}
	}
	return out
}

// Value returns the text at a path of names below e without surrounding space, empty if there is no such element.
func (e *Element) Value(path ...string) string {
	if found := e.Find(path...); found != nil {
		return strings.TrimSpace(found.Text)
	}
	return ""
}

// Attr returns an attribute, empty if there is none or e is nil.
func (e *Element) Attr(name string) string {
	if e == nil {
		return ""
	}
	return e.Attrs[name]
}

var (
	// declaration matches the XML declaration, whose version 1.1 the decoder does not accept.
	declaration = lazyregexp.New(`^\s*<\?xml[^>]*\?>`)
	encoding    = lazyregexp.New(`encoding\s*=\s*["']([A-Za-z0-9._-]+)["']`)
	// controls matches references to the control characters that XML 1.1 allows and XML 1.0 does not.
	controls = lazyregexp.New(`&#(?:0*(?:[1-8]|1[124-9]|2[0-9]|3[01])|x0*(?:[1-8bBcCeEfF]|1[0-9a-fA-F]));`)
)

// What an element and its first attribute take in memory besides their text, in bytes.
const (
	elementSize   = 120
	attributeSize = 40
)

// open is an element whose end was not read.
type open struct {
	*Element
	text []byte
}

// XML reads a document in UTF-8 or ISO-8859-1. A document type is refused, and so is every entity but the five of XML:
// nothing is expanded and nothing is fetched.
func XML(body []byte) (*Element, error) {
	text, err := xmlText(body)
	if err != nil {
		return nil, err
	}
	d := xml.NewDecoder(text)
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	stack, size := []open{{Element: &Element{}}}, 0
	for {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		at, _ := d.InputPos()
		if err != nil {
			return nil, xmlFault(at, err)
		}
		top := &stack[len(stack)-1]
		switch token := token.(type) {
		case xml.Directive:
			return nil, malformed(at, "the XML has a document type, which is refused")
		case xml.StartElement:
			if size += elementCost(token); size > maxMemory || len(stack) > MaxDepth {
				return nil, malformed(at, "the XML has too many elements or nests deeper than %d levels", MaxDepth)
			}
			e := element(token, at)
			top.Children = append(top.Children, e)
			stack = append(stack, open{Element: e})
		case xml.EndElement:
			if len(stack) == 1 || top.Name != token.Name.Local {
				return nil, malformed(at, "the XML closes %q where it is not open", token.Name.Local)
			}
			top.Text = string(top.text)
			stack = stack[:len(stack)-1]
		case xml.CharData:
			top.text = append(top.text, token...)
		}
	}
	if last := stack[len(stack)-1]; len(stack) > 1 {
		return nil, malformed(last.Line, "the XML does not close %q", last.Name)
	}
	if root := stack[0]; len(root.Children) != 1 || len(bytes.TrimSpace(root.text)) > 0 {
		return nil, malformed(0, "the XML is not one element")
	}
	return stack[0].Children[0], nil
}

func elementCost(token xml.StartElement) int {
	if len(token.Attr) == 0 {
		return elementSize
	}
	return elementSize + mapSize + attributeSize*len(token.Attr)
}

// xmlText returns a document with blanks in place of its declaration, which keep the numbers of lines, in UTF-8, and
// without references that only XML 1.1 has.
func xmlText(body []byte) (io.Reader, error) {
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	head := declaration.Get().Find(body[:min(len(body), 1024)])
	if m := encoding.Get().FindSubmatch(head); m != nil && strings.EqualFold(string(m[1]), "iso-8859-1") {
		body = latin1(body)
	}
	body, err := Text(body)
	if err != nil {
		return nil, err
	}
	if attributes(body) > maxMemory/mapSize {
		return nil, malformed(0, "the XML has too many attributes")
	}
	lines := bytes.Repeat([]byte("\n"), bytes.Count(head, []byte("\n")))
	body = body[len(head):]
	if controls.Get().Match(body) {
		body = withoutControls(body)
	}
	return io.MultiReader(bytes.NewReader(lines), bytes.NewReader(body)), nil
}

// attributes returns at most how many attributes the tags have: the decoder builds a whole tag before it hands it out.
func attributes(body []byte) int {
	n, tag := 0, false
	for _, c := range body {
		switch {
		case c == '<':
			tag = true
		case c == '>':
			tag = false
		case c == '=' && tag:
			n++
		}
	}
	return n
}

// withoutControls removes references to control characters, but not in sections of plain text.
func withoutControls(body []byte) []byte {
	out := make([]byte, 0, len(body))
	for len(body) > 0 {
		markup, section, found := bytes.Cut(body, []byte("<![CDATA["))
		out = append(out, controls.Get().ReplaceAll(markup, nil)...)
		if !found {
			break
		}
		_, body, _ = bytes.Cut(section, []byte("]]>"))
		out = append(append(out, "<![CDATA["...), section[:len(section)-len(body)]...)
	}
	return out
}

// latin1 returns a text of ISO-8859-1 in UTF-8.
func latin1(body []byte) []byte {
	var b bytes.Buffer
	b.Grow(len(body))
	for _, c := range body {
		b.WriteRune(rune(c))
	}
	return b.Bytes()
}

func element(token xml.StartElement, at int) *Element {
	e := &Element{Name: token.Name.Local, Line: at}
	if len(token.Attr) > 0 {
		e.Attrs = make(map[string]string, len(token.Attr))
		for _, a := range token.Attr {
			e.Attrs[a.Name.Local] = a.Value
		}
	}
	return e
}

func xmlFault(at int, err error) error {
	var syntax *xml.SyntaxError
	if errors.As(err, &syntax) {
		return malformed(syntax.Line, "the XML is not valid: %s", syntax.Msg)
	}
	return malformed(at, "the XML is not valid: %s", fmt.Sprint(err))
}
