package main

import (
	"bytes"
	"cmp"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/extension"
)

// document is what "tofu show -json" prints of a plan.
type document struct {
	Resources     []resource        `json:"resource_changes"`
	Outputs       map[string]change `json:"output_changes"`
	Configuration any               `json:"configuration"`
}

type resource struct {
	Address  string `json:"address"`
	Previous string `json:"previous_address"`
	Deposed  string `json:"deposed"`
	Mode     string `json:"mode"`
	Change   change `json:"change"`
}

// change is how a resource or an output would change. The marks of sensitive and unknown values have the form of the
// values, with true where the whole value is marked.
type change struct {
	Actions         []string `json:"actions"`
	Before          any      `json:"before"`
	After           any      `json:"after"`
	Unknown         any      `json:"after_unknown"`
	BeforeSensitive any      `json:"before_sensitive"`
	AfterSensitive  any      `json:"after_sensitive"`
	ReplacePaths    any      `json:"replace_paths"`
	Importing       any      `json:"importing"`
}

// readPlan returns the plan of what "tofu show -json" printed.
func readPlan(text []byte) (*extension.Plan, error) {
	var d document
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	if err := in.Decode(&d); err != nil {
		return nil, fmt.Errorf("the plan is unreadable: %w", err)
	}
	hidden := d.secrets()
	d.Resources = slices.DeleteFunc(d.Resources, func(r resource) bool { return r.action() == "" })
	slices.SortFunc(d.Resources, func(a, b resource) int { return cmp.Compare(a.name(), b.name()) })
	for name, c := range d.Outputs {
		if c.action() == "" {
			delete(d.Outputs, name)
		}
	}
	digest, err := d.digest()
	if err != nil {
		return nil, err
	}
	findings := d.findings(hidden)
	return &extension.Plan{Summary: summary(findings), Digest: digest, Findings: findings}, nil
}

// action returns what would be done to a resource, empty for nothing. Data that is read is no change.
func (r resource) action() string {
	switch done := r.Change.action(); {
	case r.Mode != "managed":
		return ""
	case done != "":
		return done
	case r.Change.Importing != nil:
		return "import"
	case r.Previous != "" && r.Previous != r.Address:
		return "move"
	default:
		return ""
	}
}

func (c change) action() string {
	switch done := strings.Join(c.Actions, " and "); done {
	case "no-op", "read":
		return ""
	case "delete and create", "create and delete":
		return "replace"
	default:
		return done
	}
}

// name returns the address of a resource, also for what is left of one that was replaced.
func (r resource) name() string {
	if r.Deposed != "" {
		return r.Address + " (deposed " + r.Deposed + ")"
	}
	return r.Address
}

// findings lists the changes, outputs after resources. What is hidden is in no diff.
func (d document) findings(hidden []string) []extension.PlanFinding {
	var out []extension.PlanFinding
	left := extension.PlanSize / 2
	add := func(name, action, diff string) {
		if left -= len(diff); left < 0 {
			diff = "The log shows the rest of the changes."
		}
		out = append(out, extension.PlanFinding{Resource: name, Action: action, Diff: diff})
	}
	for _, r := range d.Resources {
		diff := r.Change.diff(hidden)
		if r.Previous != "" {
			diff = strings.TrimSuffix("moved from "+r.Previous+"\n"+diff, "\n")
		}
		add(r.name(), r.action(), diff)
	}
	for _, name := range sorted(d.Outputs) {
		add("output."+name, d.Outputs[name].action(), d.Outputs[name].diff(hidden))
	}
	return out
}

// summary counts the actions: "1 to create, 2 to update".
func summary(findings []extension.PlanFinding) string {
	count := map[string]int{}
	for _, f := range findings {
		count[f.Action]++
	}
	if len(count) == 0 {
		return "nothing to change"
	}
	var parts []string
	for _, action := range sorted(count) {
		parts = append(parts, fmt.Sprintf("%d to %s", count[action], action))
	}
	return strings.Join(parts, ", ")
}

// rounds makes a guess of a sensitive value take a part of a second.
const rounds = 600_000

// digest names the changes and the configuration, whose provisioners are no part of the changes. It has no time and
// nothing else that differs between two plans for the same state. If a value is sensitive, the digest is one of those
// for passwords, since everybody who sees the run may compare it with guesses.
func (d document) digest() (string, error) {
	text, err := json.Marshal(d) // keys are in order
	if err != nil {
		return "", err
	}
	if !slices.ContainsFunc(d.Resources, func(r resource) bool { return r.Change.sensitive() }) &&
		!slices.ContainsFunc(sorted(d.Outputs), func(name string) bool { return d.Outputs[name].sensitive() }) {
		sum := sha256.Sum256(text)
		return "sha256:" + hex.EncodeToString(sum[:]), nil
	}
	key, err := pbkdf2.Key(sha256.New, string(text), []byte("plan of OpenTofu"), rounds, sha256.Size)
	return "pbkdf2-sha256:" + hex.EncodeToString(key), err
}

// secrets returns the sensitive values of all resources and outputs, as diffs show them. A copy of one that OpenTofu
// does not know to be sensitive, as in an attribute that a provider computes, is hidden by them.
func (d document) secrets() (out []string) {
	for _, r := range d.Resources {
		out = append(out, r.Change.secrets()...)
	}
	for _, c := range d.Outputs {
		out = append(out, c.secrets()...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (c change) secrets() []string {
	return append(leaves(c.Before, c.BeforeSensitive, nil), leaves(c.After, c.AfterSensitive, nil)...)
}

func (c change) sensitive() bool { return marked(c.BeforeSensitive) || marked(c.AfterSensitive) }
