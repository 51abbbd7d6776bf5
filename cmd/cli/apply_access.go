package cli

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/writ-automation/writ/cmd/cli/internal/manifest"
)

// members reads the accounts of a team or an organization; it does nothing for other objects.
func (h *serverObjects) members(ctx context.Context, o *stored) error {
	if o.Kind != manifest.Team && o.Kind != manifest.Org || o.row["members"] != nil {
		return nil
	}
	rows, err := h.c.rows(ctx, objectPath(o.Kind, o.id)+"/members", "members", nil)
	if unlistable(err) {
		o.closed = true
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the members of %s: %w", o.Key, err)
	}
	list := []any{}
	for _, r := range rows {
		id := stringField(r, "user_id")
		h.keys[id] = manifest.Key{Kind: manifest.User, Name: stringField(r, "username")}
		if o.Kind == manifest.Team {
			list = append(list, id)
		} else {
			list = append(list, map[string]any{"user_id": id, "role": r["role"]})
		}
	}
	o.row["members"] = list
	return nil
}

// roles returns the roles of members by the ids of their accounts, empty ones in teams.
func roles(list any) map[string]string {
	out := make(map[string]string)
	rows, _ := list.([]any)
	for _, x := range rows {
		if id, ok := x.(string); ok {
			out[id] = ""
		} else if r, ok := x.(map[string]any); ok {
			out[stringField(r, "user_id")] = stringField(r, "role")
		}
	}
	return out
}

// writeGroup creates, changes or deletes a team or an organization. Members are added before others are removed, so
// that a group that had an admin has one all the time.
func (p *plan) writeGroup(ctx context.Context, s *planStep) error {
	if s.action == actDelete {
		return p.write(ctx, s)
	}
	body, err := manifest.ToAPI(s.doc, nil, p.held.id)
	if err != nil {
		return err
	}
	o := s.was
	if s.action == actCreate {
		if err := p.create(ctx, s, map[string]any{"name": s.key.Name}); err != nil {
			return err
		}
		if o = p.held.objects[s.key]; s.key.Kind == manifest.Org {
			p.held.orgs[o.id] = s.key.Name
		}
	}
	path := objectPath(s.key.Kind, o.id) + "/members"
	was, will := roles(o.row["members"]), roles(body["members"])
	for _, id := range slices.Sorted(maps.Keys(will)) {
		if role, ok := was[id]; ok && role == will[id] {
			continue
		}
		member := map[string]any{"user_id": id}
		if will[id] != "" {
			member["role"] = will[id]
		}
		if _, _, err := p.held.c.exchange(ctx, http.MethodPost, path, "", member); err != nil {
			return fmt.Errorf("add %s: %w", p.held.keys[id].Name, err)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(was)) {
		if _, ok := will[id]; ok {
			continue
		}
		if _, _, err := p.held.c.exchange(ctx, http.MethodDelete, path+"/"+url.PathEscape(id), "", nil); err != nil {
			return fmt.Errorf("remove %s: %w", p.held.keys[id].Name, err)
		}
	}
	return nil
}

// levels are the levels of grants; each contains those before it.
func levels() []string { return []string{"read", "use", "manage"} }

// addGrant adds a grant. Several of one subject on one object count as the one with the highest level, which is what
// they allow together.
func (h *serverObjects) addGrant(row map[string]any) {
	kind, _ := manifest.KindOf(manifest.Grant)
	d := manifest.Document{Key: manifest.Key{Kind: manifest.Grant}, Spec: manifest.FromAPI(kind, row, h.name)}
	d.Identify()
	o := h.objects[d.Key]
	level, id := stringField(row, "level"), stringField(row, "id")
	if o == nil {
		on, _ := d.Spec["object"].(manifest.Ref)
		o = &stored{Key: d.Key, levels: map[string]string{}, closed: on.ID != ""}
		h.objects[d.Key] = o
	}
	o.levels[level] = id
	if o.row == nil || slices.Index(levels(), level) > slices.Index(levels(), stringField(o.row, "level")) {
		o.row, o.id = row, id
	}
}

// writeGrant creates or deletes a grant. Another level is a new grant: it is made before the old ones are deleted, so
// that the object stays restricted.
func (p *plan) writeGrant(ctx context.Context, s *planStep) error {
	var was map[string]string
	if s.was != nil {
		was = s.was.levels
	}
	level := ""
	if s.action != actDelete {
		body, err := manifest.ToAPI(s.doc, nil, p.held.id)
		if err != nil {
			return err
		}
		delete(body, "name")
		level = stringField(body, "level")
		if was[level] == "" {
			if err := p.create(ctx, s, body); err != nil {
				return err
			}
		}
	}
	for _, old := range levels() {
		if was[old] == "" || old == level {
			continue
		}
		if _, _, err := p.held.c.exchange(ctx, http.MethodDelete, objectPath(manifest.Grant, was[old]), "", nil); err != nil {
			return err
		}
	}
	return nil
}

// writeQueue sets the limit of a queue. The deletion of a queue is the end of its limit.
func (p *plan) writeQueue(ctx context.Context, s *planStep) error {
	body := map[string]any{"max_concurrent": 0}
	if s.action != actDelete {
		var err error
		if body, err = manifest.ToAPI(s.doc, nil, p.held.id); err != nil {
			return err
		}
		delete(body, "name")
	}
	_, _, err := p.held.c.exchange(ctx, http.MethodPut, objectPath(manifest.Queue, s.was.id), "", body)
	return err
}
