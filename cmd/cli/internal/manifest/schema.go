package manifest

import (
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/lazyregexp"
)

// The kinds of documents, and User, which documents only name.
const (
	Org            = "Organization"
	Team           = "Team"
	CredentialType = "CredentialType"
	Credential     = "Credential"
	Queue          = "Queue"
	Project        = "Project"
	Inventory      = "Inventory"
	Source         = "InventorySource"
	Template       = "Template"
	Schedule       = "Schedule"
	Trigger        = "Trigger"
	Policy         = "Policy"
	Window         = "Window"
	Grant          = "Grant"
	User           = "User"
)

// shape is the schema of a member.
type shape uint8

const (
	text     shape = iota
	number         // a whole number
	flag           // true or false
	texts          // a list of texts
	pairs          // an object of texts
	object         // an object of anything
	value          // anything
	ref            // an object, by name
	refs           // several
	subject        // an object of one of several kinds, as KIND:NAME
	subjects       // several
	record         // an object of known members
	records        // several
)

// member is one member of a document.
type member struct {
	name     string // in files
	api      string // in the API
	shape    shape
	to       string   // the kind that a reference names
	among    []string // the kinds of a subject
	fields   []member
	preset   any  // the default, if it is not the zero value
	always   bool // sent as its preset if it is omitted
	zero     bool // a zero value differs from an omitted member
	retained bool // an omitted member keeps the value on the server
	echo     bool // a kept value has to be sent
	beside   bool // its text may be in a file, which the member with the suffix "_file" names
	secret   bool // its texts are shown masked
	set      bool // the order of its values means nothing
	most     int  // more counts as this; 0 is no bound
}

// Kind is a kind of documents.
type Kind struct {
	Name   string
	Plural string // of files and of the key of lists
	Path   string // of the API
	// Scoped reports whether objects may belong to an organization. That of a grant is the one of its object.
	Scoped  bool
	body    string // the path whose body has the members; empty is Path
	members []member
}

// Kinds lists the kinds in the order of creation, so that an object exists before another object names it.
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

// of returns the members of a document. Some depend on another member: the settings of a source depend on its kind.
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
			for _, to := range append([]string{list[i].to}, list[i].among...) {
				if to != "" && !slices.Contains(out, to) {
					out = append(out, to)
				}
			}
			walk(list[i].fields)
		}
	}
	walk(k.members)
	return out
}

// idForm matches ids; the prefix depends on the kind of object.
var idForm = lazyregexp.New(`^([a-z]{3,4})_[0-9a-z]{26}$`)

// IsID reports whether a text has the form of an id of that kind of object.
func IsID(kind, s string) bool {
	m := idForm.FindStringSubmatch(s)
	return m != nil && m[1] == IDPrefix(kind)
}

// IDPrefix returns what ids of a kind begin with, before the underscore; empty for kinds that no document names.
func IDPrefix(kind string) string {
	return map[string]string{
		Project: "prj", Inventory: "inv", Source: "src", Template: "tpl", Schedule: "sch", Trigger: "trg", Credential: "crd",
		Org: "org", Policy: "pol", Team: "team", CredentialType: "cty", User: "usr",
	}[kind]
}
