package manage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/writ-automation/writ/modules/policy/internal/check"
	"github.com/writ-automation/writ/modules/policy/internal/inforce"
	"github.com/writ-automation/writ/modules/policy/internal/simulate"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/tx"
)

// kind is the name of policies in decisions. Only admins have rights to write them.
const kind = "policy"

// File is the file that is the only source of policies.
type File interface {
	// All returns the policies by name.
	All() []policy.Policy
}

// Params are the dependencies of Policies. File is nil if the store is the source.
type Params struct {
	Kernel      object.Kernel
	Permissions *object.Permissions
	Store       policy.Store
	Set         *inforce.Set
	File        File
	Subjects    Subjects
	Licenses    Licenses
	Past        simulate.Past
}

// Policies implements policy.Policies.
type Policies struct {
	object.Kernel
	p Params
}

var _ policy.Policies = (*Policies)(nil)

// New returns the service for policies.
func New(p Params) *Policies { return &Policies{Kernel: p.Kernel, p: p} }

// prepared refuses a caller who may not write policies, one that is not valid, and a write while a file is the source.
func (s *Policies) prepared(ctx context.Context, p policy.Policy) (policy.Policy, error) {
	err := s.admins(ctx)
	if err == nil {
		p, err = check.Policy(p)
	}
	if err == nil {
		err = s.writable()
	}
	return p, err
}

func (s *Policies) admins(ctx context.Context) error { return s.p.Permissions.CheckOrgs(ctx, kind, "") }

func (s *Policies) writable() error {
	if s.p.File == nil {
		return nil
	}
	return policy.PoliciesInFile.New("the file of --policy-file is the only source of policies")
}

func (s *Policies) Create(ctx context.Context, p policy.Policy) (policy.Policy, error) {
	p, err := s.prepared(ctx, p)
	if err == nil {
		err = s.p.Licenses.features(ctx, p)
	}
	if err == nil {
		err = s.p.Subjects.exist(ctx, p)
	}
	if err != nil {
		return policy.Policy{}, err
	}
	s.Created(ctx, ids.Policy, &p.Record)
	err = s.change(ctx, func(ctx context.Context) error {
		if err := s.p.Store.Insert(ctx, p); err != nil {
			return err
		}
		if err := s.fits(ctx, p); err != nil {
			return err
		}
		return s.record(ctx, audit.PolicyCreate, p)
	})
	if err != nil {
		return policy.Policy{}, err
	}
	s.Logged(ctx, "policy created", p.ID)
	return p, nil
}

// change makes a change in a unit. Units of this process read the policies again after it.
func (s *Policies) change(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.Unit.Do(ctx, func(ctx context.Context) error {
		tx.OnCommit(ctx, s.p.Set.Forget)
		return fn(ctx)
	})
}

// fits refuses a policy that was just written if there are too many now. The unit excludes others that write.
func (s *Policies) fits(ctx context.Context, p policy.Policy) error {
	_, all, err := s.p.Store.List(ctx, policy.Filter{}, page.Window{Limit: 1})
	if err != nil {
		return err
	}
	if all > policy.Max {
		return policy.TooMany.New("an install has at most %d policies", policy.Max)
	}
	if !p.Enabled {
		return nil
	}
	list, _, err := s.p.Store.Enabled(ctx)
	if err != nil {
		return err
	}
	return s.p.Licenses.number(ctx, len(list))
}

func (s *Policies) Get(ctx context.Context, id string) (policy.Policy, error) {
	p, err := s.stored(ctx, id)
	if err != nil {
		return policy.Policy{}, err
	}
	return s.shown(ctx, p)
}

func (s *Policies) stored(ctx context.Context, id string) (policy.Policy, error) {
	if s.p.File == nil {
		return s.p.Store.ByID(ctx, id)
	}
	for _, p := range s.p.File.All() {
		if p.ID == id {
			return p, nil
		}
	}
	return policy.Policy{}, policy.PolicyNotFound.New("no policy %q", id)
}

func (s *Policies) List(ctx context.Context, f policy.Filter, w page.Window) (list []policy.Policy, n int, err error) {
	if s.p.File == nil {
		list, n, err = s.p.Store.List(ctx, f, w)
	} else {
		list, n = some(s.p.File.All(), f, w)
	}
	if err == nil {
		list, err = object.Shown(ctx, list, s.shown)
	}
	return list, n, err
}

