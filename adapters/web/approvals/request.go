package approvals

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// The bounds of a request: the earlier runs of its source that are searched, the decisions among them that are shown,
// the names of a list, and the hosts that are named.
const (
	maxEarlier   = 20
	maxDecisions = 5
	maxNames     = 8
	maxHosts     = 200
)

// request is what the page of a held run shows.
type request struct {
	run      *runs.Run
	held     bool
	digest   string
	changed  []string // what has changed since it was held
	hosts    hostView
	preview  *runs.Preview
	changes  changeView
	plan     *shell.Plan // nil for a run that applies none
	place    string      // the name of the inventory
	version  string      // the digest of its content
	project  string
	approved *runs.Run          // the last approved run of the same source
	log      *catalog.CommitLog // what the commit has that the one of approved lacks; nil if it is not known
	earlier  []*runs.Run
	holds    []holdView
	// may reports whether the viewer may decide; why says why not.
	may bool
	why string
	// checkable reports whether the viewer may ask for a dry run.
	checkable bool
}

// hostView is what is known of the hosts of a request before it runs.
type hostView struct {
	names             []string
	unknown, none     bool // there may be others; it is a script without hosts
	groups            []shell.GroupCount
	before            *runs.Run // the last run of the same source that touched hosts
	added, gone, fell []string  // against before; fell are those that failed there
}

// holdView is a hold with the people who decide about it.
type holdView struct {
	runs.Hold
	given int
	who   string
}

