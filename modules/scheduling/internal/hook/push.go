package hook

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/runs"
)

// Variable is the name of the variable with the push.
const Variable = "writ_push"

const (
	branchPrefix = "refs/heads/"
	maxMember    = 512 // characters
)

var (
	refForm    = lazyregexp.New(`^refs/[A-Za-z0-9][A-Za-z0-9._/+@#-]{0,250}$`)
	commitForm = lazyregexp.New(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
)

// push is the part of a delivery that a run gets. Fields that a forge does not send are empty.
type push struct {
	Ref        string `json:"ref"`
	Branch     string `json:"branch"`
	Commit     string `json:"commit"`
	Repository string `json:"repository"`
	Pusher     string `json:"pusher"`
}

// pushEvent is a push and the fields that decide whether the trigger fires.
type pushEvent struct {
	push
	targetBranch string // the pushed branch, or the target of a merge request
	deleted      bool
}

// pushes reports whether an event is a push to a branch or of a tag.
func pushes(event string) bool { return event == "push" || event == "tag_push" }

// read returns the checked fields of an event in a body. Invalid faults name the field as in the variable.
func (p *payload) read(event string) (pushEvent, error) {
	if pushes(event) {
		return p.readPush()
	}
	var out pushEvent
	ref, sha, onto := p.request()
	if ref.present {
		ref.s = branchPrefix + ref.s
	}
	err := out.take(ref, sha, first(p.Repository.v.FullName, p.Project.v.Path), first(p.Sender.v.Login, p.User.v.Username))
	if err != nil {
		return pushEvent{}, err
	}
	if onto.present && !onto.wrong {
		out.targetBranch = onto.s
	}
	return out, nil
}

// request returns the ends of a merge request.
func (p *payload) request() (ref, sha, onto text) {
	pull, merge := &p.PullRequest.v, &p.Attributes.v
	return first(pull.Head.v.Ref, merge.Source), first(pull.Head.v.SHA, merge.Last.v.ID),
		first(pull.Base.v.Ref, merge.Target)
}

func (p *payload) readPush() (pushEvent, error) {
	if !p.Ref.present || p.Ref.wrong {
		return pushEvent{}, fault.BadField("ref", "a push names its ref")
	}
	commit := first(p.Checkout, p.After)
	if strings.HasPrefix(p.Ref.s, "refs/tags/") {
		// An annotated tag is an object of its own that refers to the commit.
		commit = first(p.Checkout, p.HeadCommit.v.ID, p.After)
	}
	var out pushEvent
	err := out.take(p.Ref, commit, first(p.Repository.v.FullName, p.Project.v.Path),
		first(p.Pusher.v.Login, p.Pusher.v.Username, p.UserName, p.Pusher.v.Name, p.Sender.v.Login))
	if err != nil {
		return pushEvent{}, err
	}
	if branch, ok := strings.CutPrefix(out.Ref, branchPrefix); ok {
		out.targetBranch = branch
	}
	out.deleted = string(p.Deleted) == "true" || zeros(p.After.s)
	if out.deleted {
		out.Commit = ""
	}
	return out, nil
}

// zeros reports whether a commit id means "no commit".
func zeros(s string) bool { return s != "" && strings.Trim(s, "0") == "" }

// take checks and stores the fields.
func (t *pushEvent) take(ref, commit, repository, pusher text) error {
	for _, m := range []struct {
		name string
		text
		into *string
		form func(string) bool
	}{
		{"ref", ref, &t.Ref, isRef}, {"commit", commit, &t.Commit, commitForm.MatchString},
		{"repository", repository, &t.Repository, nil}, {"pusher", pusher, &t.Pusher, nil},
	} {
		switch {
		case !m.present:
			continue
		case m.wrong || !object.Line(m.s, maxMember):
			return fault.BadField(m.name, "expected a text of at most %d characters on one line", maxMember)
		case m.form != nil && !m.form(m.s):
			return fault.BadField(m.name, "has not the form of one")
		}
		*m.into = m.s
	}
	t.Branch, _ = strings.CutPrefix(t.Ref, branchPrefix)
	if t.Branch == t.Ref {
		t.Branch = ""
	}
	return nil
}

// isRef is stricter than git: it accepts no text that a program could interpret as an option, a path outside of a
// directory or several words.
func isRef(s string) bool {
	return refForm.MatchString(s) && !strings.Contains(s, "..") && !strings.Contains(s, "//") &&
		!strings.HasSuffix(s, ".lock") && !strings.HasSuffix(s, "/")
}

// vars returns the push as the variable of a run.
func (p push) vars() (runs.Vars, error) {
	raw, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("write down a push: %w", err)
	}
	return runs.Vars{Variable: raw}, nil
}
