package manifest

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/writ-automation/writ/ports/lazyregexp"
)

// document holds the schemas of the bodies that create objects: `make golden` writes it.
//
//go:embed schema.json
var document []byte

// apiDocument is the part of an OpenAPI document that defines the members of files.
type apiDocument struct {
	Bodies  map[string]string     `json:"bodies"` // names of request schemas by path
	Schemas map[string]*apiSchema `json:"schemas"`
}

type apiSchema struct {
	Ref                  string                `json:"$ref,omitempty"`
	Type                 string                `json:"type,omitempty"`
	Format               string                `json:"format,omitempty"`
	ReadOnly             bool                  `json:"readOnly,omitempty"`
	Items                *apiSchema            `json:"items,omitempty"`
	AdditionalProperties any                   `json:"additionalProperties,omitempty"`
	AnyOf                []*apiSchema          `json:"anyOf,omitempty"`
	Properties           map[string]*apiSchema `json:"properties,omitempty"`
	Order                []string              `json:"x-order,omitempty"`
}

// kinds reads the document once. It is part of the program, and a test reads it.
var kinds = sync.OnceValue(func() []Kind {
	out := []Kind{
		{Name: Org, Plural: "orgs", Path: "/v1/orgs", body: "/v1/orgs/{id}/members"},
		{Name: Team, Plural: "teams", Path: "/v1/teams", body: "/v1/teams/{id}/members"},
		{Name: CredentialType, Plural: "credential_types", Path: "/v1/credential-types"},
		{Name: Credential, Plural: "credentials", Path: "/v1/credentials"},
		{Name: Queue, Plural: "queues", Path: "/v1/queues", body: "/v1/queues/{name}"},
		{Name: Project, Plural: "projects", Path: "/v1/projects"},
		{Name: Inventory, Plural: "inventories", Path: "/v1/inventories"},
		{Name: Source, Plural: "inventory_sources", Path: "/v1/inventory-sources"},
		{Name: Template, Plural: "templates", Path: "/v1/templates"},
		{Name: Schedule, Plural: "schedules", Path: "/v1/schedules"},
		{Name: Trigger, Plural: "triggers", Path: "/v1/triggers"},
		{Name: Policy, Plural: "policies", Path: "/v1/policies"},
		{Name: Window, Plural: "windows", Path: "/v1/windows"},
		{Name: Grant, Plural: "grants", Path: "/v1/grants"},
	}
	var doc apiDocument
	if err := json.Unmarshal(document, &doc); err != nil {
		panic(fmt.Sprintf("the schemas in this program: %v", err))
	}
	for i := range out {
		k := &out[i]
		k.body = cmp.Or(k.body, k.Path)
		k.members = slices.DeleteFunc(doc.members(k.Name, doc.Schemas[doc.Bodies[k.body]]), func(m member) bool {
			k.Scoped = k.Scoped || m.api == "org_id" || k.Name == Grant
			return m.name == "name" || m.api == "org_id" || // these are outside of spec
				k.Name == Credential && m.name == secretMember
		})
		if k.Name == Org || k.Name == Team {
			k.members = []member{membership(k.members)}
		}
	}
	return out
})

// membership is the member with the accounts of a group; rows are the members of one of them. If it is omitted, the
// server's members stay.
func membership(rows []member) member {
	m := member{name: "members", api: "members", retained: true, preset: []any{}, set: true}
	if len(rows) == 1 {
		m.shape, m.to = refs, User
		return m
	}
	m.shape, m.fields = records, rows
	return m
}

// reference is the name of a member that names other objects.
var reference = lazyregexp.New(`^((?:[a-z]+_)*)(project|inventory|template|credential|type|user)_id(s?)$`)

