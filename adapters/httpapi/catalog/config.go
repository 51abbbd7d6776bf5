package catalog

import (
	"maps"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
)

// config parses the configuration of a source of the kind. Its Invalid faults name config.<member>.
func config(kind catalog.SourceKind, members SourceConfig) (catalog.SourceConfig, error) {
	var c catalog.SourceConfig
	if kind == catalog.PluginSource {
		c.Plugin = members
		return c, nil
	}
	// Sorted, so that of several invalid members the fault always names the same one.
	for _, name := range slices.Sorted(maps.Keys(members)) {
		at, wrong := "config."+name, ""
		switch {
		case kind == catalog.ScriptSource && name == "content":
			wrong = text(members[name], &c.Content)
		case kind == catalog.HTTPSource && name == "url":
			wrong = text(members[name], &c.URL)
		case kind == catalog.HTTPSource && name == "headers":
			at, wrong = headers(at, members[name], &c)
		default:
			wrong = "unknown field"
		}
		if wrong != "" {
			return catalog.SourceConfig{}, fault.BadField(at, "%s", wrong)
		}
	}
	return c, nil
}

// text reads a string, or returns what is wrong. As for every member, null means absent.
func text(v any, to *string) (wrong string) {
	s, ok := v.(string)
	if *to = s; !ok && v != nil {
		return "expected string"
	}
	return ""
}

// headers reads an object of strings, or returns where and what is wrong.
func headers(at string, v any, c *catalog.SourceConfig) (where, wrong string) {
	of, ok := v.(map[string]any)
	if !ok && v != nil {
		return at, "expected object"
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		var value string
		if wrong := text(of[name], &value); wrong != "" {
			return at + "." + name, wrong
		}
		if c.Headers == nil {
			c.Headers = make(map[string]string, len(of))
		}
		c.Headers[name] = value
	}
	return at, ""
}

// configBody returns the configuration of a source. It masks the values of all headers, whatever the port returned.
func configBody(kind catalog.SourceKind, c catalog.SourceConfig) SourceConfig {
	out := make(SourceConfig)
	switch kind {
	case catalog.PluginSource:
		maps.Copy(out, c.Plugin)
	case catalog.ScriptSource:
		if c.Content != "" {
			out["content"] = c.Content
		}
	case catalog.HTTPSource:
		out["url"] = c.URL
		if len(c.Headers) > 0 {
			names := make(map[string]string, len(c.Headers))
			for name := range c.Headers {
				names[name] = hiddenValue
			}
			out["headers"] = names
		}
	case catalog.ProjectSource:
	}
	return out
}

// hiddenValue replaces the value of a header, which is a secret.
const hiddenValue = "***"

// SourceConfig is the configuration of a source; its members depend on the kind.
type SourceConfig httpapi.Values

func (c *SourceConfig) UnmarshalJSON(raw []byte) error {
	return (*httpapi.Values)(c).UnmarshalJSON(raw)
}

// The schema lists the members and does not validate them, since they depend on the kind.
func (SourceConfig) Schema(huma.Registry) *huma.Schema {
	text, secret := &huma.Schema{Type: huma.TypeString}, &huma.Schema{Type: huma.TypeString, Format: "password"}
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true, AnyOf: []*huma.Schema{
		{Title: "script", Properties: map[string]*huma.Schema{"content": text},
			Extensions: map[string]any{"x-order": []string{"content"}}},
		{Title: "http", Properties: map[string]*huma.Schema{
			"url": text, "headers": {Type: huma.TypeObject, AdditionalProperties: secret},
		}, Extensions: map[string]any{"x-order": []string{"url", "headers"}}},
		{Title: "plugin"},
	}}
}
