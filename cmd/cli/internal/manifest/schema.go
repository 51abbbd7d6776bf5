package manifest

import (
	"regexp"
	"slices"
	"strings"
)

// The kinds of documents, and two kinds of objects that documents only name.
const (
	Project    = "Project"
	Inventory  = "Inventory"
	Source     = "InventorySource"
	Template   = "Template"
	Schedule   = "Schedule"
	Trigger    = "Trigger"
	Credential = "Credential"
	Org        = "Organization"
)

// shape is what a member may hold.
type shape uint8

const (
	text    shape = iota
	number        // a whole number
	flag          // true or false
	texts         // a list of texts
	pairs         // an object of texts
	object        // an object of anything
	value         // anything
	ref           // an object by name
	refs          // several
	record        // an object of known members
	records       // several
)

// member is one member of a document.
type member struct {
	name     string // in files
	api      string // in the API
	shape    shape
	to       string // the kind that a reference names
	fields   []member
	preset   any  // what leaving it out means, where that is not the zero value
	always   bool // sent also where it is left out, as its preset
	zero     bool // a zero value says something else than leaving it out
	retained bool // left out it says nothing: what the server has stays
	echo     bool // what stays has to be sent
	beside   bool // its text may stand in a file of its own, which the member with "_file" behind its name tells
	secret   bool // its texts are shown masked
	most     int  // more counts as this; 0 is no bound
}

// Kind is a kind of documents.
type Kind struct {
	Name    string
	Plural  string // of files and of the key of lists
	Path    string // of the API
	members []member
}

// Kinds lists the kinds in the order in which objects are created, so that what is named is there before what names it.
func Kinds() []Kind { return slices.Clone(kinds()) }

// KindOf returns the kind of a name as files have it, or in the plural; ok is false for any other word.
func KindOf(name string) (k Kind, ok bool) {
	for _, k := range Kinds() {
		if name == k.Name || name == k.Plural || strings.EqualFold(name, k.Name) {
			return k, true
		}
	}
	return Kind{}, false
}

// Names lists the kinds' names.
func Names() []string {
	var out []string
	for _, k := range Kinds() {
		out = append(out, k.Name)
	}
	return out
}

// of returns the members of a document, of which one hangs on another: what a source is told hangs on its kind.
func (k Kind) of(spec map[string]any) []member {
	if k.Name != Source || spec["kind"] != "plugin" {
		return k.members
	}
	out := slices.Clone(k.members)
	for i := range out {
		if out[i].name == "config" {
			out[i] = member{name: "config", api: "config", shape: object}
		}
	}
	return out
}

// Targets lists the kinds that documents of a kind may name.
func (k Kind) Targets() []string {
	var out []string
	var walk func([]member)
	walk = func(list []member) {
		for i := range list {
			if list[i].to != "" && !slices.Contains(out, list[i].to) {
				out = append(out, list[i].to)
			}
			walk(list[i].fields)
		}
	}
	walk(k.members)
	return out
}

// idForm is how ids look, by the kind of object.
var idForm = regexp.MustCompile(`^([a-z]{3,4})_[0-9a-z]{26}$`)

// IsID reports whether a text has the form of an id of that kind of object.
func IsID(kind, s string) bool {
	prefix := map[string]string{
		Project: "prj", Inventory: "inv", Source: "src", Template: "tpl", Schedule: "sch", Trigger: "trg", Credential: "crd", Org: "org",
	}[kind]
	m := idForm.FindStringSubmatch(s)
	return m != nil && m[1] == prefix
}
