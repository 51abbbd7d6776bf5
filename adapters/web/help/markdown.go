package help

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// converter returns the converter of documents. It leaves out raw HTML and links that would run script.
func converter() goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
}

// parse reads a document. Its links to other documents lead to their pages.
func parse(folder string, source []byte) ast.Node {
	root := converter().Parser().Parse(text.NewReader(source))
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, ok := n.(*ast.Link); ok && entering {
			link.Destination = []byte(address(folder, string(link.Destination)))
		}
		return ast.WalkContinue, nil
	})
	return root
}

// address returns where a link of a document leads. Links to what the binary does not hold lead nowhere.
func address(folder, to string) string {
	switch {
	case strings.HasPrefix(to, "#"), strings.HasPrefix(to, "https://"), strings.HasPrefix(to, "http://"):
		return to
	case strings.HasPrefix(to, "/"):
		return "#top"
	}
	file, anchor, has := strings.Cut(to, "#")
	full := path.Join(folder, file)
	if path.Ext(full) != ".md" || !strings.HasPrefix(full, "guides/") && !strings.HasPrefix(full, "reference/") {
		return "#top"
	}
	full = "/ui/help/" + strings.TrimSuffix(full, ".md")
	if has {
		full += "#" + anchor
	}
	return full
}

// entry is a heading of the contents.
type entry struct {
	Anchor, Heading string
	Level           int
}

// render converts a document without its title, and lists its headings.
func render(d document) (markup string, contents []entry, err error) {
	root := parse(path.Dir(d.Path), d.text)
	if first, ok := root.FirstChild().(*ast.Heading); ok && first.Level == 1 {
		root.RemoveChild(root, first)
	}
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok && h.Level <= 3 {
			contents = append(contents, entry{Anchor: anchorOf(h), Heading: plain(h, d.text), Level: h.Level})
		}
	}
	var b bytes.Buffer
	if err := converter().Renderer().Render(&b, d.text, root); err != nil {
		return "", nil, fmt.Errorf("render %s: %w", d.Path, err)
	}
	// Tables and code are wider than a phone; each scrolls by itself, so it must be reachable by the keyboard.
	out := strings.NewReplacer("<table>", `<div class="scroll" tabindex="0"><table>`, "</table>", "</table></div>",
		"<pre>", `<pre tabindex="0">`).Replace(b.String())
	return out, contents, nil
}

func anchorOf(h *ast.Heading) string {
	id, _ := h.AttributeString("id")
	b, _ := id.([]byte)
	return string(b)
}

// plain returns the text of a node without its marks.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			if n.Type() == ast.TypeBlock {
				b.WriteByte(' ')
			}
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Segment.Value(source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			lines := n.Lines()
			for i := range lines.Len() {
				line := lines.At(i)
				b.Write(line.Value(source))
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

// newDocument reads the title and the passages of a document.
func newDocument(name string, source []byte) document {
	d := document{Path: name, Title: name, text: source}
	root := parse(path.Dir(name), source)
	current := passage{}
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		h, ok := n.(*ast.Heading)
		switch {
		case ok && h.Level == 1:
			d.Title = plain(h, source)
		case ok:
			d.sections = append(d.sections, current)
			current = passage{anchor: anchorOf(h), heading: plain(h, source)}
		default:
			current.text += plain(n, source) + " "
		}
	}
	d.sections = append(d.sections, current)
	return d
}
