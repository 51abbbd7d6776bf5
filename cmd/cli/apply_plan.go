package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/writ-automation/writ/cmd/cli/internal/manifest"
)

// Actions of a step.
const (
	actCreate    = "create"
	actUpdate    = "update"
	actDelete    = "delete"
	actUnchanged = "unchanged"
)

// planStep is the action for one object.
type planStep struct {
	action string
	key    manifest.Key
	doc    *manifest.Document
	was    *stored
	change []manifest.Change
	done   bool
	answer map[string]any // of a creation or a change
	secret map[string]any // members of the request that only the command line has
	notes  []string       // what the plan says about it
	// refused is why the server refuses an object of an import, and disabled why it refuses a schedule as enabled.
	refused, disabled string
}

// plan is the list of steps of an apply, in order.
type plan struct {
	held  *serverObjects
	steps []*planStep
	// keep are the credentials whose stored secrets stay although the command line has some.
	keep []manifest.Key
}

func (p *plan) count(action string) int {
	n := 0
	for _, s := range p.steps {
		if s.action == action {
			n++
		}
	}
	return n
}

// changes reports whether the plan has changes.
func (p *plan) changes() bool { return p.count(actUnchanged) != len(p.steps) }

// scope is the scope of --prune: it deletes objects of these kinds, in the organizations that the files name, if no
// file names them.
type scope struct{ kinds, orgs []string }

func (s scope) has(k manifest.Key) bool {
	kind, _ := manifest.KindOf(k.Kind)
	return slices.Contains(s.kinds, k.Kind) && (!kind.Scoped || slices.Contains(s.orgs, k.Org))
}

