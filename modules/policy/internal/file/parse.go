package file

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/writ-automation/writ/modules/policy/internal/check"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

// author is the creator of policies in a file.
const author = "policy_file"

// entry is a policy in the file, with the members of the API's body.
type entry struct {
	Name             string         `json:"name"`
	Effect           policy.Effect  `json:"effect"`
	Enabled          *bool          `json:"enabled"`
	Match            policy.Match   `json:"match"`
	ExcludeDryRun    bool           `json:"exclude_dry_run"`
	RiskAtLeast      runs.RiskLevel `json:"risk_at_least"`
	Actors           []string       `json:"actors"`
	DistinctApprover bool           `json:"distinct_approver"`
	Message          string         `json:"message"`
	ApprovalsNeeded  int            `json:"approvals_needed"`
	ApproverTeams    []string       `json:"approver_teams"`
}

// parse reads a file that was changed at a time, and returns its policies by name. An Invalid fault names the field.
func parse(text []byte, changed time.Time) ([]policy.Policy, error) {
	if len(text) > policy.MaxFile {
		return nil, fault.BadField("policies", "the file has more than %d bytes", policy.MaxFile)
	}
	var doc map[string]any
	d := yaml.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&doc); err != nil {
		return nil, errors.New(strings.ReplaceAll(strings.TrimPrefix(err.Error(), "yaml: "), "\n", " "))
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, errors.New("has more than one document")
	}
	if key := unknown(doc, map[string]bool{"policies": true}); key != "" {
		return nil, fault.BadField(key, "is not a member")
	}
	rows, ok := doc["policies"].([]any)
	if !ok {
		return nil, fault.BadField("policies", "expected a list")
	}
	if len(rows) > policy.Max {
		return nil, fault.BadField("policies", "has more than %d members", policy.Max)
	}
	out, seen := make([]policy.Policy, 0, len(rows)), map[string]bool{}
	for i, row := range rows {
		at := fmt.Sprintf("policies[%d]", i)
		p, err := one(row, changed)
		switch {
		case err != nil:
			return nil, below(at, err)
		case seen[p.Name]:
			return nil, fault.BadField(at+".name", "the name %q is taken", p.Name)
		}
		seen[p.Name] = true
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b policy.Policy) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

func one(row any, changed time.Time) (policy.Policy, error) {
	members, ok := row.(map[string]any)
	if !ok {
		return policy.Policy{}, errors.New("expected an object")
	}
	if key := unknown(members, membersOf[entry]()); key != "" {
		return policy.Policy{}, fault.BadField(key, "is not a member")
	}
	if match, ok := members["match"].(map[string]any); ok {
		if key := unknown(match, membersOf[policy.Match]()); key != "" {
			return policy.Policy{}, fault.BadField("match."+key, "is not a member")
		}
	}
	text, err := json.Marshal(members)
	if err != nil {
		return policy.Policy{}, errors.New("expected texts as names of members")
	}
	var e entry
	if err := json.Unmarshal(text, &e); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return policy.Policy{}, fault.BadField(wrong.Field, "expected %s, not %s", noun(wrong.Type), wrong.Value)
		}
		return policy.Policy{}, err
	}
	p, err := check.Policy(policy.Policy{
		Record: object.Record{Name: e.Name, CreatedBy: author, CreatedAt: changed, UpdatedAt: changed,
			Revision: max(1, changed.Unix())},
		Effect: e.Effect, Enabled: e.Enabled == nil || *e.Enabled, Match: e.Match, ExcludeDryRun: e.ExcludeDryRun,
		RiskAtLeast: e.RiskAtLeast, Actors: e.Actors, DistinctApprover: e.DistinctApprover, Message: e.Message,
		ApprovalsNeeded: e.ApprovalsNeeded, ApproverTeams: e.ApproverTeams,
	})
	p.ID = idOf(p.Name)
	return p, err
}

// idLetters are those of ids.
const idLetters = "0123456789abcdefghjkmnpqrstvwxyz"

// idOf derives an id from a name, so that runs and clients know the policy after the next start.
func idOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return string(ids.Policy) + base32.NewEncoding(idLetters).WithPadding(base32.NoPadding).EncodeToString(sum[:])[:26]
}

// unknown returns the first member, by name, that is not known.
func unknown(members map[string]any, known map[string]bool) string {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !known[name] {
			return name
		}
	}
	return ""
}

// membersOf returns the names of the members of T in JSON.
func membersOf[T any]() map[string]bool {
	out := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		out[name] = true
	}
	return out
}

func noun(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a number"
	default:
		return "a text"
	}
}

// below returns an error about a part of the file with its path.
func below(at string, err error) error {
	var f *fault.Error
	if !errors.As(err, &f) || len(f.Fields) == 0 {
		return fault.BadField(at, "%s", err.Error())
	}
	return fault.BadField(at+"."+f.Fields[0].Location, "%s", f.Fields[0].Message)
}
