package submit

import (
	"context"
	"fmt"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
)

// References tells which objects of other contexts exist and may be used by the actor of ctx.
type References interface {
	Exists(ctx context.Context, kind ids.Prefix, id string) (bool, error)
}

// reference is an id inside a request, with its path.
type reference struct {
	path string
	kind ids.Prefix
	id   string
}

func references(prefix, inventory, project string, credentials []string) []reference {
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
	return out
}

// resolve refuses an id of nothing with a NotFound fault that names its path. Without References nothing exists.
func (s *Submitter) resolve(ctx context.Context, list []reference) error {
	for _, r := range list {
		known := false
		if s.refs != nil && ids.Valid(r.kind, r.id) {
			var err error
			if known, err = s.refs.Exists(ctx, r.kind, r.id); err != nil {
				return err
			}
		}
		if !known {
			noun := nouns(r.kind)
			f := fault.Missing(noun, r.id)
			f.Message = r.path + ": " + f.Message
			f.Fields = []fault.Field{{Location: r.path, Message: fmt.Sprintf("no %s %q", noun, r.id)}}
			return f
		}
	}
	return nil
}

func nouns(kind ids.Prefix) string {
	switch kind {
	case ids.Inventory:
		return "inventory"
	case ids.Project:
		return "project"
	default:
		return "credential"
	}
}