// settle sets the organizations of documents and resolves the names in them.
func settle(h *serverObjects, docs []*manifest.Document, drop func(manifest.Key) bool) error {
	var problems manifest.Problems
	x := h.index(func(k manifest.Key) bool { return !drop(k) })
	for _, d := range docs {
		if d.Kind == manifest.Org {
			x.Add(d.Key)
		}
	}
	for _, d := range docs {
		id, ok := h.orgID(d.Org)
		if _, err := x.Find(manifest.Org, d.Org, ""); !ok && err != nil {
			problems = append(problems, d.Problem("org", "%v", err))
		}
		d.Org = h.org(id)
		x.Add(d.Key)
	}
	seen := make(map[manifest.Key]bool, len(docs))
	for _, d := range docs {
		for _, p := range d.Resolve(x) {
			p.Text = h.explain(p.Text)
			problems = append(problems, p)
		}
		if d.Identify(); seen[d.Key] {
			problems = append(problems, d.Problem("", "%s is declared twice", d.Key))
		}
		seen[d.Key] = true
	}
	problems = append(problems, h.clearFields(docs)...)
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// explain completes the message about a name that was not found.
func (h *serverObjects) explain(text string) string {
	for kind, refused := range h.unlisted {
		if !strings.HasPrefix(text, fmt.Sprintf("there is no %s \"", manifest.Noun(kind))) {
			continue
		}
		if refused {
			return fmt.Sprintf("this caller may not list the %s of the server: give the id, %s_...", plural(kind),
				manifest.IDPrefix(kind))
		}
		if kind == manifest.User {
			return text + " (files create no accounts)"
		}
	}
	return text
}

// makePlan compares documents with the objects on the server. With a nil prune nothing is deleted.
func makePlan(
	ctx context.Context, h *serverObjects, docs []*manifest.Document, given []*givenSecret, prune *scope,
) (*plan, error) {
	named := make(map[manifest.Key]bool, len(docs))
	drop := func(k manifest.Key) bool { return prune != nil && prune.has(k) && !named[k] }
	name := func(grants bool) {
		for _, d := range docs {
			kind, _ := manifest.KindOf(d.Kind)
			if grants != (d.Kind == manifest.Grant) {
				continue
			}
			k := d.Key
			if id, ok := h.orgID(k.Org); ok {
				k.Org = h.org(id)
			}
			named[k] = true
			if prune != nil && kind.Scoped && !slices.Contains(prune.orgs, k.Org) {
				prune.orgs = append(prune.orgs, k.Org)
			}
		}
	}
	name(false)
	if err := settle(h, docs, drop); err != nil {
		return nil, err
	}
	name(true) // their names and organizations are known now
	secrets, err := secretsOf(docs, given)
	if err != nil {
		return nil, err
	}
	if problems := h.lacking(docs, secrets); len(problems) > 0 {
		return nil, problems
	}
	p := &plan{held: h}
	var unbacked manifest.Problems
	ordered, depth := slices.Clone(docs), depths(docs)
	slices.SortStableFunc(ordered, func(a, b *manifest.Document) int { return depth[a.Key] - depth[b.Key] })
	for _, kind := range manifest.Kinds() {
		for _, d := range ordered {
			if d.Kind != kind.Name {
				continue
			}
			s, err := p.compare(ctx, kind, d, secrets[d])
			if err != nil {
				return nil, err
			}
			if s.action != actUnchanged {
				unbacked = append(unbacked, s.unbacked(h)...)
			}
			p.steps = append(p.steps, s)
		}
	}
	if len(unbacked) > 0 {
		return nil, unbacked
	}
	return p, p.prune(ctx, drop)
}

// depths returns how deep the templates are that the steps of each document launch, which have to be there before it.
// Templates that launch each other have some depth.
func depths(docs []*manifest.Document) map[manifest.Key]int {
	byKey := make(map[manifest.Key]*manifest.Document, len(docs))
	for _, d := range docs {
		byKey[d.Key] = d
	}
	out := make(map[manifest.Key]int, len(docs))
	var visit func(d *manifest.Document) int
	visit = func(d *manifest.Document) int {
		if n, seen := out[d.Key]; seen {
			return n
		}
		out[d.Key] = 0
		steps, _ := d.Spec["steps"].([]any)
		for _, x := range steps {
			step, _ := x.(map[string]any)
			to, _ := step["template"].(manifest.Ref)
			if next := byKey[to.Key]; next != nil {
				out[d.Key] = max(out[d.Key], 1+visit(next))
			}
		}
		return out[d.Key]
	}
	for _, d := range docs {
		visit(d)
	}
	return out
}

func (s *planStep) unbacked(h *serverObjects) manifest.Problems {
	if s.was == nil {
		return manifest.Unbacked(s.doc, nil)
	}
	return manifest.Unbacked(s.doc, h.spec(s.was))
}

// compare plans the step for one document. An object that differs is read again with its tag, so that the differences
// are those of the revision that the update replaces.
func (p *plan) compare(
	ctx context.Context, kind manifest.Kind, d *manifest.Document, secret map[string]any,
) (*planStep, error) {
	s := &planStep{action: actUnchanged, key: d.Key, doc: d, was: p.held.objects[d.Key]}
	if s.was == nil && d.Kind == manifest.Queue { // every queue is there
		s.was = &stored{Key: d.Key, id: d.Name, row: map[string]any{}}
	}
	if s.was == nil {
		s.action, s.secret = actCreate, secret
		s.noteSecret()
		return s, nil
	}
	if err := p.held.members(ctx, s.was); err != nil {
		return nil, err
	}
	if s.was.closed && d.Spec["members"] != nil {
		return nil, d.Problem("spec.members", "this caller may not list the members of %s", d.Key)
	}
	was := p.held.spec(s.was)
	if content, ok := d.Spec["content"].(string); ok && was["content"] == nil &&
		stringField(s.was.row, "digest") == digest(content) {
		was["content"] = content
	}
	fill := p.fills(s, secret)
	if fill || len(manifest.Compare(kind, was, d.Spec)) > 0 {
		if err := p.held.whole(ctx, s.was); err != nil {
			return nil, err
		}
		s.change = manifest.Compare(kind, p.held.spec(s.was), d.Spec)
		if err := p.settleSecrets(ctx, s); err != nil {
			return nil, err
		}
	}
	if fill {
		s.secret = secret
		s.change = append(s.change, manifest.Change{Member: "secret", Lines: []string{"  (a secret value)"}})
	}
	if len(s.change) > 0 {
		s.action = actUpdate
		s.noteSecret()
	}
	return s, nil
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// prune adds the deletions; an object precedes the objects that it names.
func (p *plan) prune(ctx context.Context, drop func(manifest.Key) bool) error {
	kinds := manifest.Kinds()
	slices.Reverse(kinds)
	for _, kind := range kinds {
		var gone []*stored
		for k, o := range p.held.objects {
			if k.Kind == kind.Name && drop(k) && !o.closed && (kind.Name != manifest.Queue || len(p.held.spec(o)) > 0) {
				gone = append(gone, o)
			}
		}
		slices.SortFunc(gone, func(a, b *stored) int { return strings.Compare(a.Org+"\x00"+a.Name, b.Org+"\x00"+b.Name) })
		for _, o := range gone {
			if err := p.held.whole(ctx, o); err != nil {
				return err
			}
			p.steps = append(p.steps, &planStep{action: actDelete, key: o.Key, was: o})
		}
	}
	return nil
}

// perform does one step.
func (p *plan) perform(ctx context.Context, s *planStep) error {
	var err error
	switch s.key.Kind {
	case manifest.Org, manifest.Team:
		err = p.writeGroup(ctx, s)
	case manifest.Grant:
		err = p.writeGrant(ctx, s)
	case manifest.Queue:
		err = p.writeQueue(ctx, s)
	default:
		err = p.write(ctx, s)
	}
	return p.refusal(s, err)
}

// write creates, replaces or deletes an object.
func (p *plan) write(ctx context.Context, s *planStep) error {
	if s.action == actDelete {
		_, _, err := p.held.c.exchange(ctx, http.MethodDelete, objectPath(s.key.Kind, s.was.id), s.was.tag, nil)
		return err
	}
	var old map[string]any
	if s.was != nil {
		old = p.held.spec(s.was)
	}
	body, err := p.body(s, old)
	if err != nil {
		return err
	}
	s.addSecret(body)
	if s.action == actUpdate {
		s.answer, _, err = p.held.c.exchange(ctx, http.MethodPut, objectPath(s.key.Kind, s.was.id), s.was.tag, body)
		return err
	}
	return p.create(ctx, s, body)
}

// create creates an object, which other documents can name then.
func (p *plan) create(ctx context.Context, s *planStep, body map[string]any) (err error) {
	kind, _ := manifest.KindOf(s.key.Kind)
	if s.answer, _, err = p.held.c.exchange(ctx, http.MethodPost, kind.Path, "", body); err == nil {
		p.held.objects[s.key] = &stored{Key: s.key, id: stringField(s.answer, "id"), row: s.answer}
	}
	return err
}

// refusal explains a refused step.
func (p *plan) refusal(s *planStep, err error) error {
	var api *apiError
	if errors.As(err, &api) && api.Status == http.StatusPreconditionFailed {
		return fmt.Errorf(
			"%s: it changed after the comparison and was not overwritten: apply again to see the difference",
			s.key)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", s.action, s.key, err)
	}
	return nil
}
