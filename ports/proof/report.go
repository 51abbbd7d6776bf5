package proof

import (
	"errors"
	"fmt"

	"github.com/writ-automation/writ/ports/proof/keys"
)

// Step is one check. A verification has an order of its own over some of them.
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
		"format", "trust", "signature", "checkpoint", "entries", "heads", "inclusion", "consistency", "from", "known", "anchors", "subject",
		"completeness", "times", "beats", "disclosures", "manifest",
	}[s]
}

// The orders: the first step that fails gives the verdict its reason.
func bundleOrder() []Step {
	return []Step{
		StepFormat, StepTrust, StepCheckpoint, StepEntries, StepHeads, StepInclusion, StepConsistency, StepFrom, StepKnown, StepTimes,
		StepDisclosures, StepManifest,
	}
}

func receiptOrder() []Step {
	return []Step{
		StepFormat, StepTrust, StepSignature, StepCheckpoint, StepEntries, StepInclusion, StepConsistency, StepFrom, StepKnown, StepAnchors,
		StepSubject, StepCompleteness, StepDisclosures, StepTimes,
	}
}

func storeOrder() []Step {
	return []Step{StepTrust, StepCheckpoint, StepEntries, StepHeads, StepFrom, StepKnown, StepTimes, StepBeats, StepDisclosures}
}

// Outcome is how a step ended.
type Outcome struct {
	Result Result
	Reason Reason
	Detail string
}

// Report gathers how the steps ended. A step that was waived does not appear; one of which nothing was heard has
// failed.
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

// Pass notes that a step passed, where it did not fail before.
func (r *Report) Pass(s Step, text string, args ...any) {
	r.set(s, Outcome{Result: Passed, Detail: fmt.Sprintf(text, args...)})
}

// Warn notes that a step passed with a remark, where it did not fail before.
func (r *Report) Warn(s Step, text string, args ...any) {
	r.set(s, Outcome{Result: Warned, Detail: fmt.Sprintf(text, args...)})
}

// PassUnlessWarned notes that a step passed, where nothing was remarked on before.
func (r *Report) PassUnlessWarned(s Step, text string, args ...any) {
	if r.done[s].Result != Warned {
		r.Pass(s, text, args...)
	}
}

// Fail notes that a step failed. The first failure of a step stands.
func (r *Report) Fail(s Step, reason Reason, text string, args ...any) {
	r.set(s, Outcome{Result: Failed, Reason: reason, Detail: fmt.Sprintf(text, args...)})
}

// Refuse fails a step for an error of the packages below.
func (r *Report) Refuse(s Step, err error) {
	var e *keys.Error
	if errors.As(err, &e) {
		r.Fail(s, Reason(e.Code), "%s", e.Text)
		return
	}
	r.Fail(s, FormatInvalid, "%s", err)
}

// Add puts more words behind what is noted of a step.
func (r *Report) Add(s Step, text string, args ...any) {
	r.done[s].Detail += fmt.Sprintf(text, args...)
}

// Failed reports whether the step has failed.
func (r *Report) Failed(s Step) bool { return r.done[s].Result == Failed }

// Passed reports whether the step has passed without a remark.
func (r *Report) Passed(s Step) bool { return r.done[s].Result == Passed }

// Waive leaves a step out of the verdict, where nothing is noted of it and on holds.
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
			if v.Reason == "" {
				v.Reason = o.Reason
			}
		}
	}
}
