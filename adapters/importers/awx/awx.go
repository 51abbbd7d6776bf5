// Package awx reads exports of AWX and automation controller, in JSON and YAML.
//
// An export is an object of lists, one for each kind of resource. Objects refer to each other by natural keys, which
// have names and no ids. Settings that a schedule or a node of a workflow gives to its job become a copy of the
// template, since schedules and steps have no such settings here.
//
// Recurrence rules are computed as the product does: on the clock of the zone, where a time that the clocks skip does
// not fire, and a time that occurs twice fires the first time.
package awx

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/writ-automation/writ/adapters/importers/archive"
	"github.com/writ-automation/writ/adapters/importers/document"
	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
)

// New returns the format.
func New() importer.Format { return format{} }

type format struct{}

func (format) Name() string { return "awx" }

func (format) Targeted() bool { return false }

func (format) Read(ctx context.Context, e importer.Export) (importer.Draft, error) {
	tree, err := parse(e.Body)
	if err != nil {
		return importer.Draft{}, err
	}
	x := &reader{ctx: ctx, now: e.Now, values: maxValues, days: maxDays}
	x.collect(tree)
	for _, step := range []struct {
		list string
		read func(e *entry, r *record)
	}{
		{"credential_types", x.credentialType}, {"credentials", x.credential}, {"projects", x.project},
		{"inventory", x.inventory}, {"inventory_sources", x.source}, {"notification_templates", x.notification},
		{"organizations", x.organization}, {"job_templates", x.jobTemplate}, {"workflow_job_templates", x.workflow},
		{"schedules", x.topSchedule},
	} {
		for _, e := range x.lists[step.list] {
			if err := ctx.Err(); err != nil {
				return importer.Draft{}, err
			}
			step.read(e, e.open())
		}
	}
	x.others(tree)
	x.targets()
	return x.Draft()
}

// reader reads one export.
type reader struct {
	draft.Builder
	ctx     context.Context
	now     time.Time
	values  int // how many values of variables may still be read
	days    int // how many days of recurrence rules may still be looked at
	lists   map[string][]*entry
	index   map[string][]*entry // by kind and name
	names   map[string]int
	planned map[string]bool // schedules by their target and name
	zones   map[string]*time.Location
	copies  map[string]*importer.Object // copies of templates by what they set
}

// Bounds of the work for one export.
const (
	maxValues = 4_000_000
	maxDays   = 3_000_000
)

// lists names the lists of an export in their order, each with the word for one object of it.
func lists() [][2]string {
	return [][2]string{
		{"credential_types", "credential_type"}, {"credentials", "credential"}, {"projects", "project"},
		{"inventory", "inventory"}, {"inventory_sources", "inventory_source"},
		{"notification_templates", "notification_template"}, {"organizations", "organization"},
		{"job_templates", "job_template"}, {"workflow_job_templates", "workflow_job_template"}, {"schedules", "schedule"},
		{"users", "user"}, {"teams", "team"}, {"execution_environments", "execution_environment"},
		{"applications", "application"},
	}
}

func word(list string) string {
	for _, l := range lists() {
		if l[0] == list {
			return l[1]
		}
	}
	return ""
}

// parse returns the lists of an export, or why the body is none.
func parse(body []byte) (map[string][]byte, error) {
	if archive.Is(body) {
		return nil, importer.Malformed.New("the body is an archive; an export is one file in JSON or YAML")
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))
	var err error
	if len(text) > 0 && (text[0] == '{' || text[0] == '[') {
		err = sound(body, text)
	} else {
		text, err = fromYAML(body)
	}
	if err != nil {
		return nil, err
	}
	if len(text) == 0 || text[0] != '{' {
		return nil, refused(text)
	}
	tree := map[string][]byte{}
	for name, list := range document.Members(text) {
		tree[name] = list
	}
	for _, l := range lists() {
		if _, ok := tree[l[0]]; ok {
			return tree, nil
		}
	}
	return nil, hint(tree)
}

// sound checks JSON. Valid JSON is not decoded, and the fault of other JSON names its place.
func sound(body, text []byte) error {
	if utf8.Valid(text) && json.Valid(text) && document.Depth(text) <= document.MaxDepth {
		return nil
	}
	var v json.RawMessage
	if err := document.JSON(body, &v); err != nil {
		return err
	}
	return importer.Malformed.New("the JSON is not valid")
}

// fromYAML returns YAML as JSON.
func fromYAML(body []byte) ([]byte, error) {
	var v any
	if err := document.YAML(body, &v); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.Grow(len(body) + len(body)/8)
	if err := encode(&b, v, 2); err != nil {
		return nil, importer.Malformed.New("the YAML has a value that JSON cannot hold")
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// encode writes a value as JSON, and what is so many levels inside of it on its own: the library would hold the whole
// text several times. What is written is removed from the lists of the value.
func encode(b *bytes.Buffer, v any, levels int) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	separator := byte('{')
	switch tree, isMap := v.(map[string]any); {
	case levels == 0:
	case isMap && len(tree) > 0:
		for name, member := range tree {
			b.WriteByte(separator)
			if err := e.Encode(name); err != nil {
				return err
			}
			b.WriteByte(':')
			if err := encode(b, member, levels-1); err != nil {
				return err
			}
			separator = ','
		}
		return b.WriteByte('}')
	default:
		list, _ := v.([]any)
		for i, item := range list {
			b.WriteByte("[,"[min(i, 1)])
			if err := encode(b, item, levels-1); err != nil {
				return err
			}
			list[i] = nil
		}
		if len(list) > 0 {
			return b.WriteByte(']')
		}
	}
	return e.Encode(v)
}

// refused says what a body is that is not an object.
func refused(body []byte) error {
	var assets []struct {
		Type string `json:"asset_type"`
	}
	if json.Unmarshal(body, &assets) == nil && len(assets) > 0 && assets[0].Type != "" {
		return importer.Malformed.New("the body is a list of assets of the older command line; " +
			"export with the command line awx, which writes an object of lists")
	}
	return importer.Malformed.New("an export is an object with lists such as job_templates; make it with awx export")
}

// hint says what an object is that has none of the lists of an export.
func hint(tree map[string][]byte) error {
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { _, ok := tree[name]; return !ok })
	}
	switch {
	case has("count", "results"):
		return importer.Malformed.New("the body is a page of a list of the REST API; make an export with awx export")
	case has("id", "url"):
		return importer.Malformed.New("the body is one object of the REST API; make an export with awx export")
	case has("spec"):
		return importer.Malformed.New("the body is a survey alone; make an export of its template with awx export")
	}
	for name := range tree {
		prefix, _, _ := strings.Cut(name, "_")
		if slices.Contains([]string{"controller", "tower", "awx", "aap", "gateway", "hub", "eda"}, prefix) {
			return importer.Malformed.New("the body has variables of configuration as code; " +
				"apply them to a controller, and make an export there with awx export")
		}
	}
	return importer.Malformed.New("the body has none of the lists of an export, such as job_templates")
}
