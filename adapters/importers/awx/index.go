package awx

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/writ-automation/writ/adapters/importers/document"
	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/reserved"
)

// entry is an object of a list of the export.
type entry struct {
	kind string // the word of the export
	ref  string
	raw  []byte // JSON
	name string
	// org and within are the names of the parents that tell apart objects of one name.
	org, within string
	as          string           // the name in the draft
	object      *importer.Object // nil until it is read
	template    *template        // of a template
	channels    []channel        // of a notification template, and what an organization or a project has attached
	fields      []importer.TypeField
	target      *importer.Notification // of a notification template
	unknown     bool                   // a notification template of a kind that there is not here
	with        string                 // a second credential of a machine, for becoming another user
	uses        int
}

// written reports whether an object is in the draft with a specification.
func (e *entry) written() bool { return e.object != nil && e.object.Spec != nil }

// open decodes the object, and forgets its text.
func (e *entry) open() *record {
	text := e.raw
	if e.raw = nil; e.kind != "inventory" {
		return newRecord(e.ref, document.Decode(text))
	}
	// The hosts and groups of an inventory are decoded one by one.
	values := map[string]any{}
	for name, member := range document.Members(text) {
		if name != "related" {
			values[name] = document.Decode(member)
			continue
		}
		related := map[string]any{}
		for name, list := range document.Members(member) {
			if related[name] = rawList(list); name != "hosts" && name != "groups" || list[0] != '[' {
				related[name] = document.Decode(list)
			}
		}
		values[name] = related
	}
	return newRecord(e.ref, values)
}

// kindOf returns the kind of a written object, empty for those that have no home.
func kindOf(word string) importer.Kind {
	switch word {
	case "credential_type", "credential", "project", "inventory", "inventory_source", "schedule":
		return importer.Kind(word)
	case "job_template", "workflow_job_template":
		return importer.Template
	default:
		return ""
	}
}

// collect enters all objects with their names, before anything refers to them. Elements that are no objects have no
// home.
func (x *reader) collect(tree map[string][]byte) {
	x.lists, x.index = map[string][]*entry{}, map[string][]*entry{}
	x.names, x.planned, x.copies = map[string]int{}, map[string]bool{}, map[string]*importer.Object{}
	x.zones = map[string]*time.Location{}
	for _, l := range lists() {
		list, kind := l[0], l[1]
		raw, given := tree[list]
		if given && raw[0] != '[' && raw[0] != 'n' {
			x.Skip(importer.Kind(kind), list, list, "This member of the export is not a list.")
		}
		i := -1
		for item := range document.Elements(raw) {
			i++
			e := &entry{kind: kind, ref: fmt.Sprintf("%s[%d]", list, i), raw: item}
			if e.identify(); e.name == "" {
				x.Skip(importer.Kind(kind), kind, e.ref, "The object has no name.")
				continue
			}
			if k := kindOf(kind); k != "" && kind != "schedule" {
				e.as = x.unique(k, e.name)
			}
			x.lists[list] = append(x.lists[list], e)
			x.index[kind+"\x00"+e.name] = append(x.index[kind+"\x00"+e.name], e)
		}
	}
}

// identify sets the names by which others refer to an object.
func (e *entry) identify() {
	head, key := map[string]any{}, map[string]any(nil)
	for name, member := range document.Members(e.raw) {
		switch name {
		case "name", "username", "organization", "credential_type", "inventory":
			head[name] = document.Decode(member)
		case "natural_key":
			key, _ = document.Decode(member).(map[string]any)
		}
	}
	e.name = strings.TrimSpace(text(head["name"]))
	if e.kind == "user" && e.name == "" {
		e.name = strings.TrimSpace(text(head["username"]))
	}
	if e.org = named(head["organization"]); e.org == "" {
		e.org = named(key["organization"])
	}
	switch e.kind {
	case "credential":
		e.within = named(head["credential_type"])
	case "inventory_source":
		e.within = named(head["inventory"])
	}
}

// named returns the name in a natural key, or in a plain text.
func named(v any) string {
	if m, ok := v.(map[string]any); ok {
		v = m["name"]
	}
	return strings.TrimSpace(text(v))
}

// unique reserves a name. It counts equal names itself, so that many of them take little time.
func (x *reader) unique(kind importer.Kind, name string) string {
	name = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(name, "?"), func(r rune) bool {
		return unicode.IsSpace(r) || object.LineBreak(r)
	}), " ")
	const most = 180
	if letters := []rune(name); len(letters) > most {
		name = string(letters[:most])
	}
	key := string(kind) + "\x00" + name
	if x.names[key]++; x.names[key] > 1 {
		name = fmt.Sprintf("%s (%d)", name, x.names[key])
	}
	return x.Name(kind, name)
}

// find returns the object that a natural key means, nil if the export has none, or has several that it could be.
func (x *reader) find(kind string, key any) *entry {
	m, _ := key.(map[string]any)
	org, within := named(m["organization"]), ""
	switch kind {
	case "credential":
		within = named(m["credential_type"])
	case "inventory_source":
		within = named(m["inventory"])
	}
	const most = 50
	var found []*entry
	for i, e := range x.index[kind+"\x00"+named(key)] {
		if i == most {
			break
		}
		if e.org == org && e.within == within {
			return e
		}
		if (e.org == "" || org == "" || e.org == org) && (e.within == "" || within == "" || e.within == within) {
			found = append(found, e)
		}
	}
	if len(found) == 1 {
		return found[0]
	}
	return nil
}

// refer returns the name in the draft of the object that a natural key means, empty for none. An object that is not in
// the export keeps its name, because the server may have it.
func (x *reader) refer(o *importer.Object, field, kind string, key any) string {
	name, noun := named(key), strings.ReplaceAll(kind, "_", " ")
	if name == "" {
		return ""
	}
	switch e := x.find(kind, key); {
	case e == nil:
		draft.Need(o, field, "The %s %q is not in the export; the server has to have one of this name.", noun, name)
		return name
	case !e.written():
		draft.Need(o, field, "The %s %q is not imported, so choose another one.", noun, name)
		return ""
	default:
		return e.as
	}
}

// put adds an object with a specification under the name that was reserved for it.
func (x *reader) put(e *entry, kind importer.Kind) *importer.Object {
	e.object = x.Add(importer.Object{Kind: kind, Name: e.as, Ref: e.ref})
	if e.as != e.name {
		draft.Map(e.object, "The name %q became %q, because names are unique here.", e.name, e.as)
	}
	return e.object
}

// lose turns an object into one that is not written.
func lose(o *importer.Object, format string, args ...any) {
	o.Spec, o.Class, o.Reason = nil, importer.NoHome, fmt.Sprintf(format, args...)
}

// others adds the objects of the lists that have no home, and the members that are no list of an export.
func (x *reader) others(tree map[string][]byte) {
	reasons := map[string]string{
		"user":        "Accounts are not imported: an export has no passwords, and roles differ.",
		"team":        "Teams are not imported: grants and roles differ.",
		"application": "Applications for sign-in are not imported: clients use tokens.",
		"execution_environment": "There are no execution environments: a run uses what its executor has, " +
			"and its isolation profile.",
	}
	for _, list := range slices.Sorted(maps.Keys(tree)) {
		kind := word(list)
		switch {
		case reasons[kind] != "":
			for _, e := range x.lists[list] {
				x.Skip(importer.Kind(kind), e.name, e.ref, "%s", reasons[kind])
			}
		case kind == "":
			x.Skip("member", list, reserved.Shown(list), "This member is no list of an export that is imported.")
		}
	}
}
