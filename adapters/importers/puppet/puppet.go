// Package puppet reads fleets of Puppet: answers of PuppetDB (nodes, facts, fact contents, factsets, inventory), facts
// of one node, and site manifests. They become an inventory.
package puppet

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/writ-automation/writ/adapters/importers/document"
	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/adapters/importers/fleet"
	"github.com/writ-automation/writ/ports/importer"
)

const (
	inventoryName = "Puppet fleet"
	facts         = "Of the facts of a node, only its address, operating system, environment and role are imported; " +
		"the facts of runs tell the rest."
	statements = "Of the node statements, only the names and the classes below role are imported: other classes, " +
		"resources and what a node inherits stay in the manifest."
)

// Format reads exports of Puppet.
type Format struct{}

// New returns the format.
func New() importer.Format { return Format{} }

// Name returns puppet.
func (Format) Name() string { return "puppet" }

// Targeted reports false: a fleet is the target.
func (Format) Targeted() bool { return false }

// Read reads an export.
func (Format) Read(ctx context.Context, e importer.Export) (importer.Draft, error) {
	r := &reader{nodes: make(map[string]*node)}
	body := bytes.TrimSpace(bytes.TrimPrefix(e.Body, []byte("\xef\xbb\xbf")))
	dropped, err := facts, error(nil)
	switch {
	case len(body) > 0 && body[0] == '[':
		err = r.list(ctx, body)
	case len(body) > 0 && body[0] == '{':
		err = r.single(body)
	default:
		dropped, err = statements, r.manifest(e.Body)
	}
	if err != nil {
		return importer.Draft{}, err
	}
	if err := r.inventory(dropped); err != nil {
		return importer.Draft{}, err
	}
	return r.Draft()
}

type reader struct {
	draft.Builder
	nodes map[string]*node
	fleet fleet.Fleet
	n     int // records without a certname
}

// node is what the records of one node say.
type node struct {
	ref         string
	environment string
	seen        time.Time
	facts       map[string]any // the facts that matter, by name
	role        []string
	none        bool // no longer managed
}

// record is a record of any answer of PuppetDB.
type record struct {
	Certname    string          `json:"certname"`
	Name        string          `json:"name"`
	Value       json.RawMessage `json:"value"`
	Path        []any           `json:"path"`
	Environment string          `json:"environment"`
	Timestamp   string          `json:"timestamp"`
	Produced    string          `json:"producer_timestamp"`
	Values      json.RawMessage `json:"values"`
	Facts       json.RawMessage `json:"facts"`
	Trusted     trusted         `json:"trusted"`
	Deactivated string          `json:"deactivated"`
	Expired     string          `json:"expired"`
	CatalogEnv  string          `json:"catalog_environment"`
	FactsEnv    string          `json:"facts_environment"`
	ReportEnv   string          `json:"report_environment"`
	FactsAt     string          `json:"facts_timestamp"`
}

type trusted struct {
	Extensions map[string]any `json:"extensions"`
}

// list reads an array of records, one after the other.
func (r *reader) list(ctx context.Context, body []byte) error {
	i := 0
	err := document.Each(body, func(raw json.RawMessage) error {
		ref := "[" + strconv.Itoa(i) + "]"
		if i++; i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		var rec record
		if err := json.Unmarshal(raw, &rec); err != nil {
			r.Skip("node", rec.Certname, ref, "The record has a member of another type than in PuppetDB.")
			return nil
		}
		if rec.Certname == "" {
			r.n++
			return nil
		}
		r.record(ref, rec)
		return nil
	})
	if err != nil {
		return err
	}
	if r.n > 0 && len(r.nodes) == 0 {
		return importer.Malformed.New("no record has a certname: the answer counts or summarizes nodes; export the nodes")
	}
	if r.n > 0 {
		r.Skip("node", "", "", "There is no certname in %s.", draft.Count(r.n, "record"))
	}
	return nil
}

// single reads one record, or the facts of one node as facter prints them.
func (r *reader) single(body []byte) error {
	var rec record
	var whole map[string]any
	if err := document.JSON(body, &whole); err != nil {
		return err
	}
	if err := json.Unmarshal(body, &rec); err == nil && rec.Certname != "" {
		r.record("", rec)
		return nil
	}
	if text(whole["certname"]) != "" {
		return importer.Malformed.New("the record has a member of another type than in PuppetDB")
	}
	name := cmpText(lookup(whole, "networking", "fqdn"), whole["fqdn"], lookup(whole, "networking", "hostname"),
		whole["hostname"])
	if name == "" {
		return importer.Malformed.New("the object has neither a certname nor the facts of a host")
	}
	n := &node{facts: make(map[string]any)}
	n.take(whole)
	r.nodes[name] = n
	return nil
}

// record adds what a record says to its node.
func (r *reader) record(ref string, rec record) {
	n := r.nodes[rec.Certname]
	if n == nil {
		n = &node{ref: ref, facts: make(map[string]any)}
		r.nodes[rec.Certname] = n
	}
	if rec.Deactivated != "" || rec.Expired != "" {
		n.none = true
	}
	at := when(rec.Timestamp, rec.Produced, rec.FactsAt)
	if at.Before(n.seen) {
		return
	}
	n.seen = at
	for _, env := range []string{rec.ReportEnv, rec.FactsEnv, rec.CatalogEnv, rec.Environment} {
		if env != "" {
			n.environment = env
		}
	}
	for _, key := range []string{"pp_role", "pp_environment"} {
		if v := text(rec.Trusted.Extensions[key]); v != "" && key == "pp_role" {
			n.role = append(n.role, v)
		}
	}
	switch {
	case len(rec.Path) > 0:
		n.atPath(rec.Path, value(rec.Value))
	case rec.Name != "":
		n.fact(rec.Name, value(rec.Value))
	}
	for _, raw := range []json.RawMessage{rec.Values, rec.Facts} {
		n.document(raw)
	}
}

