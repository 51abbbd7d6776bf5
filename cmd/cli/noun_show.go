package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/writ-automation/writ/cmd/cli/internal/apidoc"
)

// showCommand reads objects, or another answer about one. An answer that is a document and no object is written as it
// is, into a file or to standard output.
func (n *noun) showCommand(w environment, o operation) *cobra.Command {
	file, watch := "", false
	several := ""
	if o.verb == "show" && strings.Contains(o.Path, "{") {
		several = "..."
	}
	c := n.verbCommand(o, several)
	query := queryFlags(w, c, o)
	signed := o.ID == "read-seal" || o.ID == "get-run-receipt"
	document := len(o.Answer) == 0 || signed
	if document {
		c.Flags().StringVar(&file, "file", "-", "write the document into this `file`")
	} else {
		c.Flags().BoolVar(&watch, "watch", false, "show it again every 2 seconds until interrupted")
	}
	return n.completed(w, o, c, func(ctx context.Context, cl *client, a []string, out printer) error {
		q, err := query(w)
		if err != nil {
			return err
		}
		if err := cl.references(ctx, q); err != nil {
			return err
		}
		paths, err := n.pathsOf(ctx, cl, o, a, several != "")
		if err != nil {
			return err
		}
		// A signature is over the bytes of a document.
		if selects := out.json && !out.streams(); document && !(signed && selects) {
			return cl.save(ctx, w, paths[0], q, file)
		}
		return watched(ctx, out, watch, watchEvery, func(ctx context.Context) error {
			return n.show(ctx, cl, o, paths, q, out)
		})
	})
}

// pathsOf returns the path of each object that is shown, or the only path of an operation.
func (n *noun) pathsOf(ctx context.Context, c *client, o operation, a []string, several bool) ([]string, error) {
	if !several {
		path, err := n.path(ctx, c, o, a)
		return []string{path}, err
	}
	var paths []string
	for _, name := range a {
		path, err := n.path(ctx, c, o, []string{name})
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

func (n *noun) show(ctx context.Context, c *client, o operation, paths []string, q url.Values, out printer) error {
	answers := make([]json.RawMessage, 0, len(paths))
	for _, path := range paths {
		raw, err := c.fetch(ctx, path, q)
		if err != nil {
			return err
		}
		answers = append(answers, raw)
	}
	list, ok := n.operation("list")
	if len(answers) > 1 && out.json && ok {
		out.list = list.List
		return out.document(map[string]any{list.List: answers, "count": len(answers)})
	}
	for i, raw := range answers {
		if i > 0 {
			_, _ = fmt.Fprintln(out.out)
		}
		if err := printObject(out, raw); err != nil {
			return err
		}
	}
	return nil
}

// save writes an answer that is a document.
func (c *client) save(ctx context.Context, w environment, path string, q url.Values, file string) error {
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	resp, err := c.request(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	return writeFile(w, file, func(to io.Writer) error {
		with := w
		with.out = to
		_, err := (&logWriter{screen: newScreen(with)}).copy(resp.Body)
		return err
	})
}

// printObject prints the members of an object for readers, or the document.
func printObject(out printer, raw json.RawMessage) error {
	if out.json {
		return out.document(raw)
	}
	doc, err := ordered(raw)
	if err != nil {
		return fmt.Errorf("the answer has an unknown format: %w", err)
	}
	s, width := newScreen(out.environment), 0
	var inner [][2]*yaml.Node
	var lines [][2]string
	for i := 0; i+1 < len(doc.Content); i += 2 {
		k, v := doc.Content[i], doc.Content[i+1]
		text, plain := plainMember(k.Value, v)
		switch {
		case k.Value == "$schema":
		case plain:
			lines = append(lines, [2]string{k.Value, text})
			width = max(width, cellsOf(k.Value))
		default:
			inner = append(inner, [2]*yaml.Node{k, v})
		}
	}
	for _, l := range lines {
		_, _ = fmt.Fprintf(s.w, "%s  %s\n", s.paint("dim", pad(plainText(l[0]), width)), oneLine(l[1], 1000))
	}
	for _, m := range inner {
		_, _ = fmt.Fprintf(s.w, "\n%s\n", s.paint("dim", plainText(m[0].Value)))
		if err := printInner(out, m[1]); err != nil {
			return err
		}
	}
	return nil
}

// plainMember is a member on one line; plain is false if it needs several.
func plainMember(name string, v *yaml.Node) (text string, plain bool) {
	var value any
	if v.Decode(&value) != nil {
		return "", false
	}
	if v.Kind == yaml.ScalarNode {
		return cellText(scalarOf(v), name), !strings.Contains(strings.TrimRight(v.Value, "\n"), "\n")
	}
	for _, item := range v.Content {
		if item.Kind != yaml.ScalarNode || v.Kind == yaml.MappingNode {
			return "", false
		}
	}
	texts := make([]string, 0, len(v.Content))
	for _, item := range v.Content {
		texts = append(texts, item.Value)
	}
	if len(texts) == 0 {
		return "-", true
	}
	return strings.Join(texts, ", "), true
}

// scalarOf is a value as its document spells it.
func scalarOf(v *yaml.Node) any {
	switch v.Tag {
	case "!!null":
		return nil
	case "!!bool":
		return v.Value == "true"
	}
	return v.Value
}

// printInner prints a list of objects as a table, and anything else as YAML.
func printInner(out printer, v *yaml.Node) error {
	s := newScreen(out.environment)
	if v.Kind == yaml.ScalarNode {
		for line := range strings.Lines(plainText(v.Value)) {
			_, _ = fmt.Fprintf(s.w, "  %s\n", strings.TrimRight(line, "\n"))
		}
		return nil
	}
	if columns, rows := tableOf(v); rows != nil {
		printRows(out, columns, rows)
		return nil
	}
	var b strings.Builder
	plainStyle(v)
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(v); err != nil {
		return err
	}
	for line := range strings.Lines(plainText(b.String())) {
		_, _ = fmt.Fprintf(s.w, "  %s\n", strings.TrimRight(line, "\n"))
	}
	return nil
}

// tableOf returns the columns and rows of a list of objects with plain members; no rows if it is something else.
func tableOf(v *yaml.Node) ([]apidoc.Member, []json.RawMessage) {
	var columns []apidoc.Member
	var rows []json.RawMessage
	if v.Kind != yaml.SequenceNode {
		return nil, nil
	}
	for _, item := range v.Content {
		var value map[string]any
		if item.Kind != yaml.MappingNode || item.Decode(&value) != nil {
			return nil, nil
		}
		for i := 0; i+1 < len(item.Content); i += 2 {
			name, member := item.Content[i].Value, item.Content[i+1]
			if _, plain := plainMember(name, member); plain && !hasMember(columns, name) {
				kind := ""
				if member.Tag == "!!int" {
					kind = "integer"
				}
				columns = append(columns, apidoc.Member{Name: name, Type: kind})
			}
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, nil
		}
		rows = append(rows, raw)
	}
	if len(columns) > 10 || len(columns) == 0 {
		return nil, nil
	}
	return columns, rows
}

// runShowCommand shows a run as the command runs does.
func runShowCommand(w environment) *cobra.Command {
	c := &cobra.Command{
		Use: "show RUN", Short: "Show a run: what it is, what it waits for, its outcome", Args: args(cobra.ExactArgs(1)),
	}
	return ofRuns(w, c, watching(c, func(ctx context.Context, c *client, a []string, out printer) error {
		return showRun(ctx, c, a[0], out)
	}))
}
