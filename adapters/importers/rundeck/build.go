package rundeck

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/adapters/importers/draft"
)

// build makes the templates of all jobs: first those of one step, which others may launch.
func (r *reader) build() error {
	for _, j := range r.jobs {
		if err := r.ctx.Err(); err != nil {
			return fmt.Errorf("read the jobs: %w", err)
		}
		if len(j.steps) == 1 && j.steps[0].ref == nil && j.steps[0].handler == nil && j.retries == 0 {
			r.single(j)
		} else if len(j.steps) == 0 {
			j.reason = "all of its steps are disabled"
		}
	}
	for _, j := range r.jobs {
		if err := r.ctx.Err(); err != nil {
			return fmt.Errorf("read the jobs: %w", err)
		}
		if !j.single && j.reason == "" {
			r.workflow(j)
		}
	}
	for _, wanted := range []bool{true, false} { // launched templates come first
		for _, j := range r.jobs {
			if j.single == wanted {
				r.finish(j)
			}
		}
	}
	return nil
}

func (r *reader) scope(j *job) scope {
	return scope{r: r, job: j, of: j, at: j.steps[0].at, nodes: j.nodes}
}

// single makes the template of a job of one step.
func (r *reader) single(j *job) {
	c := j.steps[0]
	s := r.scope(j)
	step, reason := s.render(c)
	if reason != "" {
		j.reason = "its only step is a " + c.kind() + ": " + reason
		return
	}
	j.single = true
	t := j.spec
	t.Tool, t.Command, t.Playbook = step.Tool, step.Command, step.Playbook
	t.ExtraVars, t.Limit = step.ExtraVars, step.Limit
	if t.Tool == "ansible" {
		t.Forks = j.nodes.forks
	}
	j.say("The %s is executed by the tool %s.", c.kind(), t.Tool)
	if c.description != "" {
		j.warn(c.at+".description", "the description of the step is not kept")
	}
}

// workflow makes the template of a job of several steps, or of one that is retried.
func (r *reader) workflow(j *job) {
	g := &graph{r: r, j: j, open: []*job{j}}
	g.sequence(r.scope(j), entry{}, "")
	switch {
	case g.full:
		j.reason = "its workflow has more than " + strconv.Itoa(maxSteps) + " steps, or jobs refer to each other too often"
		return
	case g.works == 0:
		j.reason = "none of its steps can be translated"
		for _, w := range j.object.Warnings {
			if len(j.reason) < 1000 {
				j.reason += "; " + w.Message
			}
		}
		return
	}
	g.start()
	j.spec.Steps = g.steps
	j.say("The job is a workflow of %s.", draft.Count(len(g.steps), "step"))
	switch {
	case j.retries > 0 && len(g.steps) == 1:
		g.steps[0].Retries = j.retries
		j.say("The step is retried up to %s, as the job is in Rundeck.", draft.Count(j.retries, "time"))
	case j.retries > 0:
		j.warn("retry", "the job is not retried as a whole: only steps can be retried")
	}
	if j.spec.Timeout > 0 && len(g.steps) > 1 {
		j.warn("timeout", "the timeout is that of each step, and not of the whole job")
	}
}

// finish adds the template of a job, its credentials and its schedule, or says why there is none.
func (r *reader) finish(j *job) {
	if j.reason != "" {
		j.reason = oneReason(j.reason)
		r.draft.Skip("job", j.object.Name, j.ref, "%s", j.reason)
		return
	}
	r.secrets(j)
	r.draft.Add(*j.object)
	r.scheduleOf(j)
}

// oneReason returns a text of at most 2000 bytes.
func oneReason(s string) string {
	const limit = 2000
	if len(s) > limit {
		return strings.ToValidUTF8(s[:limit], "") + "..."
	}
	return s
}
