package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/writ-automation/writ/cmd/cli/internal/manifest"
	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/importer"
)

// localImport is an import that is planned on this machine: the objects of a draft as documents.
type localImport struct {
	draft   importer.Draft
	docs    map[int]*manifest.Document // by the place of their object in the draft
	reasons map[int]string             // why an object is not written
	steps   map[manifest.Key]*planStep
	fires   map[int][]time.Time
	plan    *plan
	held    *serverObjects
}

// local plans an import on this machine, and writes it object by object. refused tells that the server refused some.
func (f *importFlags) local(
	ctx context.Context, c *client, name string, exports []importer.Export, out printer,
) (body importer.Body, refused, err error) {
	format, err := formatNamed(name)
	if err != nil {
		return importer.Body{}, nil, err
	}
	if f.inventory != "" && !format.Targeted() {
		return importer.Body{}, nil, usagef("the format %s takes no inventory", name)
	}
	for i := range exports {
		exports[i].Inventory = f.inventory
	}
	draft, err := draftOf(ctx, format, exports)
	if err != nil {
		return importer.Body{}, nil, err
	}
	l := &localImport{draft: draft, docs: map[int]*manifest.Document{}, reasons: map[int]string{},
		fires: map[int][]time.Time{}, plan: &plan{}}
	if err := l.prepare(ctx, c, f.inventory); err != nil {
		return importer.Body{}, nil, err
	}
	if f.apply {
		if refused, err = l.apply(ctx, out.environment); err != nil {
			return importer.Body{}, nil, err
		}
	}
	p := l.planned(name)
	p.Applied = f.apply
	return importer.BodyOf(p), refused, nil
}

// prepare compares the draft with the server.
func (l *localImport) prepare(ctx context.Context, c *client, inventory string) error {
	slices.SortStableFunc(l.draft.Objects, func(a, b importer.Object) int { return rank(a) - rank(b) })
	var kinds []string
	for i, o := range l.draft.Objects {
		if o.Spec == nil {
			continue
		}
		d, err := manifest.Made(manifestKind(o.Kind), o.Name, o.Spec)
		if err != nil {
			l.reasons[i] = err.Error()
			continue
		}
		l.docs[i] = d
		if !slices.Contains(kinds, d.Kind) {
			kinds = append(kinds, d.Kind)
		}
	}
	if len(l.docs) == 0 {
		return nil
	}
	var err error
	if l.held, err = readServerObjects(ctx, c, kinds); err != nil {
		return err
	}
	if err := l.held.mayList(kinds); err != nil {
		return err
	}
	if err := l.resolve(inventory); err != nil {
		return err
	}
	if err := l.preview(ctx, c); err != nil {
		return err
	}
	if err := l.keep(ctx); err != nil {
		return err
	}
	docs := make([]*manifest.Document, 0, len(l.docs))
	for _, i := range slices.Sorted(maps.Keys(l.docs)) {
		docs = append(docs, l.docs[i])
	}
	if l.plan, err = makePlan(ctx, l.held, docs, nil, nil); err != nil {
		return err
	}
	l.steps = make(map[manifest.Key]*planStep, len(l.plan.steps))
	for _, s := range l.plan.steps {
		l.steps[s.key] = s
	}
	return nil
}

// rank is the place of an object in the order in which objects are written.
func rank(o importer.Object) int {
	if o.Spec == nil {
		return len(importer.Kinds())
	}
	return slices.Index(importer.Kinds(), o.Kind)
}

// manifestKind returns the kind of the documents that hold objects of a kind.
func manifestKind(k importer.Kind) string {
	return map[importer.Kind]string{
		importer.CredentialType: manifest.CredentialType, importer.Credential: manifest.Credential,
		importer.Project: manifest.Project, importer.Inventory: manifest.Inventory, importer.Source: manifest.Source,
		importer.Template: manifest.Template, importer.Schedule: manifest.Schedule,
	}[k]
}

// drop leaves an object out.
func (l *localImport) drop(i int, reason string) {
	l.reasons[i] = reason
	delete(l.docs, i)
}

// resolve finds the objects that documents name, and drops each document that names one that is neither on the server
// nor in the draft.
func (l *localImport) resolve(inventory string) error {
	all := func(manifest.Key) bool { return true }
	if inventory != "" && !manifest.IsID(manifest.Inventory, inventory) {
		if _, err := l.held.index(all).Find(manifest.Inventory, inventory, ""); err != nil {
			return err
		}
	}
	for again := true; again; {
		again = false
		x := l.held.index(all)
		for _, d := range l.docs {
			x.Add(d.Key)
		}
		for _, i := range slices.Sorted(maps.Keys(l.docs)) {
			if problems := l.docs[i].Resolve(x); len(problems) > 0 {
				l.drop(i, problems.Error())
				again = true
			}
		}
	}
	return nil
}

// preview asks the server when the schedules fire.
func (l *localImport) preview(ctx context.Context, c *client) error {
	for i, o := range l.draft.Objects {
		spec, ok := o.Spec.(*importer.ScheduleSpec)
		if !ok || l.docs[i] == nil {
			continue
		}
		fires, err := nextFires(ctx, c, spec.Cron, spec.Timezone)
		if reason, ok := refusalOf(err); ok {
			l.drop(i, reason)
		} else if err != nil {
			return fmt.Errorf("schedule %q: %w", o.Name, err)
		}
		l.fires[i] = fires
	}
	return nil
}

