package system

import "context"

// Severity ranks findings.
type Severity string

// The severities. Only errors make an install unwell.
const (
	Notice  Severity = "info"
	Warning Severity = "warning"
	Error   Severity = "error"
)

// Subject is what a finding is about; the zero value is the install itself.
type Subject struct{ Kind, ID, Name string }

// Finding tells of one thing that is not as it should be.
type Finding struct {
	Severity Severity
	Check    string // the name of the check, in snake_case
	Object   Subject
	Problem  string // one sentence
	Fix      string // one sentence: what to do about it
	Link     string // a page of the documentation, or a path of the API; empty for none
}

// Examination is what one check looked at and found.
type Examination struct {
	Examined int // how many things were looked at
	Findings []Finding
}

// MaxFindings is how many findings one check tells; the last one then says how many more there are.
const MaxFindings = 100

// Check looks at one side of an install. Contexts provide their own, in the fx value group CheckGroup. It changes
// nothing, takes a bounded time, and returns an error only where it could not look.
type Check interface {
	Name() string
	Examine(ctx context.Context) (Examination, error)
}

// CheckGroup is the value group of checks.
const CheckGroup = `group:"checks"`

// Report is what the doctor says. OK means that there is no finding of severity Error. Checked counts what each check
// looked at.
type Report struct {
	OK       bool
	Findings []Finding // errors first, then warnings, then infos; within one by check and object
	Checked  map[string]int
}

// Doctor examines the install.
type Doctor interface {
	// Examine runs every check, each within a bound of time. A check that could not look is a finding itself.
	Examine(ctx context.Context) (Report, error)
}
