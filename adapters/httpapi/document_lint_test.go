package httpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// object is a JSON object of the API document.
type object = map[string]any

// linter checks the document by the recommended rules of redocly, and names the rules.
type linter struct {
	t   *testing.T
	doc object
	ids map[string]bool
}

func (l *linter) bad(rule, at, format string, args ...any) {
	l.t.Errorf("%s: %s: %s", rule, at, fmt.Sprintf(format, args...))
}

// sub returns a member that is an object, or an empty object.
func sub(o object, name string) object {
	m, _ := o[name].(object)
	return m
}

func text(o object, name string) string {
	s, _ := o[name].(string)
	return s
}

func TestDocumentKeepsTheRecommendedRules(t *testing.T) {
	t.Parallel()
	l := &linter{t: t, ids: map[string]bool{}}
	if err := json.Unmarshal(setup(t, whole).call("GET", "/openapi.json", "", "").body, &l.doc); err != nil {
		t.Fatal(err)
	}
	l.root()
	shapes := map[string]string{}
	for path, item := range sub(l.doc, "paths") {
		shape := placeholder.ReplaceAllString(path, "{}")
		if other := shapes[shape]; other != "" {
			l.bad("no-identical-paths", path, "is %s", other)
		}
		shapes[shape] = path
		if strings.Contains(path, "?") || strings.HasSuffix(path, "/") || strings.Contains(path, "{}") {
			l.bad("path-not-include-query, no-path-trailing-slash, path-declaration-must-exist", path, "bad form")
		}
		for method, op := range item.(object) {
			l.operation(method+" "+path, path, op.(object))
		}
	}
	l.references("#", l.doc)
	for name, s := range sub(sub(l.doc, "components"), "schemas") {
		if !regexp.MustCompile(`^[a-zA-Z0-9.\-_]+$`).MatchString(name) {
			l.bad("spec-components-invalid-map-name", name, "bad form")
		}
		l.schema(name, s.(object))
	}
}

var placeholder = regexp.MustCompile(`\{([^}]*)\}`)

func (l *linter) root() {
	info := sub(l.doc, "info")
	if text(info, "title") == "" || text(info, "version") == "" || text(sub(info, "license"), "name") == "" {
		l.bad("struct, info-license", "info", "incomplete")
	}
	servers, _ := l.doc["servers"].([]any)
	if len(servers) == 0 {
		l.bad("no-empty-servers", "servers", "none")
	}
	for _, s := range servers {
		url := text(s.(object), "url")
		if url == "" || url != "/" && strings.HasSuffix(url, "/") || strings.Contains(url, "example.com") {
			l.bad("no-server-trailing-slash, no-server-example.com", "servers", "%q", url)
		}
	}
	tags, _ := l.doc["tags"].([]any)
	if len(tags) == 0 || text(tags[0].(object), "name") != "runs" {
		l.bad("tags", "tags", "runs are to be the first")
	}
	for _, tag := range tags {
		if text(tag.(object), "description") == "" {
			l.bad("tag-description", text(tag.(object), "name"), "none")
		}
	}
}

func (l *linter) operation(at, path string, op object) {
	id := text(op, "operationId")
	if id == "" || l.ids[id] || strings.ContainsAny(id, " /?#") {
		l.bad("operation-operationId, -unique, -url-safe", at, "%q", id)
	}
	l.ids[id] = true
	if text(op, "summary") == "" || text(op, "description") == "" {
		l.bad("operation-summary, operation-description", at, "none")
	}
	declared := func(tag any) bool {
		return slices.ContainsFunc(l.doc["tags"].([]any), func(t any) bool { return t.(object)["name"] == tag })
	}
	if tags, _ := op["tags"].([]any); len(tags) != 1 || !declared(tags[0]) {
		l.bad("operation-tag-defined", at, "%v", tags)
	}
	security, has := op["security"].([]any)
	if !has {
		l.bad("security-defined", at, "none")
	}
	for _, s := range security {
		for scheme := range s.(object) {
			if sub(sub(sub(l.doc, "components"), "securitySchemes"), scheme) == nil {
				l.bad("security-defined", at, "there is no scheme %s", scheme)
			}
		}
	}
	codes := slices.Collect(maps.Keys(sub(op, "responses")))
	success := slices.ContainsFunc(codes, func(c string) bool { return c[0] == '2' || c == "302" })
	if !success || !slices.ContainsFunc(codes, func(c string) bool { return c[0] == '4' }) {
		l.bad("operation-2xx-response, operation-4xx-response", at, "%v", codes)
	}
	named, seen := map[string]bool{}, map[string]bool{}
	params, _ := op["parameters"].([]any)
	for _, p := range params {
		key := text(p.(object), "in") + " " + text(p.(object), "name")
		if seen[key] || p.(object)["schema"] == nil {
			l.bad("operation-parameters-unique, struct", at, "%s", key)
		}
		seen[key] = true
		l.schema(at+" "+key, sub(p.(object), "schema"))
		if _, has := sub(p.(object), "schema")["maximum"]; has {
			l.bad("counts are clamped", at, "%s has a maximum", key)
		}
		named[text(p.(object), "name")] = text(p.(object), "in") == "path"
	}
	for _, m := range placeholder.FindAllStringSubmatch(path, -1) {
		if !named[m[1]] {
			l.bad("path-parameters-defined", at, "%s", m[1])
		}
		delete(named, m[1])
	}
	for name, inPath := range named {
		if inPath {
			l.bad("path-parameters-defined", at, "%s is no part of the path", name)
		}
	}
}

// references finds every $ref, wherever it is.
func (l *linter) references(at string, v any) {
	switch x := v.(type) {
	case object:
		for name, inner := range x {
			if ref, ok := inner.(string); name == "$ref" && ok {
				if sub(sub(sub(l.doc, "components"), "schemas"), strings.TrimPrefix(ref, "#/components/schemas/")) == nil {
					l.bad("no-unresolved-refs", at, "%s", ref)
				}
			} else if name != "example" {
				l.references(at+"/"+name, inner)
			}
		}
	case []any:
		for i, inner := range x {
			l.references(fmt.Sprintf("%s/%d", at, i), inner)
		}
	}
}

// keywords are the schema members of JSON Schema and OpenAPI that this document uses.
var keywords = strings.Fields("$ref additionalProperties anyOf contentEncoding contentMediaType default description " +
	"enum examples format items maxItems maxLength maxProperties maximum minItems minLength minProperties minimum oneOf " +
	"pattern properties readOnly required title type writeOnly")

func (l *linter) schema(at string, s object) {
	for name := range s {
		if !slices.Contains(keywords, name) && !strings.HasPrefix(name, "x-") {
			l.bad("struct", at, "%s is no member of a schema", name)
		}
	}
	properties := sub(s, "properties")
	required, _ := s["required"].([]any)
	for _, r := range required {
		if properties[r.(string)] == nil {
			l.bad("no-required-schema-properties-undefined", at, "%v", r)
		}
	}
	values, _ := s["enum"].([]any)
	for _, v := range values {
		if _, ok := v.(string); s["type"] == "string" && !ok {
			l.bad("no-enum-type-mismatch", at, "%v", v)
		}
	}
	for name, p := range properties {
		l.schema(at+"."+name, p.(object))
		if _, has := p.(object)["maximum"]; has && (name == "shards" || name == "verbosity") {
			l.bad("counts are clamped", at, "%s has a maximum", name)
		}
	}
	for _, name := range []string{"items", "additionalProperties"} {
		if inner, ok := s[name].(object); ok {
			l.schema(at+"."+name, inner)
		}
	}
}