func (h *handlers) request(r *shell.Request, id string) (*request, error) {
	ctx := r.Context()
	run, err := h.Runs.Get(ctx, id)
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	v := &request{run: run, held: run.Status == runs.PendingApproval, preview: run.Preview}
	if err := h.source(ctx, v); err != nil {
		return nil, err
	}
	if run.Spec.PlanDigest != "" && h.Plans != nil {
		if v.plan, err = shell.PlanOf(h.Plans.Plan(ctx, run.ID)); err != nil {
			return nil, err //nolint:wrapcheck // a fault
		}
	}
	h.material(ctx, v)
	if a := run.Approvals; a != nil {
		if a.Current != nil {
			v.digest, v.changed = a.Current.Digest(), a.Parts.Changed(a.Current)
		}
		if err := h.decide(r, v); err != nil {
			return nil, err
		}
	}
	v.checkable = r.Viewer.Admin() || requested(run, r.Viewer.ID)
	if v.preview != nil && v.preview.Status != "" {
		if v.changes, err = h.previewed(ctx, v.preview.RunID); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// source reads the earlier runs of the same source: their decisions, the last approved one, and the hosts of the last
// one that touched any.
func (h *handlers) source(ctx context.Context, v *request) error {
	if v.run.Spec.TemplateID != "" {
		list, err := h.Runs.List(ctx, runs.Filter{Templates: []string{v.run.Spec.TemplateID}, Limit: maxEarlier})
		if err != nil {
			return err //nolint:wrapcheck // a fault
		}
		for _, x := range list.Runs {
			if x.ID == v.run.ID || x.CreatedAt.After(v.run.CreatedAt) {
				continue
			}
			if v.hosts.before == nil && x.HostsTouched > 0 && x.Status.Terminal() {
				v.hosts.before = x
			}
			if x.Decision == nil {
				continue
			}
			if v.approved == nil && x.Decision.Verdict == runs.Approved {
				v.approved = x
			}
			if len(v.earlier) < maxDecisions {
				v.earlier = append(v.earlier, x)
			}
		}
	} else if c, err := h.Runs.Compare(ctx, v.run.ID, "prev"); err == nil && c.Baseline.HostsTouched > 0 {
		v.hosts.before = c.Baseline // a run without one has nothing to compare
	}
	return h.reach(ctx, v)
}

// reach compares the hosts that the run would reach with those of the run before it.
func (h *handlers) reach(ctx context.Context, v *request) error {
	a := v.run.Approvals
	if a == nil || a.Reach == nil {
		return nil
	}
	x := &v.hosts
	x.names, x.unknown = a.Reach.Hosts, a.Reach.Unknown
	x.none = len(x.names) == 0 && !x.unknown
	if s := v.run.Spec; s.InventoryID != "" && len(s.LimitHosts) == 0 && !x.unknown {
		if found, err := h.Inventories.Resolve(ctx, s.InventoryID, s.Limit); err == nil { // its count is known without groups
			x.groups = shell.Groups(ctx, h.Inventories, s.InventoryID, s.Limit, found)
		}
	}
	if x.before == nil || x.none {
		return nil
	}
	list, err := h.Runs.Hosts(ctx, x.before.ID)
	if err != nil {
		return err //nolint:wrapcheck // a fault
	}
	was := map[string]bool{}
	for _, host := range list {
		was[host.Host] = true
		_, stays := slices.BinarySearch(x.names, host.Host)
		switch {
		case !stays && !x.unknown:
			x.gone = append(x.gone, host.Host)
		case stays && (host.Worst == runs.HostFailed || host.Worst == runs.HostUnreachable):
			x.fell = append(x.fell, host.Host)
		}
	}
	for _, name := range x.names {
		if !was[name] {
			x.added = append(x.added, name)
		}
	}
	return nil
}

// material reads the names of what the run uses. What the viewer may not read stays an id.
func (h *handlers) material(ctx context.Context, v *request) {
	if id := v.run.Spec.InventoryID; id != "" {
		v.place = id
		if i, err := h.Inventories.Get(ctx, id); err == nil {
			v.place, v.version = i.Name, i.Digest
		}
	}
	if id := v.run.Spec.ProjectID; id != "" {
		v.project = id
		if p, err := h.Projects.Get(ctx, id); err == nil {
			v.project = p.Name
		}
		v.log = h.log(ctx, v)
	}
}

// logTime bounds the wait for a commit log: a server that has not mirrored the commit yet fetches it.
const logTime = 2 * time.Second

// log compares the commit with that of the last approved run.
func (h *handlers) log(ctx context.Context, v *request) *catalog.CommitLog {
	if v.approved == nil || v.approved.Commit == "" || v.run.Commit == "" || v.approved.Commit == v.run.Commit {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, logTime)
	defer cancel()
	l, err := h.Commits.Commits(ctx, v.run.Spec.ProjectID, v.approved.Commit, v.run.Commit)
	if err != nil {
		return nil // the page names both commits
	}
	return &l
}

// decide reads who may decide, and whether the viewer is among them. It follows what the API decides, so that no button
// is offered that it would refuse.
func (h *handlers) decide(r *shell.Request, v *request) error {
	me, err := h.Self.Me(r.Context())
	if err != nil {
		return err //nolint:wrapcheck // a fault
	}
	own := requested(v.run, r.Viewer.ID)
	asked := false
	for i, hold := range v.run.Approvals.Holds {
		x := holdView{Hold: hold, given: v.run.Approvals.For(i), who: h.deciders(r.Context(), hold)}
		v.holds = append(v.holds, x)
		member := slices.ContainsFunc(me.Teams, func(t identity.Team) bool { return slices.Contains(hold.Teams, t.ID) })
		switch {
		case len(hold.Teams) > 0 && !member, len(hold.Teams) == 0 && !r.Viewer.Admin():
		case hold.Distinct && own:
			asked = true
		default:
			v.may = true
		}
	}
	given := slices.ContainsFunc(v.run.Approvals.Of(v.digest),
		func(a runs.Approval) bool { return a.By.ID == r.Viewer.ID })
	who := decidersText(v.holds)
	switch {
	case r.Viewer.ReadOnly:
		v.may, v.why = false, readOnlyText
	case v.run.Approvals.Awaiting():
		v.may, v.why = false, refreshingText
	case given && r.Viewer.ID != "":
		v.may, v.why = false, givenText
	case !v.may && asked:
		v.why = ownText + " " + h.others(r, v, who)
	case !v.may:
		v.why = notYoursText + " " + who
	}
	return nil
}

// deciders names who decides about a hold.
func (h *handlers) deciders(ctx context.Context, hold runs.Hold) string {
	if len(hold.Teams) == 0 {
		return adminsText
	}
	var names []string
	for _, id := range hold.Teams[:min(len(hold.Teams), maxNames)] {
		name := id
		if t, err := h.Teams.Get(ctx, id); err == nil { // a deleted team keeps its id
			name = t.Name
		}
		names = append(names, name)
	}
	return teamsText(names)
}

// others names the people who may decide in place of the one who asked.
func (h *handlers) others(r *shell.Request, v *request, who string) string {
	var names []string
	for _, hold := range v.run.Approvals.Holds {
		for _, id := range hold.Teams {
			members, _, err := h.Teams.Members(r.Context(), id, page.Window{Limit: maxNames + 1})
			if err != nil {
				return who
			}
			for _, m := range members {
				names = append(names, m.Username)
			}
		}
		if len(hold.Teams) > 0 {
			continue
		}
		list, _, err := h.Accounts.List(r.Context(), page.Window{Limit: maxHosts})
		if err != nil {
			return who
		}
		for _, a := range list {
			if a.Role == identity.Admin {
				names = append(names, a.Username)
			}
		}
	}
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(n string) bool { return n == r.Viewer.Name })
	if len(names) == 0 {
		return nobodyText
	}
	return mayText(names[:min(len(names), maxNames)], len(names))
}

// inputs are the variables of the run that are shown, without secrets, by name.
func inputs(r *runs.Run) [][2]string {
	var out [][2]string
	for name, raw := range r.Vars.Redact() {
		out = append(out, [2]string{name, strings.Trim(string(raw), `"`)})
	}
	slices.SortFunc(out, func(a, b [2]string) int { return cmp.Compare(a[0], b[0]) })
	return out
}
