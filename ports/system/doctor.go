package system

import "context"

// Severity ranks findings.
type Severity string

// The severities. Only findings of severity Error clear Report.OK.
const (
	Notice  Severity = "info"
	Warning Severity = "warning"
	Error   Severity = "error"
)

// Subject is the subject of a finding; the zero value is the install itself.
type Subject struct{ Kind, ID, Name string }

// Finding describes one problem.
type Finding struct {
	Severity Severity
	Check    string // the name of the check, in snake_case
	Object   Subject
	Problem  string // one sentence
	Fix      string // one sentence with the remedy
	Link     string // a page of the documentation, or a path of the API; empty for none
}

// Examination is the result of one check.
type Examination struct {
	Examined int // the number of examined objects
	Findings []Finding
}

// MaxFindings is the largest number of findings of one check; the last one then contains how many more there are.
const MaxFindings = 100

// Check examines one part of an install. Contexts provide their own in the fx value group CheckGroup. It changes
// nothing, takes a bounded time, and returns an error only if it could not examine.
type Check interface {
	Name() string
	Examine(ctx context.Context) (Examination, error)
}

// CheckGroup is the value group of checks.
const CheckGroup = `group:"checks"`

// Report is the result of all checks. OK means that there is no finding of severity Error. Checked counts the examined
// objects per check.
type Report struct {
	OK       bool
	Findings []Finding // errors first, then warnings, then infos; within one by check and object
	Checked  map[string]int
}

// Doctor examines the install.
type Doctor interface {
	// Examine runs every check with a timeout. A check that could not examine is a finding itself.
	Examine(ctx context.Context) (Report, error)
}
