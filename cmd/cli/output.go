package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/itchyny/gojq"
	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/writ-automation/writ/cmd/cli/internal/gotemplate"
)

// The values of --output. A template is the rest of the value after its prefix.
const (
	formTable    = "table"
	formWide     = "wide"
	formJSON     = "json"
	formYAML     = "yaml"
	formCSV      = "csv"
	formTemplate = "template="
)

// outputFlags say in which form a command prints what it found or did.
type outputFlags struct {
	form, jq string
	asJSON   bool
}

func (f *outputFlags) register(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVarP(&f.form, "output", "o", formTable, "table, wide, json, yaml, csv, or template=GO-TEMPLATE")
	fs.BoolVar(&f.asJSON, "json", false, "the same as --output json")
	fs.StringVar(&f.jq, "jq", "", "select from the JSON document by a jq `expression`")
	c.MarkFlagsMutuallyExclusive("output", "json")
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(
		[]string{formTable, formWide, formJSON, formYAML, formCSV, formTemplate}, cobra.ShellCompDirectiveNoFileComp))
}

// printer makes the printer of a command, and refuses forms that do not exist.
func (f *outputFlags) printer(w environment) (printer, error) {
	p := printer{environment: w, form: f.form}
	if f.asJSON {
		p.form = formJSON
	}
	text, isTemplate := strings.CutPrefix(p.form, formTemplate)
	switch {
	case f.jq != "":
		if p.form != formTable && p.form != formJSON {
			return p, usagef("--jq: selects from JSON: omit --output")
		}
		query, err := gojq.Parse(f.jq)
		if err != nil {
			return p, usagef("--jq: %w", err)
		}
		p.form, p.jq = formJSON, query
	case isTemplate:
		t, err := gotemplate.Parse(text)
		if err != nil {
			return p, usagef("--output: %w", err)
		}
		p.template = t
	case p.form != formTable && p.form != formWide && p.form != formJSON && p.form != formYAML && p.form != formCSV:
		return p, usagef("--output %q: expected table, wide, json, yaml, csv or template=...", p.form)
	}
	p.json, p.wide = p.form != formTable && p.form != formWide, p.form == formWide
	return p, nil
}

// printer prints what a command did: for people, or as a document for programs.
type printer struct {
	environment
	form     string
	jq       *gojq.Query
	template *gotemplate.Template
	json     bool   // print a document
	wide     bool   // tables show every column
	list     string // the list of a document whose items are the rows of CSV; its only list if empty
}

// streams reports whether an answer may be printed as it comes, since its document is wanted as it is.
func (o printer) streams() bool { return o.form == formJSON && o.jq == nil }

// print prints a line, or its view as a document.
func (o printer) print(view any, line string, args ...any) error {
	if o.json {
		return o.document(view)
	}
	_, err := fmt.Fprintf(o.out, line+"\n", args...)
	return err
}

// document prints a JSON document in the form that the flags demand.
func (o printer) document(view any) error {
	raw, err := marshal(view, "")
	if err != nil {
		return err
	}
	switch {
	case o.jq != nil:
		return o.selected(raw)
	case o.template != nil:
		v, err := decoded(raw)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := o.template.Execute(&b, v); err != nil {
			return usagef("--output: %w", err)
		}
		return o.text(b.String())
	case o.form == formYAML:
		return writeYAML(o.out, raw)
	case o.form == formCSV:
		var b bytes.Buffer
		if err := writeCSV(&b, raw, o.list); err != nil {
			return err
		}
		return o.text(b.String())
	}
	return printJSON(o.out, json.RawMessage(raw))
}

// selected prints what the jq expression selects: texts as they are, other values as JSON.
func (o printer) selected(raw []byte) error {
	v, err := decoded(raw)
	if err != nil {
		return err
	}
	results := o.jq.Run(v)
	for {
		v, ok := results.Next()
		if !ok {
			return nil
		}
		var halt *gojq.HaltError
		switch x := v.(type) {
		case error:
			if errors.As(x, &halt) && halt.Value() == nil {
				return nil
			}
			return fmt.Errorf("--jq: %w", x)
		case string:
			err = o.text(x)
		default:
			err = printJSON(o.out, x)
		}
		if err != nil {
			return err
		}
	}
}

