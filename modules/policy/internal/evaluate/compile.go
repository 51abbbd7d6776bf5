package evaluate

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/policy"
)

// Compiled is an enabled policy, prepared for being compared with many requests. It is not changed once it is made.
type Compiled struct {
	policy policy.Policy
	// playbook is a clean pattern, empty without one.
	playbook                                      string
	tools, inventories, templates, projects       set
	queues, sources, credentials, accounts, teams set
}

// set is a criterion that one member meets. A nil set is no criterion.
type set map[string]struct{}

func setOf[T ~string](list []T) set {
	if len(list) == 0 {
		return nil
	}
	out := make(set, len(list))
	for _, x := range list {
		out[string(x)] = struct{}{}
	}
	return out
}

// admits reports whether the criterion is met by a value.
func (s set) admits(value string) bool {
	if s == nil {
		return true
	}
	_, ok := s[value]
	return ok
}

func (s set) hasOneOf(list []string) bool {
	return slices.ContainsFunc(list, func(x string) bool {
		_, ok := s[x]
		return ok
	})
}

// Compile prepares the enabled policies of a list, in the order of their names. It keeps the lists of the policies.
func Compile(list []policy.Policy) []Compiled {
	out := make([]Compiled, 0, len(list))
	for _, p := range list {
		if !p.Enabled {
			continue
		}
		out = append(out, compile(p))
	}
	slices.SortFunc(out, func(a, b Compiled) int {
		return cmp.Or(strings.Compare(a.policy.Name, b.policy.Name), strings.Compare(a.policy.ID, b.policy.ID))
	})
	return out
}

func compile(p policy.Policy) Compiled {
	c := Compiled{
		policy: p, tools: setOf(p.Match.Tools), inventories: setOf(p.Match.InventoryIDs),
		templates: setOf(p.Match.TemplateIDs), projects: setOf(p.Match.ProjectIDs), queues: setOf(p.Match.Queues),
		sources: setOf(p.Match.Sources), credentials: setOf(p.Match.CredentialIDs),
		accounts: setOf(cutPrefix(p.Actors, "user:")), teams: setOf(cutPrefix(p.Actors, "team:")),
	}
	if p.Match.Playbook != "" {
		c.playbook = path.Clean(p.Match.Playbook)
	}
	return c
}

// cutPrefix returns the rest of the members with a prefix.
func cutPrefix(list []string, prefix string) []string {
	var out []string
	for _, x := range list {
		if rest, ok := strings.CutPrefix(x, prefix); ok {
			out = append(out, rest)
		}
	}
	return out
}
