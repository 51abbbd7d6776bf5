// Package chef reads fleets of Chef: nodes, lists and searches of nodes as knife prints them, documents of Ohai, and
// archives of node files. They become an inventory.
package chef

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/writ-automation/writ/adapters/importers/archive"
	"github.com/writ-automation/writ/adapters/importers/document"
	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/adapters/importers/fleet"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/lazyregexp"
)

const (
	inventoryName = "Chef fleet"
	dropped       = "Of the attributes of a node, only its address, platform, environment, run list, policy and tags " +
		"are imported; the facts of runs tell the rest."
	// old is the age from which the data of a node may be out of date.
	old = 30 * 24 * time.Hour
)

// Format reads exports of Chef.
type Format struct{}

// New returns the format.
func New() importer.Format { return Format{} }

// Name returns chef.
func (Format) Name() string { return "chef" }

// Targeted reports false: a fleet is the target.
func (Format) Targeted() bool { return false }

// Read reads an export.
func (Format) Read(ctx context.Context, e importer.Export) (importer.Draft, error) {
	r := &reader{now: e.Now}
	if err := r.body(ctx, e); err != nil {
		return importer.Draft{}, err
	}
	if r.aged > 0 {
		r.note("ohai_time", "The data of %s is older than 30 days.", draft.Count(r.aged, "node"))
	}
	if r.bare > 0 {
		r.note("automatic", "No address is known of %s, whose name is used: it never converged, or reports none.",
			draft.Count(r.bare, "node"))
	}
	if err := r.fleet.Inventory(&r.Builder, inventoryName, "", dropped); err != nil {
		return importer.Draft{}, err
	}
	d, err := r.Draft()
	for i := range d.Objects {
		if o := &d.Objects[i]; o.Kind == importer.Inventory {
			for _, w := range r.notes {
				draft.Warn(o, w.Field, "%s", w.Message)
			}
		}
	}
	return d, err
}

type reader struct {
	draft.Builder
	fleet      fleet.Fleet
	now        time.Time
	aged, bare int
	notes      []importer.Warning
}

func (r *reader) note(field, format string, args ...any) {
	r.notes = append(r.notes, importer.Warning{Field: field, Message: fmt.Sprintf(format, args...)})
}

func (r *reader) body(ctx context.Context, e importer.Export) error {
	if archive.Is(e.Body) {
		return r.archive(ctx, e.Body)
	}
	if body := bytes.TrimSpace(bytes.TrimPrefix(e.Body, []byte("\xef\xbb\xbf"))); len(body) > 0 && body[0] == '[' {
		i := 0
		return document.Each(body, func(raw json.RawMessage) error {
			if i++; i%1024 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			r.element("["+strconv.Itoa(i-1)+"]", raw)
			return nil
		})
	}
	var top map[string]json.RawMessage
	if err := document.JSON(e.Body, &top); err != nil {
		return err
	}
	if rows, ok := top["rows"]; ok {
		return r.rows(rows)
	}
	if r.partial(top) {
		return nil
	}
	r.node("", strings.TrimSuffix(path.Base(e.File), path.Ext(e.File)), e.Body)
	return nil
}

// rows reads the rows of a search.
func (r *reader) rows(raw json.RawMessage) error {
	i := 0
	return document.Each(raw, func(row json.RawMessage) error {
		r.element("rows["+strconv.Itoa(i)+"]", row)
		i++
		return nil
	})
}

// element reads an element of a list: a node, a row of a partial search, or the name of a node.
func (r *reader) element(ref string, raw json.RawMessage) {
	var name string
	if (raw[0] == '"' || raw[0] == 'n') && json.Unmarshal(raw, &name) == nil {
		r.host(ref, node{Name: name})
		return
	}
	m := document.Object(raw)
	if m == nil {
		r.Skip("node", "", ref, "The element is neither a node nor the name of one.")
		return
	}
	if data, ok := m["data"]; ok && m["url"] != nil {
		var url string
		_ = json.Unmarshal(m["url"], &url)
		if document.Object(data) == nil && data[0] != 'n' {
			r.Skip("node", path.Base(url), ref, "The row has no data.")
			return
		}
		r.node(ref, path.Base(url), data)
		return
	}
	if !r.partial(m) {
		r.node(ref, "", raw)
	}
}

// partial reads a result of a partial search, which has attributes by the name of a node. It reports false for a node.
func (r *reader) partial(m map[string]json.RawMessage) bool {
	if len(m) != 1 {
		return false
	}
	for name, raw := range m {
		if slices.Contains(members(), name) || raw[0] != '{' && raw[0] != 'n' {
			return false
		}
		r.node(name, name, raw)
	}
	return true
}

// members are the members of a node that tell it from the attributes of one.
func members() []string {
	return []string{
		"name", "chef_environment", "environment", "run_list", "normal", "default", "override", "automatic", "json_class",
		"chef_type", "policy_name", "policy_group",
	}
}

