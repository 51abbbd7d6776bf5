package check

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

// The bounds of a policy. Texts are counted in characters.
const (
	maxItems     = 100
	maxTool      = 100
	maxCommand   = 1000
	maxPlaybook  = 1000
	maxLabel     = 255
	maxMessage   = 500
	maxHosts     = 1 << 30
	maxApprovals = 10
)

var (
	labelKey = lazyregexp.New(`^[a-z0-9][a-z0-9._/-]{0,62}$`)
	queue    = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}$`)
)

// sources are those that a request can have.
func sources() []runs.Source {
	return []runs.Source{runs.FromAPI, runs.FromTemplate, runs.FromSchedule, runs.FromTrigger, runs.FromRerun,
		runs.FromRetry, runs.FromRelaunch, runs.FromReconcile, runs.FromProposal, runs.FromImport, runs.FromPlan}
}

// Policy returns a policy with its defaults. An Invalid fault names the first field that is wrong. Whether what the
// policy names exists is not checked.
func Policy(p policy.Policy) (policy.Policy, error) {
	name, err := object.Name(p.Name)
	if p.Name, p.Org = name, ""; err != nil {
		return policy.Policy{}, err
	}
	for _, check := range []func(*policy.Policy) error{effect,
		func(p *policy.Policy) error { return match(&p.Match) }, affected} {
		if err := check(&p); err != nil {
			return policy.Policy{}, err
		}
	}
	return p, nil
}

// effect checks what the policy does. Who decides is a matter of policies that hold.
func effect(p *policy.Policy) error {
	switch p.Effect {
	case policy.Deny:
		for _, m := range []struct {
			field string
			set   bool
		}{{"approvals_needed", p.ApprovalsNeeded != 0}, {"approver_teams", len(p.ApproverTeams) > 0},
			{"distinct_approver", p.DistinctApprover}} {
			if m.set {
				return fault.BadField(m.field, "is only for the effect %s", policy.RequireApproval)
			}
		}
	case policy.RequireApproval:
		p.ApprovalsNeeded = cmp.Or(p.ApprovalsNeeded, 1)
		if p.ApprovalsNeeded < 1 || p.ApprovalsNeeded > maxApprovals {
			return fault.BadField("approvals_needed", "expected 1 to %d", maxApprovals)
		}
	default:
		return fault.NoneOf("effect", p.Effect, policy.RequireApproval, policy.Deny)
	}
	if !text(p.Message, maxMessage) {
		return fault.BadField("message", "expected at most %d characters, without control characters", maxMessage)
	}
	return list("approver_teams", p.ApproverTeams, idOf(ids.Team))
}

// affected checks whose requests the policy is about.
func affected(p *policy.Policy) error {
	if p.RiskAtLeast != "" && !slices.Contains(runs.RiskLevels(), p.RiskAtLeast) {
		return fault.NoneOf("risk_at_least", p.RiskAtLeast, runs.RiskLevels()...)
	}
	return list("actors", p.Actors, func(subject string) string {
		if kind, id, ok := identity.SubjectID(subject); ok && ids.Valid(kind, id) {
			return ""
		}
		return "expected user:<id> or team:<id>"
	})
}

func match(m *policy.Match) error {
	for _, err := range []error{
		list("match.tools", m.Tools, func(s string) string {
			if s != "" && object.Line(s, maxTool) {
				return ""
			}
			return fmt.Sprintf("expected 1 to %d characters on one line", maxTool)
		}),
		list("match.inventory_ids", m.InventoryIDs, idOf(ids.Inventory)),
		list("match.template_ids", m.TemplateIDs, idOf(ids.Template)),
		list("match.project_ids", m.ProjectIDs, idOf(ids.Project)),
		list("match.credential_ids", m.CredentialIDs, idOf(ids.Credential)),
		list("match.queues", m.Queues, func(s string) string {
			if queue.MatchString(s) {
				return ""
			}
			return "is not the name of a queue"
		}),
		list("match.sources", m.Sources, func(s runs.Source) string {
			if slices.Contains(sources(), s) {
				return ""
			}
			return fmt.Sprintf("expected one of %v", sources())
		}),
		labels(m.Labels), number("match.hosts_over", m.HostsOver, maxHosts),
		number("match.inventory_share_over", m.InventoryShareOver, 100),
	} {
		if err != nil {
			return err
		}
	}
	if !text(m.CommandContains, maxCommand) {
		return fault.BadField("match.command_contains", "expected at most %d characters, without control characters",
			maxCommand)
	}
	if _, err := path.Match(m.Playbook, ""); err != nil || !object.Line(m.Playbook, maxPlaybook) {
		return fault.BadField("match.playbook", "expected a pattern of at most %d characters on one line", maxPlaybook)
	}
	return nil
}

// text reports whether s is of at most limit characters and without control characters but line breaks and tabs.
func text(s string, limit int) bool {
	return utf8.RuneCountInString(s) <= limit && object.Line(strings.NewReplacer("\n", "", "\t", "").Replace(s), limit)
}

// list refuses a list that is too long, names an item twice, or has an item in which wrong finds something.
func list[T comparable](field string, all []T, wrong func(T) string) error {
	if len(all) > maxItems {
		return fault.BadField(field, "has more than %d members", maxItems)
	}
	for i, item := range all {
		message := wrong(item)
		if message == "" && slices.Contains(all[:i], item) {
			message = "is named before"
		}
		if message != "" {
			return fault.BadField(fmt.Sprintf("%s[%d]", field, i), "%s", message)
		}
	}
	return nil
}

func idOf(kind ids.Prefix) func(string) string {
	return func(id string) string {
		if ids.Valid(kind, id) {
			return ""
		}
		return "expected an id that begins with " + string(kind)
	}
}

func labels(all map[string]string) error {
	if len(all) > maxItems {
		return fault.BadField("match.labels", "has more than %d members", maxItems)
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		switch {
		case !labelKey.MatchString(key):
			return fault.BadField("match.labels", "%q is not the key of a label", key)
		case !object.Line(all[key], maxLabel):
			return fault.BadField("match.labels."+key, "expected at most %d characters on one line", maxLabel)
		}
	}
	return nil
}

func number(field string, n *int, most int) error {
	if n == nil || *n >= 0 && *n <= most {
		return nil
	}
	return fault.BadField(field, "expected 0 to %d", most)
}
