package submit

import (
	"context"
	"fmt"

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

// resolve refuses what does not exist or may not be read, and then what may not be used, with a fault that names its path.
func (s *Submitter) resolve(ctx context.Context, list []reference) error {
	objects := make([]string, len(list))
	for i, r := range list {
		objects[i] = r.object()
	}
	usable, err := s.gate.May(ctx, access.Use, objects...)
	if err != nil {
		return err
	}
	for _, r := range list {
		known, err := s.exists(ctx, r)
		if err == nil && known && !usable {
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
