// Package semaphore reads backups of projects of Semaphore, in JSON.
//
// A backup is an object of lists, whose objects refer to each other by name. Environments have no object here: their
// variables become those of the templates that use them.
package semaphore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/writ-automation/writ/adapters/importers/document"
	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
)

// New returns the format.
func New() importer.Format { return format{} }

type format struct{}

func (format) Name() string { return "semaphore" }

func (format) Targeted() bool { return false }

// reader reads one backup.
type reader struct {
	draft.Builder
	now          time.Time
	project      string // the name of the project
	keys         map[string]*key
	repositories map[string]string // the names of projects, empty for one that is not written
	inventories  map[string]*inventory
	environments map[string]*environment
	templates    map[string]*importer.Object
	variables    int // bytes of variables that templates got from environments
	aliases      int // inventories in YAML with aliases
}

func (format) Read(ctx context.Context, e importer.Export) (importer.Draft, error) {
	tree := map[string]json.RawMessage{}
	if err := document.JSON(e.Body, &tree); err != nil {
		return importer.Draft{}, err
	}
	x := &reader{
		now: e.Now, keys: map[string]*key{}, repositories: map[string]string{}, inventories: map[string]*inventory{},
		environments: map[string]*environment{}, templates: map[string]*importer.Object{},
	}
	if !x.known(tree) {
		return importer.Draft{}, importer.Malformed.New("the body has none of the members of a backup, such as templates")
	}
	x.meta(tree["meta"])
	for _, list := range []struct {
		name string
		read func(r *record)
	}{
		{"keys", x.key}, {"repositories", x.repository}, {"inventories", x.inventory}, {"environments", x.environment},
		{"templates", x.template}, {"schedules", x.schedule},
	} {
		if err := each(ctx, list.name, tree[list.name], list.read); err != nil {
			return importer.Draft{}, err
		}
	}
	x.unused()
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		if !read(name) {
			if err := x.homeless(ctx, name, tree[name]); err != nil {
				return importer.Draft{}, err
			}
		}
	}
	return x.Draft()
}

func read(name string) bool {
	return slices.Contains([]string{"meta", "keys", "repositories", "inventories", "environments", "templates",
		"schedules"}, name)
}

func (x *reader) known(tree map[string]json.RawMessage) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(tree)), read)
}

// each calls fn with the records of a list, which may be null or absent.
func each(ctx context.Context, name string, list json.RawMessage, fn func(r *record)) error {
	if list = bytes.TrimSpace(list); len(list) == 0 || string(list) == "null" {
		return nil
	}
	if list[0] != '[' {
		return importer.Malformed.New("%q is not a list", name)
	}
	n := 0
	return document.Each(list, func(raw json.RawMessage) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		var v any
		if err := document.JSON(raw, &v); err != nil {
			return err
		}
		fn(newRecord(fmt.Sprintf("%s[%d]", name, n), v))
		n++
		return nil
	})
}

// meta reads the settings of the project.
func (x *reader) meta(raw json.RawMessage) {
	var v any
	if raw == nil || document.JSON(raw, &v) != nil || blank(v) {
		return
	}
	r := newRecord("meta", v)
	x.project = r.line("name")
	o := importer.Object{Kind: "project settings", Name: x.Name("project settings", x.project), Ref: "meta",
		Class: importer.NoHome, Reason: "Templates of all projects are in one catalog here."}
	draft.Map(&o, "The name of the project became the label project of its templates.")
	if alert, chat := r.flag("alert"), r.line("alert_chat"); alert || chat != "" {
		draft.Warn(&o, "alert", "The channels of alerts are settings of the server there; add notifications to templates.")
	}
	if n := r.number("max_parallel_tasks"); n > 0 {
		draft.Warn(&o, "max_parallel_tasks", "At most %s of the project ran at a time; limit the queue.",
			draft.Count(n, "task"))
	}
	r.rest(&o, "")
	x.Add(o)
}

// homeless reports the objects of a list that have no counterpart.
func (x *reader) homeless(ctx context.Context, list string, raw json.RawMessage) error {
	kind, reason := list, "There is no counterpart for it."
	for _, h := range [][3]string{
		{"views", "view", "A view groups templates in the pages; use labels."},
		{"integrations", "integration", "A call of a webhook started a template; make a trigger."},
		{"integration_aliases", "integration alias", "Addresses of webhooks are those of triggers here."},
		{"secret_storages", "secret storage", "A credential names its own source of the secret; set it there."},
		{"roles", "role", "The rights of users are set apart from the catalog."},
		{"runners", "runner", "An executor takes the place of a runner; enroll one."},
		{"alerts", "alert", "Notifications belong to templates here; add them."},
		{"workflows", "workflow", "The form of these workflows is not known; make a template with steps."},
	} {
		if h[0] == list {
			kind, reason = h[1], h[2]
		}
	}
	if raw = bytes.TrimSpace(raw); len(raw) > 0 && raw[0] != '[' {
		if string(raw) != "null" {
			x.Skip(importer.Kind(short(kind, maxShort)), short(kind, maxShort), short(list, maxShort), "%s", reason)
		}
		return nil
	}
	return each(ctx, list, raw, func(r *record) {
		name := r.line("name")
		for _, other := range []string{"title", "slug"} {
			if name == "" {
				name = r.line(other)
			}
		}
		if name == "" {
			name = r.ref
		}
		x.skip(importer.Kind(short(kind, maxShort)), name, short(r.ref, maxPart), reason)
	})
}

// skip adds an object that is not written; its name is never empty.
func (x *reader) skip(kind importer.Kind, name, ref, reason string) {
	if kind == "" {
		kind = "member"
	}
	if ref == "" {
		ref = "member"
	}
	if short(name, maxPart) == "" {
		name = ref
	}
	x.Skip(kind, name, ref, "%s", reason)
}

// labels returns the labels of a template.
func (x *reader) labels(o *importer.Object) map[string]string {
	if x.project == "" {
		return nil
	}
	if !oneLine(x.project, maxName) {
		draft.Warn(o, "meta.name", "The name of the project is none that a label takes, and is left out.")
		return nil
	}
	return map[string]string{"project": x.project}
}