// kindOf returns the kind that a word of a member names.
func kindOf(word string) string {
	if word == "type" {
		return CredentialType
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

// members lists the members of a schema that a caller sets. in names their owner: a kind or a member.
func (d *apiDocument) members(in string, s *apiSchema) []member {
	if s == nil { // the document is not written yet for a new kind
		return nil
	}
	order := s.Order
	if len(order) == 0 {
		order = slices.Sorted(maps.Keys(s.Properties)) // there is only one
	}
	var out []member
	for _, name := range order {
		p := s.Properties[name]
		if p == nil || p.ReadOnly {
			continue
		}
		m := d.member(name, p)
		_, referred := s.Properties[name+"_id"]
		switch r := reference.FindStringSubmatch(name); {
		case r != nil:
			m.name, m.to = r[1]+r[2]+r[3], kindOf(r[2])
			m.shape = ref
			if r[3] != "" {
				m.shape = refs
				m.name = strings.Replace(m.name, "inventorys", "inventories", 1)
			}
		case referred:
			m.name += "_path" // its name is that of the reference
		}
		special(in, &m)
		out = append(out, m)
	}
	return out
}

func (d *apiDocument) member(name string, s *apiSchema) member {
	m := member{name: name, api: name}
	for strings.HasPrefix(s.Ref, "#/components/schemas/") {
		s = d.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	}
	m.secret = s.Format == "password"
	switch s.Type {
	case "string":
		m.shape = text
	case "integer":
		m.shape = number
	case "boolean":
		m.shape = flag
	case "array":
		m.shape = texts
		if item := d.member(name, s.Items); item.shape == record {
			m.shape, m.fields = records, item.fields
		}
	case "object":
		d.object(&m, s)
	default:
		m.shape = value
	}
	return m
}

func (d *apiDocument) object(m *member, s *apiSchema) {
	of, isMap := s.AdditionalProperties.(map[string]any)
	switch {
	case len(s.AnyOf) > 0:
		m.shape = record
		for _, one := range s.AnyOf {
			m.fields = append(m.fields, d.members(m.name, one)...)
		}
	case len(s.Properties) > 0:
		m.shape, m.fields = record, d.members(m.name, s)
	case isMap && of["type"] == "string":
		m.shape, m.secret = pairs, of["format"] == "password"
	default:
		m.shape = object
	}
}

// special adds rules that the document does not contain.
func special(in string, m *member) {
	m.beside = m.name == "command" || m.name == "content" || m.name == "known_hosts"
	switch m.name {
	case "tool":
		m.preset = "ansible"
	case "shards":
		m.preset, m.most = json.Number("1"), 512
	case "verbosity":
		m.most = 4
	case "enabled", "require_signature":
		m.preset, m.always = true, true
	}
	switch {
	case in == Inventory && (m.name == "content" || m.name == "known_hosts"):
		m.retained, m.preset = true, ""
	case in == Template && m.name == "max_concurrent":
		m.preset, m.always = json.Number("1"), true
	case in == Template && m.name == "when_busy":
		m.preset = "queue"
	case in == Schedule && m.name == "overlap":
		m.preset = "skip"
	case in == Inventory && m.name == "host_key_policy":
		m.preset = "accept-new"
	case in == Inventory && m.name == "format":
		m.retained, m.echo, m.preset = true, true, "ini"
	case in == Trigger && m.shape == text:
		m.always, m.preset = true, "" // the server keeps members that a change omits
	case in == Trigger && m.shape == texts:
		m.always, m.preset = true, []any{}
	case in == "steps" && (m.api == "credential_ids" || m.api == "fail_on"):
		m.zero = true // an absent list means that of the workflow
	case in == Policy && m.name == "actors":
		m.shape, m.among = subjects, []string{User, Team}
	case in == Policy && m.name == "approver_teams":
		m.shape, m.to = refs, Team
	case in == Grant && m.name == "subject":
		m.shape, m.among = subject, []string{User, Team}
	case in == Grant && m.name == "object":
		m.shape, m.among = subject, []string{Project, Template, Inventory, Credential, Queue}
	case in == Org && m.name == "role":
		m.preset, m.always = "member", true
	case in == Queue && m.name == "max_concurrent":
		m.preset, m.always = json.Number("0"), true
	case in == CredentialType && m.name == "fields":
		m.preset, m.always = []any{}, true
	case in == "fields" && m.name == "default":
		m.zero = true
	case in == Policy && m.name == "approvals_needed":
		m.preset = json.Number("1")
	case in == "survey":
		m.zero = m.shape == number || m.shape == value
	case in == "match":
		m.zero = m.shape == number // more than none is a criterion, too
	}
}
