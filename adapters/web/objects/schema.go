package objects

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
)

// document is what the forms need of the API's document.
type document struct {
	Paths      map[string]map[string]*described `json:"paths"`
	Components struct {
		Schemas map[string]*schema `json:"schemas"`
	} `json:"components"`
}

// described is an operation of the document.
type described struct {
	ID      string             `json:"operationId"`
	Access  string             `json:"x-access"`
	Summary string             `json:"summary"`
	License string             `json:"x-license"`
	Body    content            `json:"requestBody"`
	Answers map[string]content `json:"responses"`
}

type content struct {
	Content map[string]struct {
		Schema *schema `json:"schema"`
	} `json:"content"`
}

func (c content) schema() *schema { return c.Content["application/json"].Schema }

// schema is the part of JSON schema that the document uses.
type schema struct {
	Ref         string             `json:"$ref"`
	Type        typeName           `json:"type"`
	Format      string             `json:"format"`
	Description string             `json:"description"`
	Enum        []any              `json:"enum"`
	Items       *schema            `json:"items"`
	Properties  map[string]*schema `json:"properties"`
	Additional  json.RawMessage    `json:"additionalProperties"`
	Required    []string           `json:"required"`
	ReadOnly    bool               `json:"readOnly"`
	Minimum     *float64           `json:"minimum"`
	Maximum     *float64           `json:"maximum"`
	MinItems    int                `json:"minItems"`
	MaxLength   int                `json:"maxLength"`
	Order       []string           `json:"x-order"`
}

// typeName is the type of a value. Of a value that may be null, it is the other type.
type typeName string

// UnmarshalJSON reads a name or a list of names.
func (t *typeName) UnmarshalJSON(b []byte) error {
	var list []string
	if json.Unmarshal(b, &list) != nil {
		return json.Unmarshal(b, (*string)(t)) //nolint:wrapcheck // of a member of the document
	}
	for _, name := range list {
		if name != "null" {
			*t = typeName(name)
		}
	}
	return nil
}

// resolve follows the reference of a schema.
func (d *document) resolve(s *schema) *schema {
	for s != nil && s.Ref != "" {
		s = d.Components.Schemas[path.Base(s.Ref)]
	}
	return s
}

// names returns the members of an object in their order.
func (s *schema) names() []string {
	names := slices.DeleteFunc(slices.Clone(s.Order), func(n string) bool { return s.Properties[n] == nil })
	for _, n := range slices.Sorted(maps.Keys(s.Properties)) {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

func (s *schema) choices() []string {
	out := make([]string, 0, len(s.Enum))
	for _, v := range s.Enum {
		out = append(out, fmt.Sprint(v))
	}
	return out
}

// action is an operation on a kind of records. Kind and Act are the right that it needs.
type action struct {
	ID, Kind, Act string
	Body          *schema
	License       string
}

// kind is a kind of records.
type kind struct {
	// Name is the path below /v1, with dashes; Path is the whole one. Key is the name of the id in the path of a record.
	Name, Path, Key        string
	Create, Update, Delete *action
	// Secrets are the members of the answer of Create that no other answer has.
	Secrets []string
}

// kinds returns the kinds of records of the document: a path with an item that can be read, and that can be created or
// replaced. Runs are made by other pages.
func kinds(d *document) map[string]*kind {
	out := map[string]*kind{}
	for p, item := range d.Paths {
		list, key, ok := strings.Cut(p, "/{")
		get := item["get"]
		if !ok || get == nil || !strings.HasPrefix(p, "/v1/") || !strings.HasSuffix(key, "}") ||
			strings.Contains(key, "/") || list == "/v1/runs" {
			continue
		}
		k := &kind{Name: strings.ReplaceAll(strings.TrimPrefix(list, "/v1/"), "/", "-"), Path: list,
			Key: strings.TrimSuffix(key, "}")}
		k.Create, k.Update, k.Delete = d.action(list, "post"), d.action(p, "put"), d.action(p, "delete")
		if k.Create == nil && k.Update == nil {
			continue
		}
		if k.Create != nil {
			k.Secrets = d.once(d.Paths[list]["post"], get)
		}
		out[k.Name] = k
	}
	return out
}

// action returns an operation, nil if the document has none.
func (d *document) action(p, method string) *action {
	op := d.Paths[p][method]
	if op == nil {
		return nil
	}
	a := &action{ID: op.ID, Body: d.resolve(op.Body.schema()), License: op.License}
	a.Kind, a.Act, _ = strings.Cut(op.Access, ":")
	if a.Body == nil {
		a.Body = &schema{}
	}
	return a
}

// once returns the texts in the answer of create that get does not answer.
func (d *document) once(create, get *described) (names []string) {
	made := d.resolve(create.Answers[fmt.Sprint(http.StatusCreated)].schema())
	read := d.resolve(get.Answers[fmt.Sprint(http.StatusOK)].schema())
	if made == nil || read == nil {
		return nil
	}
	for _, n := range made.names() {
		if s := d.resolve(made.Properties[n]); read.Properties[n] == nil && s != nil && s.Type == "string" {
			names = append(names, n)
		}
	}
	return names
}