// some returns a page of policies that are in memory, and the number of all.
func some(all []policy.Policy, f policy.Filter, w page.Window) ([]policy.Policy, int) {
	found := make([]policy.Policy, 0, len(all))
	for _, p := range all {
		if f.Name == "" || f.Name == p.Name {
			found = append(found, p)
		}
	}
	from := min(max(w.Offset, 0), len(found))
	return found[from:min(from+w.Rows(), len(found))], len(found)
}

// shown returns a policy without the ids of objects that the caller may not read.
func (s *Policies) shown(ctx context.Context, p policy.Policy) (_ policy.Policy, err error) {
	p.Match, err = readable(ctx, s.p.Permissions, p.ID, p.Match)
	return p, err
}

// readable returns a match without the ids of objects that the caller may not read.
func readable(ctx context.Context, p *object.Permissions, owner string, m policy.Match) (policy.Match, error) {
	lists := map[ids.Prefix]*[]string{ids.Inventory: &m.InventoryIDs, ids.Template: &m.TemplateIDs,
		ids.Project: &m.ProjectIDs, ids.Credential: &m.CredentialIDs}
	var refs object.References
	for kind, list := range lists {
		refs = refs.AddList("match", kind, *list)
	}
	hidden, err := p.Hidden(ctx, owner, refs)
	if err != nil || len(hidden) == 0 {
		return m, err
	}
	for _, list := range lists {
		*list = slices.DeleteFunc(slices.Clone(*list), func(id string) bool { return hidden[id] })
	}
	return m, nil
}

func (s *Policies) InForce(ctx context.Context) ([]policy.Policy, string, error) {
	return s.p.Set.Read(ctx)
}

func (s *Policies) Update(
	ctx context.Context, id string, revision int64, p policy.Policy,
) (out policy.Policy, err error) {
	err = s.Retry(ctx, revision, func() error {
		out, err = s.update(ctx, id, revision, p)
		return err
	})
	if err != nil {
		return policy.Policy{}, err
	}
	s.Logged(ctx, "policy changed", id)
	return out, nil
}

// update does not ask the licence for what disables a policy.
func (s *Policies) update(
	ctx context.Context, id string, revision int64, p policy.Policy,
) (out policy.Policy, err error) {
	if p, err = s.prepared(ctx, p); err != nil {
		return out, err
	}
	if p.Enabled {
		if err := s.p.Licenses.features(ctx, p); err != nil {
			return out, err
		}
	}
	was, err := s.p.Store.ByID(ctx, id)
	if err == nil {
		err = object.CheckRevision(revision, was.Record)
	}
	if err == nil {
		err = s.p.Subjects.exist(ctx, added(p, was))
	}
	if err != nil {
		return out, err
	}
	s.Updated(was.Record, &p.Record)
	err = s.change(ctx, func(ctx context.Context) error {
		if out, err = s.p.Store.Update(ctx, p, was.Revision); err != nil {
			return err
		}
		if err := s.fits(ctx, out); err != nil {
			return err
		}
		return s.record(ctx, audit.PolicyUpdate, out)
	})
	return out, err
}

func (s *Policies) Delete(ctx context.Context, id string, revision int64) error {
	err := s.admins(ctx)
	if err == nil {
		err = s.writable()
	}
	if err != nil {
		return err
	}
	err = s.change(ctx, func(ctx context.Context) error {
		was, err := s.p.Store.ByID(ctx, id)
		if err != nil {
			return err
		}
		if err := s.p.Store.Delete(ctx, id, revision); err != nil {
			return err
		}
		return s.Recorder.Record(ctx, object.Deleted(audit.PolicyDelete, was.Record))
	})
	if err == nil {
		s.Logged(ctx, "policy deleted", id)
	}
	return err
}

// record records what a policy does, and the digest of everything that a caller may set.
func (s *Policies) record(ctx context.Context, a audit.Action, p policy.Policy) error {
	content := p
	content.Record = object.Record{Name: p.Name}
	sum, err := digest(content)
	if err != nil {
		return err
	}
	d := object.Detail{"effect": string(p.Effect), "enabled": p.Enabled, "revision": int(p.Revision), "digest": sum}
	return s.Recorder.Record(ctx, object.Entry(a, p.Record, d))
}

func digest(content any) (string, error) {
	text, err := json.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("sum up what a caller set: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}