func (r *reader) archive(ctx context.Context, body []byte) error {
	a, err := archive.Open(body)
	if err != nil {
		return err
	}
	isNode := func(name string) bool {
		dir, file := path.Split(name)
		return path.Base(dir) == "nodes" && strings.HasSuffix(file, ".json")
	}
	for _, name := range a.Names() {
		if !isNode(name) {
			r.Skip("file", name, name, "Only the files of nodes are hosts.")
		}
	}
	return a.Each(isNode, func(name string, data []byte) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var m map[string]json.RawMessage
		if err := document.JSON(data, &m); err != nil {
			r.Skip("node", path.Base(name), name, "The file is not read: %v.", err)
			return nil
		}
		r.node(name, strings.TrimSuffix(path.Base(name), ".json"), data)
		return nil
	})
}

// node is a node. Other attributes are not read.
type node struct {
	Name        string     `json:"name"`
	ChefEnv     string     `json:"chef_environment"`
	Environment string     `json:"environment"`
	RunList     []string   `json:"run_list"`
	PolicyName  string     `json:"policy_name"`
	PolicyGroup string     `json:"policy_group"`
	Normal      attributes `json:"normal"`
	Automatic   ohai       `json:"automatic"`
	Old         ohai       `json:"attributes"`
	JSONClass   string     `json:"json_class"`
	ChefType    string     `json:"chef_type"`
}

type attributes struct {
	Tags tags `json:"tags"`
}

// tags is a list of tags. A single one is sometimes written as a text.
type tags []string

// UnmarshalJSON reads a list or a text.
func (t *tags) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil && one != "" {
		*t = tags{one}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(t))
}

// ohai are the automatic attributes that matter.
type ohai struct {
	FQDN      string  `json:"fqdn"`
	Hostname  string  `json:"hostname"`
	IPAddress string  `json:"ipaddress"`
	Platform  string  `json:"platform"`
	Version   string  `json:"platform_version"`
	Time      float64 `json:"ohai_time"`
}

// node reads a node, or a document of Ohai. Fallback is its name if it has none.
func (r *reader) node(ref, fallback string, raw json.RawMessage) {
	var n node
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	if json.Unmarshal(raw, &n) != nil {
		r.Skip("node", fallback, ref, "A member of the node has another type than in Chef.")
		return
	}
	if kind := n.ChefType; kind != "" && kind != "node" || n.JSONClass != "" && n.JSONClass != "Chef::Node" {
		r.Skip("file", fallback, ref, "The object is not a node.")
		return
	}
	if n.Automatic == (ohai{}) {
		n.Automatic = n.Old
	}
	if n.RunList == nil && n.Automatic == (ohai{}) && n.Name == "" {
		_ = json.Unmarshal(raw, &n.Automatic) // of a document of Ohai
		if n.Automatic.FQDN != "" || n.Automatic.Hostname != "" {
			fallback = ""
		}
	}
	for _, name := range []string{fallback, n.Automatic.FQDN, n.Automatic.Hostname} {
		if n.Name == "" && name != "." {
			n.Name = name
		}
	}
	r.host(ref, n)
}

var runItem = lazyregexp.New(`^(?:(recipe|role)\[([A-Za-z0-9_.:-]+)(?:@[0-9.]+)?\]|([A-Za-z0-9_.:-]+)(?:@[0-9.]+)?)$`)

func (r *reader) host(ref string, n node) {
	a := n.Automatic
	env := n.ChefEnv
	if env == "" {
		env = n.Environment
	}
	h := fleet.Host{
		Name: n.Name, Ref: ref, Address: address(a), Windows: a.Platform == "windows",
		Vars: map[string]string{"chef_environment": env, "chef_platform": a.Platform, "chef_platform_version": a.Version},
	}
	if h.Address == "" {
		r.bare++
	}
	if a.Time > 0 && a.Time < math.MaxInt32*2 {
		h.Seen = time.Unix(int64(a.Time), 0)
		if r.now.Sub(h.Seen) > old {
			r.aged++
		}
	}
	for prefix, value := range map[string]string{
		"env_": env, "platform_": a.Platform, "policy_": n.PolicyName, "policy_group_": n.PolicyGroup,
	} {
		if value != "" && (prefix != "env_" || value != "_default") {
			h.Groups = append(h.Groups, prefix+value)
		}
	}
	for _, tag := range n.Normal.Tags {
		h.Groups = append(h.Groups, "tag_"+tag)
	}
	for _, item := range n.RunList {
		switch m := runItem.FindStringSubmatch(strings.TrimSpace(item)); {
		case m == nil:
			r.note("run_list", "The item %.100q of the run list of %s is not imported.", item, n.Name)
		case m[1] != "":
			h.Groups = append(h.Groups, m[1]+"_"+m[2])
		default:
			h.Groups = append(h.Groups, "recipe_"+m[3])
		}
	}
	slices.Sort(h.Groups)
	r.fleet.Add(&r.Builder, h)
}

// address returns where a node is reached, empty if its data has no address that others could use.
func address(a ohai) string {
	for _, s := range []string{a.IPAddress, a.FQDN} {
		if s != "" && s != "localhost" && !strings.HasPrefix(s, "127.") && s != "10.0.2.15" && s != "::1" {
			return s
		}
	}
	return ""
}
