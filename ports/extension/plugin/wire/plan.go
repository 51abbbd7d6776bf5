package wire

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/writ-automation/writ/ports/extension"
)

func fromPlan(p *extension.Plan) (*Plan, error) {
	if n := len(p.Findings); n > extension.PlanFindings {
		return nil, tooMany(n)
	}
	m := &Plan{Summary: text(p.Summary), Digest: text(p.Digest)}
	for _, f := range p.Findings {
		m.Findings = append(m.Findings,
			&PlanFinding{Resource: text(f.Resource), Action: text(f.Action), Diff: text(f.Diff)})
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	return m, nil
}

// toPlan returns the plan of a message, nil for none.
func toPlan(m *Plan) (*extension.Plan, error) {
	if m == nil {
		return nil, nil //nolint:nilnil // most tools have no plans
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	p := &extension.Plan{Summary: m.GetSummary(), Digest: m.GetDigest()}
	for _, f := range m.GetFindings() {
		p.Findings = append(p.Findings,
			extension.PlanFinding{Resource: f.GetResource(), Action: f.GetAction(), Diff: f.GetDiff()})
	}
	return p, nil
}

// check returns an error for a plan that exceeds a bound or lacks what it needs.
func (m *Plan) check() error {
	if !extension.ValidPlanDigest(m.GetDigest()) {
		return errors.New("the digest of its plan is not 1 to 128 letters, digits and the signs : . _ - + / =")
	}
	if len(m.GetSummary()) > extension.PlanText {
		return tooLong("a summary")
	}
	size := len(m.GetSummary())
	for _, f := range m.GetFindings() {
		switch {
		case f.GetResource() == "" || f.GetAction() == "":
			return errors.New("a finding of its plan has no resource or no action")
		case len(f.GetResource()) > extension.PlanText:
			return tooLong("a resource")
		case len(f.GetAction()) > extension.PlanText:
			return tooLong("an action")
		}
		size += len(f.GetResource()) + len(f.GetAction()) + len(f.GetDiff())
	}
	if size > extension.PlanSize {
		return fmt.Errorf("the texts of its plan have %d bytes, and the limit is %d MiB", size, extension.PlanSize>>20)
	}
	return nil
}

func tooMany(findings int) error {
	return fmt.Errorf("its plan has %d findings, and the limit is %d", findings, extension.PlanFindings)
}

func tooLong(what string) error {
	return fmt.Errorf("its plan has %s of more than %d bytes", what, extension.PlanText)
}

// The numbers of members in the protocol.
const (
	planMember     = 4
	findingsMember = 3
)

// countFindings counts the findings of a report before they take memory.
func countFindings(report []byte) (n int) {
	members(report, planMember, func(plan []byte) {
		members(plan, findingsMember, func([]byte) { n++ })
	})
	return n
}

// members calls f with each member of a message that has the number, up to the first that is unreadable.
func members(message []byte, number protowire.Number, f func([]byte)) {
	for len(message) > 0 {
		got, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return
		}
		message = message[n:]
		if n = protowire.ConsumeFieldValue(got, kind, message); n < 0 {
			return
		}
		if value, whole := protowire.ConsumeBytes(message); got == number && kind == protowire.BytesType && whole > 0 {
			f(value)
		}
		message = message[n:]
	}
}