// nextFires asks the server when a cron expression is due.
func nextFires(ctx context.Context, c *client, cron, timezone string) ([]time.Time, error) {
	query := url.Values{"cron": {cron}, "count": {strconv.Itoa(importer.MaxFires)}}
	if timezone != "" {
		query.Set("timezone", timezone)
	}
	var preview struct {
		Next []time.Time `json:"next"`
	}
	err := c.call(ctx, http.MethodGet, "/v1/schedules/preview?"+query.Encode(), nil, &preview)
	return preview.Next, err
}

// keep completes documents of stored objects by the members that the draft leaves empty, unless those that it sets
// exclude them.
func (l *localImport) keep(ctx context.Context) error {
	for i, d := range l.docs {
		was := l.held.objects[d.Key]
		if was == nil {
			continue
		}
		if is, wanted := l.held.spec(was)["enabled"], d.Spec["enabled"]; d.Kind == manifest.Schedule && is != wanted {
			d.Spec["enabled"] = is
			o := &l.draft.Objects[i]
			o.Warnings = append(o.Warnings, importer.KeptEnabled(o.Name, is == true))
		}
		own := slices.Collect(maps.Keys(d.Spec))
		fill := func() {
			for name, v := range l.held.spec(was) {
				excluded := func(set string) bool { return set == name || slices.Contains(importer.Excluded(set), name) }
				if !slices.ContainsFunc(own, excluded) {
					d.Spec[name] = v
				}
			}
		}
		fill()
		kind, _ := manifest.KindOf(d.Kind)
		if len(manifest.Compare(kind, l.held.spec(was), d.Spec)) == 0 {
			continue
		}
		if err := l.held.whole(ctx, was); err != nil {
			return err
		}
		fill()
	}
	return nil
}

// refusalOf returns why the server refuses an object, and false for a failure that is not the object's.
func refusalOf(err error) (string, bool) {
	var api *apiError
	if !errors.As(err, &api) {
		return "", false
	}
	return api.Error(), slices.Contains([]int{
		http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusConflict,
		http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity,
	}, api.Status)
}

// apply writes the plan. An object that the server refuses is left out, and so is each that needs it; refused tells how
// many.
func (l *localImport) apply(ctx context.Context, w environment) (refused, err error) {
	n := 0
	for at, s := range l.plan.steps {
		if s.action == actUnchanged {
			continue
		}
		err := l.write(ctx, s)
		reason, ok := refusalOf(err)
		switch {
		case err == nil && s.refused == "":
			s.done = true
			continue
		case ok:
			s.refused = reason
		case err != nil:
			l.plan.stopped(w.err, at)
			return nil, err
		}
		n++
	}
	if n > 0 {
		refused = fmt.Errorf("%s not written: the reasons are above", count(n, "object"))
	}
	return refused, nil
}

// write writes one object. A schedule that cannot fire is written disabled.
func (l *localImport) write(ctx context.Context, s *planStep) error {
	for _, r := range s.doc.Refs() {
		if r.ID == "" && r.Kind != manifest.Queue && l.held.objects[r.Key] == nil {
			s.refused = fmt.Sprintf("it needs the %s", r.Key)
			return nil
		}
	}
	err := l.perform(ctx, s)
	reason, ok := refusalOf(err)
	if !ok || s.doc.Spec["enabled"] != true || s.key.Kind != manifest.Schedule {
		return err
	}
	s.doc.Spec["enabled"] = false
	if s.was != nil {
		kind, _ := manifest.KindOf(manifest.Schedule)
		if s.change = manifest.Compare(kind, l.held.spec(s.was), s.doc.Spec); len(s.change) == 0 {
			s.action, s.disabled = actUnchanged, reason
			return nil
		}
	}
	if again := l.perform(ctx, s); again != nil {
		return again
	}
	s.disabled = reason
	return nil
}

// perform writes one object. While the server has no time for it, which changes nothing there, it tries again.
func (l *localImport) perform(ctx context.Context, s *planStep) error {
	for pause := firstBackoff; ; pause *= 2 {
		err := l.plan.perform(ctx, s)
		var api *apiError
		if !errors.As(err, &api) || api.Status != http.StatusServiceUnavailable || pause > lastBackoff ||
			!background.Wait(ctx, pause) {
			return err
		}
	}
}

// planned returns the plan in the form of the server.
func (l *localImport) planned(format string) importer.Plan {
	out := importer.Plan{Format: format}
	for i, o := range l.draft.Objects {
		p := importer.Planned{Object: o, Action: importer.Skip, Fires: l.fires[i]}
		reason := l.reasons[i]
		if d := l.docs[i]; d != nil {
			s := l.steps[d.Key]
			reason = s.refused
			s.describe(&p)
		}
		if reason != "" {
			p.Reason, p.Class, p.Action = reason, importer.NoHome, importer.Skip
			p.Object.Fires, p.Fires, p.Changes = nil, nil, nil
		}
		out.Counts.Add(p)
		out.Objects = append(out.Objects, p)
	}
	return out
}

// describe completes an object of a plan by what its step does, or did.
func (s *planStep) describe(p *importer.Planned) {
	switch s.action {
	case actCreate:
		p.Action, p.ID = importer.Create, stringField(s.answer, "id")
	case actUpdate:
		p.Action = importer.Update
	default:
		p.Reason = "unchanged"
	}
	if s.was != nil {
		p.ID = s.was.id
	}
	for _, change := range s.change {
		p.Changes = append(p.Changes, change.Member)
	}
	slices.Sort(p.Changes)
	if s.disabled != "" {
		p.Class = importer.NeedsYou
		p.Warnings = append(slices.Clone(p.Warnings), importer.Warning{
			Object: p.Name, Field: "enabled", Message: "It is not enabled, since it could not fire: " + s.disabled,
		})
	}
}
