package run

import (
	"context"
	"strconv"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// maxResults is how many tasks a page of a host shows in full.
const maxResults = 500

// hostView is one host in a run.
type hostView struct {
	Head    *head
	Host    string
	Summary *runs.HostSummary
	Tasks   []*taskResult
	More    int
	Seen    scanned
	Next    string
}

// host shows what a run did on one host.
func (h *handlers) host(r *shell.Request) (*shell.Page, error) {
	top, err := h.head(r, "table")
	if err != nil {
		return nil, err
	}
	out := hostView{Head: top, Host: r.PathValue("host")}
	all, err := h.results(r.Context(), top)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Host == out.Host {
			out.Summary = &all[i]
		}
	}
	if out.Summary == nil {
		return nil, &fault.Error{Kind: fault.NotFound, Message: "the run has no result on this host"}
	}
	after, _ := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
	if err := h.tasksOf(r.Context(), &out, max(after, 0)); err != nil {
		return nil, err
	}
	if out.Seen.Next > 0 && !top.Run.Kind.Parent() {
		out.Next = "/ui/runs/" + top.Run.ID + "/h/" + escape(out.Host) + "?after=" + strconv.FormatInt(out.Seen.Next, 10)
	}
	p := page(top, hostPage(out))
	p.Title = out.Host + " in " + p.Title
	return p, nil
}

// tasksOf reads what the tasks did on the host.
func (h *handlers) tasksOf(ctx context.Context, out *hostView, after int64) error {
	left := scanLimit
	for _, part := range parts(out.Head, out.Host) {
		open := map[string]*taskResult{}
		seen, err := h.scan(ctx, part, after, left, func(e *runs.Event) bool {
			if e.Host == out.Host {
				out.take(part, open, e)
			}
			return true
		})
		if err != nil {
			return err
		}
		left -= int(seen.Last - seen.After)
		if out.Seen = seen; seen.Next > 0 || left <= 0 {
			break
		}
	}
	return nil
}

// take adds an event of the host to its tasks.
func (v *hostView) take(part *runs.Run, open map[string]*taskResult, e *runs.Event) {
	if e.Task == "" && e.TaskID == "" {
		return
	}
	key := e.TaskID + "\x00" + e.Task
	t := open[key]
	if t == nil {
		t = &taskResult{Run: part, Host: v.Host, Task: e.Task, Play: e.Play, TaskID: e.TaskID}
		open[key] = t
		if len(v.Tasks) < maxResults {
			v.Tasks = append(v.Tasks, t)
		} else {
			v.More++
		}
	}
	if t.take(e) {
		delete(open, key)
	}
}

func hostSentence(v hostView) string {
	s := v.Summary
	text := shell.Plural(s.OK, "task") + " ok"
	for _, x := range []struct {
		n    int
		word string
	}{{s.Changed, "changed it"}, {s.Failed, "failed"}, {s.Unreachable, "did not reach it"}, {s.Rescued, "were rescued"},
		{s.Ignored, "failed and were ignored"}, {s.Skipped, "were skipped"}} {
		if x.n > 0 {
			text += ", " + shell.Count(x.n) + " " + x.word
		}
	}
	if s.Duration > 0 {
		text += ". Its tasks took " + shell.Duration(s.Duration)
	}
	return text + "."
}

// details reports whether a result has more than its state.
func details(t *taskResult) bool {
	return t.Message != "" || t.Stdout != "" || t.Stderr != "" || len(t.Changes)+len(t.Items)+len(t.Attempts) > 0
}
