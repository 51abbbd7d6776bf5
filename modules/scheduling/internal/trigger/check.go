package trigger

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/scheduling"
)

const (
	maxBranch = 255 // characters
	maxEvents = 20
)

var event = lazyregexp.New(`^[a-z_]{1,64}$`)

// check checks the fields that a caller sets. Invalid faults name template_id, branch or events[i]. A malformed
// template id counts as a missing template.
func check(x *scheduling.Trigger) error {
	switch {
	case x.TemplateID == "":
		return fault.BadField("template_id", "is required")
	case !ids.Valid(ids.Template, x.TemplateID):
		return template(x).Missing()
	case x.Branch != "" && !Branch(x.Branch):
		return fault.BadField("branch", "is not the name of a branch")
	case len(x.Events) > maxEvents:
		return fault.BadField("events", "has more than %d members", maxEvents)
	}
	for i, name := range x.Events {
		at := fmt.Sprintf("events[%d]", i)
		if !event.MatchString(name) {
			return fault.BadField(at, "expected the name of an event, such as push, tag_push or pull_request")
		}
		if slices.Contains(x.Events[:i], name) {
			return fault.BadField(at, "is named before")
		}
	}
	return nil
}

// Branch reports whether git accepts a name as a branch.
func Branch(name string) bool {
	switch {
	case name == "" || !object.Line(name, maxBranch),
		strings.ContainsAny(name, " ~^:?*[\\\x7f"), strings.ContainsFunc(name, func(r rune) bool { return r == '\uFFFD' }),
		strings.Contains(name, ".."), strings.Contains(name, "//"), strings.Contains(name, "@{"), name == "@",
		strings.HasPrefix(name, "-"), strings.HasPrefix(name, "/"), strings.HasSuffix(name, "/"),
		strings.HasSuffix(name, "."):
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}