// document takes facts that are an object, or a list of names and values below data. Of most facts nothing is decoded.
func (n *node) document(raw json.RawMessage) {
	facts := document.Object(raw)
	data, ok := value(facts["data"]).([]any)
	if _, linked := facts["href"]; !linked || !ok {
		for _, name := range wanted() {
			if raw, ok := facts[name]; ok {
				n.fact(name, picked(name, raw))
			}
		}
		return
	}
	for _, one := range data {
		if m, ok := one.(map[string]any); ok {
			n.fact(text(m["name"]), m["value"])
		}
	}
}

// picked returns the value of a fact, of a structured one only the members that are read.
func picked(name string, raw json.RawMessage) any {
	parts := structured(name)
	if m := document.Object(raw); parts != nil && m != nil {
		out := make(map[string]any, len(parts))
		for _, part := range parts {
			if raw, ok := m[part]; ok {
				out[part] = value(raw)
			}
		}
		return out
	}
	return value(raw)
}

// structured are the members of a structured fact that are read, since the others are most of an answer.
func structured(name string) []string {
	return map[string][]string{"networking": {"ip", "fqdn"}, "os": {"family", "name"}}[name]
}

// wanted are the facts that become part of the inventory.
func wanted() []string {
	return []string{"networking", "ipaddress", "fqdn", "os", "osfamily", "operatingsystem", "kernel", "role", "profile"}
}

func (n *node) take(facts map[string]any) {
	for _, name := range wanted() {
		if v, ok := facts[name]; ok {
			n.fact(name, v)
		}
	}
}

// fact takes a fact. Old versions write structured facts as text.
func (n *node) fact(name string, v any) {
	if !slices.Contains(wanted(), name) {
		return
	}
	if s, ok := v.(string); ok && len(s) > 1 && s[0] == '{' {
		v = value(json.RawMessage(s))
	}
	n.facts[name] = trimmed(name, v)
}

// trimmed returns a structured fact with the members that are read.
func trimmed(name string, v any) any {
	m, ok := v.(map[string]any)
	parts := structured(name)
	if !ok || parts == nil {
		return v
	}
	out := make(map[string]any, len(parts))
	for _, part := range parts {
		if v, ok := m[part]; ok {
			out[part] = v
		}
	}
	return out
}

// atPath takes a part of a structured fact.
func (n *node) atPath(path []any, v any) {
	name := text(path[0])
	if !slices.Contains(wanted(), name) || len(path) > document.MaxDepth {
		return
	}
	if len(path) == 1 {
		n.fact(name, v)
		return
	}
	m, ok := n.facts[name].(map[string]any)
	if !ok {
		m = make(map[string]any)
		n.facts[name] = m
	}
	for _, key := range path[1 : len(path)-1] {
		next, ok := m[text(key)].(map[string]any)
		if !ok {
			next = make(map[string]any)
			m[text(key)] = next
		}
		m = next
	}
	m[text(path[len(path)-1])] = v
}

// inventory makes the inventory of the nodes. Dropped says what of the export is not in it.
func (r *reader) inventory(dropped string) error {
	for _, name := range slices.Sorted(maps.Keys(r.nodes)) {
		n := r.nodes[name]
		if n.none {
			r.Skip("node", name, n.ref, "The node is deactivated or expired.")
			continue
		}
		r.fleet.Add(&r.Builder, n.host(name))
	}
	return r.fleet.Inventory(&r.Builder, inventoryName, "", dropped)
}

func (n *node) host(name string) fleet.Host {
	f := n.facts
	family := cmpText(lookup(f, "os", "family"), f["osfamily"])
	h := fleet.Host{
		Name: name, Ref: n.ref, Seen: n.seen,
		Address: cmpText(lookup(f, "networking", "ip"), f["ipaddress"], lookup(f, "networking", "fqdn"), f["fqdn"]),
		Vars: map[string]string{
			"puppet_environment": n.environment, "puppet_os": cmpText(lookup(f, "os", "name"), f["operatingsystem"]),
		},
		Windows: cmpText(f["kernel"]) == "windows" || family == "windows",
	}
	for prefix, list := range map[string][]string{
		"env_": {n.environment}, "os_": {family}, "role_": append(n.role, text(f["role"])), "profile_": {text(f["profile"])},
	} {
		for _, v := range list {
			if v != "" {
				h.Groups = append(h.Groups, prefix+v)
			}
		}
	}
	slices.Sort(h.Groups)
	return h
}

// lookup returns the value at a path of a structured fact.
func lookup(facts map[string]any, path ...string) any {
	var v any = facts
	for _, key := range path {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

// cmpText returns the first value that is a text.
func cmpText(values ...any) string {
	for _, v := range values {
		if s := text(v); s != "" {
			return s
		}
	}
	return ""
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// value decodes a value of JSON, nil for none.
func value(raw json.RawMessage) any {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return nil
	}
	return v
}

// when returns the first time that is one.
func when(texts ...string) time.Time {
	for _, s := range texts {
		if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
			return t
		}
	}
	return time.Time{}
}
