package document

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Element is an element of an XML document.
type Element struct {
	Name     string // without a prefix of a namespace
	Attrs    map[string]string
	Children []*Element
	Text     string // all text directly in the element
	Line     int
	text     []byte
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
	declaration = regexp.MustCompile(`^\s*<\?xml[^>]*\?>`)
	encoding    = regexp.MustCompile(`encoding\s*=\s*["']([A-Za-z0-9._-]+)["']`)
	// controls matches references to the control characters that XML 1.1 allows and XML 1.0 does not.
	controls = regexp.MustCompile(`&#(?:0*(?:[1-8]|1[124-9]|2[0-9]|3[01])|x0*(?:[1-8bBcCeEfF]|1[0-9a-fA-F]));`)
)

// XML reads a document in UTF-8 or ISO-8859-1. A document type is refused, and so is every entity but the five of XML:
// nothing is expanded and nothing is fetched.
func XML(body []byte) (*Element, error) {
	body, err := xmlText(body)
	if err != nil {
		return nil, err
	}
	d := xml.NewDecoder(bytes.NewReader(body))
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	root := &Element{}
	stack, count := []*Element{root}, 0
	for {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		at, _ := d.InputPos()
		if err != nil {
			return nil, xmlFault(at, err)
		}
		top := stack[len(stack)-1]
		switch token := token.(type) {
		case xml.Directive:
			return nil, malformed(at, "the XML has a document type, which is refused")
		case xml.StartElement:
			if count++; count > MaxNodes || len(stack) > MaxDepth {
				return nil, malformed(at, "the XML has more than %d elements or nests deeper than %d levels", MaxNodes, MaxDepth)
			}
			e := element(token, at)
			top.Children = append(top.Children, e)
			stack = append(stack, e)
		case xml.EndElement:
			if len(stack) == 1 || top.Name != token.Name.Local {
				return nil, malformed(at, "the XML closes %q where it is not open", token.Name.Local)
			}
			top.Text, top.text = string(top.text), nil
			stack = stack[:len(stack)-1]
		case xml.CharData:
			top.text = append(top.text, token...)
		}
	}
	if len(stack) > 1 {
		return nil, malformed(stack[len(stack)-1].Line, "the XML does not close %q", stack[len(stack)-1].Name)
	}
	if len(root.Children) != 1 || len(bytes.TrimSpace(root.text)) > 0 {
		return nil, malformed(0, "the XML is not one element")
	}
	return root.Children[0], nil
}

// xmlText returns a document without its declaration, in UTF-8, and without references that only XML 1.1 has.
func xmlText(body []byte) ([]byte, error) {
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	head := declaration.Find(body[:min(len(body), 1024)])
	if m := encoding.FindSubmatch(head); m != nil && strings.EqualFold(string(m[1]), "iso-8859-1") {
		body = latin1(body)
	}
	body, err := Text(body)
	if err != nil {
		return nil, err
	}
	// Spaces in its place keep the numbers of lines.
	if loc := declaration.FindIndex(body[:min(len(body), 1024)]); loc != nil {
		body = append(blank(body[:loc[1]]), body[loc[1]:]...)
	}
	return controls.ReplaceAll(body, nil), nil
}

func blank(text []byte) []byte {
	out := bytes.Repeat([]byte(" "), len(text))
	for i, c := range text {
		if c == '\n' {
			out[i] = c
		}
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