// text prints what was made of the answer as a text; a terminal gets no control characters.
func (o printer) text(s string) error {
	if newScreen(o.environment).tty {
		s = plainText(s)
	}
	_, err := fmt.Fprintln(o.out, strings.TrimSuffix(s, "\n"))
	return err
}

func marshal(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	err := e.Encode(v)
	return b.Bytes(), err
}

func printJSON(w io.Writer, v any) error {
	raw, err := marshal(v, "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(raw)
	return err
}

func compactJSON(v any) (string, error) {
	raw, err := marshal(v, "")
	return strings.TrimSuffix(string(raw), "\n"), err
}

// decoded reads JSON; its numbers keep their digits.
func decoded(raw []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// ordered reads JSON, of which YAML is a superset, and keeps the order of members.
func ordered(raw []byte) (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		return nil, err
	}
	return doc.Content[0], nil
}

func writeYAML(w io.Writer, raw []byte) error {
	doc, err := ordered(raw)
	if err != nil {
		return err
	}
	plainStyle(doc)
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	return errors.Join(e.Encode(doc), e.Close())
}

// plainStyle removes the quotes and braces of JSON; the encoder quotes what needs it.
func plainStyle(n *yaml.Node) {
	n.Style = 0
	for _, c := range n.Content {
		plainStyle(c)
	}
}

// writeCSV prints the rows of a list, or an object as one row, with a heading (RFC 4180). Members that are objects or
// lists are JSON in their cell.
func writeCSV(w io.Writer, raw []byte, list string) error {
	doc, err := ordered(raw)
	if err != nil {
		return err
	}
	rows := slices.DeleteFunc(rowsOf(doc, list), func(r *yaml.Node) bool { return r.Kind != yaml.MappingNode })
	var heading []string
	at := map[string]int{}
	for _, r := range rows {
		for i := 0; i+1 < len(r.Content); i += 2 {
			name := r.Content[i].Value
			if _, known := at[name]; !known {
				at[name] = len(heading)
				heading = append(heading, name)
			}
		}
	}
	out := csv.NewWriter(w)
	_ = out.Write(heading)
	for _, r := range rows {
		cells := make([]string, len(heading))
		for i := 0; i+1 < len(r.Content); i += 2 {
			if cells[at[r.Content[i].Value]], err = cellOf(r.Content[i+1]); err != nil {
				return err
			}
		}
		_ = out.Write(cells)
	}
	out.Flush()
	return out.Error()
}

// rowsOf returns the items of a list of objects in a document: of the one that is named, else of the only one. Without
// it, and of what has an id, the document is the row.
func rowsOf(doc *yaml.Node, list string) []*yaml.Node {
	if doc.Kind == yaml.SequenceNode {
		return doc.Content
	}
	var lists []*yaml.Node
	for i := 0; i+1 < len(doc.Content); i += 2 {
		name, v := doc.Content[i].Value, doc.Content[i+1]
		if list == "" && name == "id" {
			return []*yaml.Node{doc}
		}
		objects := v.Kind == yaml.SequenceNode && (len(v.Content) == 0 || v.Content[0].Kind == yaml.MappingNode)
		if objects && (list == "" || list == name) {
			lists = append(lists, v)
		}
	}
	if len(lists) == 1 {
		return lists[0].Content
	}
	return []*yaml.Node{doc}
}

func cellOf(n *yaml.Node) (string, error) {
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		return "", nil
	case n.Kind == yaml.ScalarNode:
		return n.Value, nil
	}
	var v any
	if err := n.Decode(&v); err != nil {
		return "", err
	}
	return compactJSON(v)
}
