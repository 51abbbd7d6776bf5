package proof

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/writ-automation/writ/ports/proof/keys"
)

// Step is one check. Each kind of verification runs some of them in its own order.
type Step int

// The steps.
const (
	StepFormat Step = iota
	StepTrust
	StepSignature
	StepCheckpoint
	StepEntries
	StepHeads
	StepInclusion
	StepConsistency
	StepFrom
	StepKnown
	StepAnchors
	StepSubject
	StepCompleteness
	StepTimes
	StepBeats
	StepDisclosures
	StepManifest
	steps
)

// ID returns the name of the step in a verdict.
func (s Step) ID() string {
	return [steps]string{
		"format", "trust", "signature", "checkpoint", "entries", "heads", "inclusion", "consistency", "from", "known",
		"anchors", "subject",
		"completeness", "times", "beats", "disclosures", "manifest",
	}[s]
}

// The orders: the first failed step sets the reason of the verdict.
func bundleOrder() []Step {
	return []Step{
		StepFormat, StepTrust, StepCheckpoint, StepEntries, StepHeads, StepInclusion, StepConsistency, StepFrom, StepKnown,
		StepTimes,
		StepDisclosures, StepManifest,
	}
}

func receiptOrder() []Step {
	return []Step{
		StepFormat, StepTrust, StepSignature, StepCheckpoint, StepEntries, StepInclusion, StepConsistency, StepFrom,
		StepKnown, StepAnchors,
		StepSubject, StepCompleteness, StepDisclosures, StepTimes,
	}
}

func storeOrder() []Step {
	return []Step{StepTrust, StepCheckpoint, StepEntries, StepHeads, StepFrom, StepKnown, StepTimes, StepBeats,
		StepDisclosures}
}

// Outcome is the result of a step.
type Outcome struct {
	Result Result
	Reason Reason
	Detail string
}

// Report holds the outcomes of the steps. A waived step is left out; any other step without an outcome has failed.
type Report struct {
	order  []Step
	done   [steps]Outcome
	waived [steps]bool
}

// OfBundle returns the report of a bundle.
func OfBundle() Report { return Report{order: bundleOrder()} }

// OfReceipt returns the report of a receipt.
func OfReceipt() Report { return Report{order: receiptOrder()} }

// OfStore returns the report of a stored chain.
func OfStore() Report { return Report{order: storeOrder()} }

func (r *Report) set(s Step, o Outcome) {
	if r.done[s].Result != Failed {
		r.done[s] = o
	}
}

// Pass records that a step passed, unless it failed before.
func (r *Report) Pass(s Step, text string, args ...any) {
	r.set(s, Outcome{Result: Passed, Detail: fmt.Sprintf(text, args...)})
}

// Warn records that a step passed with a remark, unless it failed before.
func (r *Report) Warn(s Step, text string, args ...any) {
	r.set(s, Outcome{Result: Warned, Detail: fmt.Sprintf(text, args...)})
}

// PassUnlessWarned records that a step passed, unless it failed or has a remark.
func (r *Report) PassUnlessWarned(s Step, text string, args ...any) {
	if r.done[s].Result != Warned {
		r.Pass(s, text, args...)
	}
}

// Fail records that a step failed. The first failure of a step is kept.
func (r *Report) Fail(s Step, reason Reason, text string, args ...any) {
	r.set(s, Outcome{Result: Failed, Reason: reason, Detail: fmt.Sprintf(text, args...)})
}

// Refuse fails a step with an error of the packages below.
func (r *Report) Refuse(s Step, err error) {
	var e *keys.Error
	if errors.As(err, &e) {
		r.Fail(s, Reason(e.Code), "%s", e.Text)
		return
	}
	r.Fail(s, FormatInvalid, "%s", err)
}

// Add appends text to the detail of a step.
func (r *Report) Add(s Step, text string, args ...any) {
	r.done[s].Detail += fmt.Sprintf(text, args...)
}

// Failed reports whether the step has failed.
func (r *Report) Failed(s Step) bool { return r.done[s].Result == Failed }

// Passed reports whether the step has passed without a remark.
func (r *Report) Passed(s Step) bool { return r.done[s].Result == Passed }

// Waive sets whether a step without an outcome is left out of the verdict.
func (r *Report) Waive(s Step, on bool) { r.waived[s] = on }

// Finish writes the checks into the verdict, in their order.
func (r *Report) Finish(v *Verdict) {
	v.OK = true
	for _, s := range r.order {
		o := r.done[s]
		if o.Result == "" && r.waived[s] {
			continue
		}
		if o.Result == "" {
			o = Outcome{Result: Failed, Detail: "not reached"}
		}
		v.Checks = append(v.Checks, Check{ID: s.ID(), Result: o.Result, Detail: o.Detail})
		if o.Result == Failed {
			v.OK = false
			v.Reason = cmp.Or(v.Reason, o.Reason)
		}
	}
}
