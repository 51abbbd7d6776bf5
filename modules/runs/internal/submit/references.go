package submit

import (
	"context"
	"fmt"
	"slices"

	"github.com/writ-automation/writ/modules/runs/internal/rights"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
)

// References tells which objects of other contexts exist and what they add to a run.
type References = catalog.References

// reference is an id inside a request, with its path.
type reference struct {
	path string
	kind ids.Prefix
	id   string
}

func references(prefix, inventory, project, queue string, credentials []string) []reference {
	var out []reference
	if inventory != "" {
		out = append(out, reference{prefix + "inventory_id", ids.Inventory, inventory})
	}
	if project != "" {
		out = append(out, reference{prefix + "project_id", ids.Project, project})
	}
	for i, id := range credentials {
		out = append(out, reference{fmt.Sprintf("%scredential_ids[%d]", prefix, i), ids.Credential, id})
	}
	if queue != "" {
		out = append(out, reference{path: prefix + "queue", id: queue})
	}
	return out
}

// object returns what decides about the reference. A queue has no kind of id.
func (r reference) object() string {
	if r.kind == "" {
		return access.Queue(r.id)
	}
	return r.id
}

// missing is the NotFound fault of a reference to nothing, and of one to what the caller may not read.
func (r reference) missing() error {
	f, said := runs.QueueNotFound.New("no such queue"), "no such queue"
	if r.kind != "" {
		f = fault.Missing(rights.Noun(string(r.kind)), r.id)
		said = f.Message
	}
	f.Message = r.path + ": " + said
	f.Fields = []fault.Field{{Location: r.path, Message: said}}
	return f
}

// unusable is the fault of a reference to what the caller may read and not use.
func (r reference) unusable() error {
	said := fmt.Sprintf("this takes the right to use the %s", rights.Noun(r.object()))
	f := runs.UseRequired.New("%s: %s", r.path, said)
	f.Fields = []fault.Field{{Location: r.path, Message: said}}
	return f
}

// vouched reports whether somebody else answers for the use of what is named: a template names no queue but its own.
func (r reference) vouched(ids []string) bool {
	return slices.Contains(ids, r.object()) || r.kind == "" && len(ids) > 0
}

// hidden is the fault of what a template names and the caller may not read: the run would be one that its own launcher cannot see.
func (r reference) hidden() error {
	said := fmt.Sprintf("this takes the right to read the %s that the template names", rights.Noun(r.object()))
	f := runs.UseRequired.New("%s: %s", r.path, said)
	f.Fields = []fault.Field{{Location: r.path, Message: said}}
	return f
}

// seen refuses what is vouched for and may not be read.
func (s *Submitter) seen(ctx context.Context, list []reference, vouched []string) error {
	for _, r := range list {
		if !r.vouched(vouched) {
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

// resolve refuses what does not exist or may not be read, and then what may not be used, with a fault that names its path. Of what is
// vouched for it asks only whether it exists and may be read.
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
	for _, r := range list {
		known, err := s.exists(ctx, r)
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
	return nil // the right was given meanwhile
}

// exists reports whether a reference is to something. A queue exists by being named; without References nothing else does.
func (s *Submitter) exists(ctx context.Context, r reference) (bool, error) {
	if r.kind == "" {
		return true, nil
	}
	if s.refs == nil || !ids.Valid(r.kind, r.id) {
		return false, nil
	}
	return s.refs.Exists(ctx, r.kind, r.id)
}
