package submit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-automation/writ/modules/runs/internal/guard"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
)

// References reports which objects of other contexts exist and what they add to a run.
type References = catalog.References

// reference is an id inside a request, with its path.
type reference struct {
	path      string
	kind      ids.Prefix
	id        string
	inherited bool // from the inventory, so that the caller needs no right to it
	templated bool // from the template of a step, likewise
}

func references(prefix, inventory, project, queue string, credentials []string) []reference {
	var out []reference
	if inventory != "" {
		out = append(out, reference{path: prefix + "inventory_id", kind: ids.Inventory, id: inventory})
	}
	if project != "" {
		out = append(out, reference{path: prefix + "project_id", kind: ids.Project, id: project})
	}
	for i, id := range credentials {
		out = append(out, reference{path: fmt.Sprintf("%scredential_ids[%d]", prefix, i), kind: ids.Credential, id: id})
	}
	if queue != "" {
		out = append(out, reference{path: prefix + "queue", id: queue})
	}
	return out
}

// object returns the name of the object for the guard. The kind of a queue is empty.
func (r reference) object() string {
	if r.kind == "" {
		return access.Queue(r.id)
	}
	return r.id
}

// missing returns the NotFound fault for an object that does not exist or that the caller may not read.
func (r reference) missing() error {
	message := r.lacking(access.Use)
	f := runs.QueueNotFound.New("%s", message)
	if r.kind != "" {
		f = fault.Missing(guard.Noun(string(r.kind)), r.id)
		message = f.Message
	}
	f.Message = r.path + ": " + message
	f.Fields = []fault.Field{{Location: r.path, Message: message}}
	return f
}

// lacking names the queue, the missing right and who gives it. The name is one that the caller gave, or the default.
func (r reference) lacking(level access.Level) string {
	return fmt.Sprintf("the right to %s the queue %q is missing: name another queue, or have an admin grant the level "+
		"%s on %s (writ grant create, or POST /v1/grants)", level, r.id, level, r.object())
}

// unusable returns the fault for an object that the caller may read but not use.
func (r reference) unusable() error {
	message := fmt.Sprintf("this takes the right to use the %s", guard.Noun(r.object()))
	if r.kind == "" {
		message = r.lacking(access.Use)
	}
	f := runs.UseRequired.New("%s: %s", r.path, message)
	f.Fields = []fault.Field{{Location: r.path, Message: message}}
	return f
}

// vouched reports whether the caller needs no right to use the object, because the inventory adds it or the template
// names it. A template's queue is always its own.
func (r reference) vouched(list []string) bool {
	template := func(id string) bool { return strings.HasPrefix(id, string(ids.Template)) }
	return r.inherited || r.templated || slices.Contains(list, r.object()) ||
		r.kind == "" && slices.ContainsFunc(list, template)
}

// hidden returns the fault for an object that a template names and the caller may not read. The caller could not see
// its own run.
func (r reference) hidden() error {
	message := fmt.Sprintf("this takes the right to read the %s that the template names", guard.Noun(r.object()))
	if r.kind == "" && r.id == runs.DefaultQueue {
		message = r.lacking(access.Read)
	}
	f := runs.UseRequired.New("%s: %s", r.path, message)
	f.Fields = []fault.Field{{Location: r.path, Message: message}}
	return f
}

// seen refuses vouched objects that the caller may not read. It skips credentials, since they do not decide who may
// read a run.
func (s *Submitter) seen(ctx context.Context, list []reference, vouched []string) error {
	for _, r := range list {
		if !r.vouched(vouched) || r.kind == ids.Credential {
			continue
		}
		ok, err := s.gate.May(ctx, access.Read, r.object())
		if err != nil {
			return err
		}
		if !ok {
			return r.hidden()
		}
	}
	return nil
}

// resolve returns a fault for the first reference to an object that does not exist or that the caller may not read,
// and then for one that the caller may not use. A vouched object must only exist and be readable; a vouched
// credential must only exist.
func (s *Submitter) resolve(ctx context.Context, list []reference, vouched []string) error {
	if err := s.resolveNamed(ctx, list, vouched); err != nil {
		return err
	}
	return s.seen(ctx, list, vouched)
}

func (s *Submitter) resolveNamed(ctx context.Context, list []reference, vouched []string) error {
	var objects []string
	for _, r := range list {
		if !r.vouched(vouched) {
			objects = append(objects, r.object())
		}
	}
	usable := len(objects) == 0
	if !usable {
		var err error
		if usable, err = s.gate.May(ctx, access.Use, objects...); err != nil {
			return err
		}
	}
	found := make(map[string]bool)
	for _, r := range list {
		known, err := s.found(ctx, found, r)
		if err == nil && known && !usable && !r.vouched(vouched) {
			known, err = s.gate.May(ctx, access.Read, r.object())
		}
		if err != nil {
			return err
		}
		if !known {
			return r.missing()
		}
	}
	if usable {
		return nil
	}
	for _, r := range list {
		if r.vouched(vouched) {
			continue
		}
		ok, err := s.gate.May(ctx, access.Use, r.object())
		if err != nil {
			return err
		}
		if !ok {
			return r.unusable()
		}
	}
	return nil // the right was granted meanwhile
}

// found is exists with a cache, for a request that names the same object often.
func (s *Submitter) found(ctx context.Context, known map[string]bool, r reference) (bool, error) {
	if known[r.object()] {
		return true, nil
	}
	ok, err := s.exists(ctx, r)
	known[r.object()] = ok && err == nil
	return ok, err
}

// exists reports whether the object of a reference exists. Every queue does. Without a source for its kind no object
// does.
func (s *Submitter) exists(ctx context.Context, r reference) (bool, error) {
	switch {
	case r.kind == "":
		return true, nil
	case !ids.Valid(r.kind, r.id):
		return false, nil
	case r.kind == ids.Credential:
		if s.credentials == nil {
			return false, nil
		}
		return s.credentials.Exists(ctx, r.id)
	case s.refs == nil:
		return false, nil
	default:
		return s.refs.Exists(ctx, r.kind, r.id)
	}
}
