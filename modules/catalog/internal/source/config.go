package source

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/writ-automation/writ/modules/catalog/internal/check"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/secret"
)

// Limits of a source's members.
const (
	maxPlugin   = 256 << 10 // bytes of JSON
	maxContent  = 1 << 20   // bytes of a program
	maxHeaders  = 50
	maxHeader   = 8 << 10 // bytes of a value
	maxAddress  = 4096
	maxInterval = 365 * 24 * 60 * 60 // seconds
)

// checked validates and normalizes the input. Invalid faults name the member.
func checked(s catalog.InventorySource) (catalog.InventorySource, error) {
	input := catalog.InventorySource{
		Kind: s.Kind, Config: s.Config, Path: s.Path, ProjectID: s.ProjectID, CredentialID: s.CredentialID,
		InventoryID:    s.InventoryID,
		UpdateOnLaunch: s.UpdateOnLaunch, SyncInterval: s.SyncInterval, Trusted: s.Trusted,
	}
	input.Org = s.Org
	var err error
	if input.Name, err = object.Name(s.Name); err != nil {
		return input, err
	}
	switch {
	case s.InventoryID == "":
		return input, fault.BadField("inventory_id", "is required")
	case s.SyncInterval != 0 && (s.SyncInterval < catalog.MinSyncInterval || s.SyncInterval > maxInterval):
		return input, fault.BadField("sync_interval", "has to be 0 or from %d to %d seconds", catalog.MinSyncInterval,
			maxInterval)
	}
	if err := check.ID("credential_id", ids.Credential, s.CredentialID); err != nil {
		return input, err
	}
	if err := members(&s); err != nil {
		return input, err
	}
	return input, form(&s)
}

// members refuses members that the kind of the source does not take, and requires those that it needs.
func members(s *catalog.InventorySource) error {
	type member struct {
		name string
		set  bool
	}
	plugin, content := member{"config.plugin", s.Config.Plugin != nil}, member{"config.content", s.Config.Content != ""}
	address, headers := member{"config.url", s.Config.URL != ""}, member{"config.headers", len(s.Config.Headers) > 0}
	path, project := member{"path", s.Path != ""}, member{"project_id", s.ProjectID != ""}
	var needs, takes []member
	switch s.Kind {
	case catalog.PluginSource:
		needs = []member{plugin}
	case catalog.ScriptSource:
		if needs = []member{content}; path.set || project.set {
			needs = []member{path, project}
		}
	case catalog.ProjectSource:
		needs = []member{project, path}
	case catalog.HTTPSource:
		needs, takes = []member{address}, []member{headers}
	default:
		return fault.NoneOf("kind", s.Kind, catalog.PluginSource, catalog.ScriptSource, catalog.ProjectSource,
			catalog.HTTPSource)
	}
	for _, m := range []member{plugin, content, address, headers, path, project} {
		switch {
		case slices.Contains(needs, m):
			if !m.set {
				return fault.BadField(m.name, "is required for the kind %s", s.Kind)
			}
		case m.set && m.name == content.name && s.Kind == catalog.ScriptSource:
			return fault.BadField(m.name, "must be empty where path or project_id is given")
		case m.set && !slices.Contains(takes, m):
			return fault.BadField(m.name, "is not taken by the kind %s", s.Kind)
		}
	}
	return nil
}

// form validates the members that are set.
func form(s *catalog.InventorySource) error {
	if s.Config.Plugin != nil {
		if name, ok := s.Config.Plugin["plugin"].(string); !ok || strings.TrimSpace(name) == "" {
			return fault.BadField("config.plugin", "has to be the name of an inventory plugin")
		}
		if b, err := json.Marshal(s.Config.Plugin); err != nil || len(b) > maxPlugin {
			return fault.BadField("config.plugin", "has to have at most %d bytes as JSON", maxPlugin)
		}
	}
	if c := s.Config.Content; len(c) > maxContent || !utf8.ValidString(c) || strings.IndexByte(c, 0) >= 0 {
		return fault.BadField("config.content", "has to be text of at most %d bytes", maxContent)
	}
	if err := check.Path("path", s.Path); err != nil {
		return err
	}
	if s.Config.URL == "" {
		return nil
	}
	u, err := url.Parse(s.Config.URL)
	switch {
	case err != nil || !object.Line(s.Config.URL, maxAddress) || u.Scheme != "http" && u.Scheme != "https" ||
		u.Hostname() == "":
		return fault.BadField("config.url", "has to be an http or https address")
	case u.User != nil:
		return fault.BadField("config.url", "must not hold a user name or a password; give a header instead")
	}
	return fields(s.Config.Headers)
}

func fields(list map[string]string) error {
	if len(list) > maxHeaders {
		return fault.BadField("config.headers", "has more than %d members", maxHeaders)
	}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if !token(name) {
			return fault.BadField("config.headers", "%q is not the name of a header", cut(name))
		}
		if lower := strings.ToLower(name); seen[lower] {
			return fault.BadField(at(name), "is named twice")
		}
		seen[strings.ToLower(name)] = true
		v := list[name]
		control := func(r rune) bool { return unicode.IsControl(r) && r != '\t' }
		if len(v) > maxHeader || !utf8.ValidString(v) || strings.ContainsFunc(v, control) {
			return fault.BadField(at(name), "has to be text of at most %d bytes on one line", maxHeader)
		}
	}
	return nil
}

func at(name string) string { return "config.headers." + name }

// token reports whether a name is a valid header name.
func token(s string) bool {
	const most = 255
	bad := func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	}
	return s != "" && len(s) <= most && !strings.ContainsFunc(s, bad)
}

func cut(s string) string {
	const most = 80
	if len(s) > most {
		s = s[:most]
	}
	return strings.ToValidUTF8(s, "")
}

// masked returns a source as callers read it, with the values of headers masked.
func masked(s catalog.InventorySource) catalog.InventorySource {
	s.Config.Headers, s.Sealed = maskedHeaders(s.Config.Headers), nil
	return s
}

// unmasked returns the input headers, with the stored value for each empty or masked one. A stored value is only sent
// to the server it was set for. open returns the stored headers with their values; unmasked only calls it if a value is
// kept.
func unmasked(input, was catalog.SourceConfig, open func() (map[string]string, error)) (map[string]string, error) {
	if len(input.Headers) == 0 {
		return nil, nil
	}
	stored := make(map[string]string, len(was.Headers)) // stored names by lower-case name
	for name := range was.Headers {
		stored[strings.ToLower(name)] = name
	}
	out, kept := maps.Clone(input.Headers), map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(out)) {
		if v := out[name]; v != "" && v != secret.Mask {
			continue
		}
		old, ok := stored[strings.ToLower(name)]
		switch {
		case !ok:
			return nil, fault.BadField(at(name), "is required")
		case origin(input.URL) != origin(was.URL):
			return nil, fault.BadField(at(name), "has to be given anew where config.url names another server")
		}
		kept[name] = old
	}
	if len(kept) == 0 {
		return out, nil
	}
	values, err := open()
	if err != nil {
		return nil, err
	}
	for name, old := range kept {
		out[name] = values[old]
	}
	return out, nil
}
