package runs

import (
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of a list's query.
const (
	defaultRows = 200
	maxRows     = 1000
)

// ListInput narrows and pages the run list.
type ListInput struct {
	Limit  httpapi.Count `query:"limit" doc:"Rows of a page: 200 unless given, at most 1000."`
	Offset httpapi.Count `query:"offset"`
	Cursor string        `query:"cursor" doc:"The next_cursor of the page before; stays stable while runs arrive."`
	Status []string      `query:"status,explode" doc:"Repeated, or a list with commas."`
	Tool   string        `query:"tool" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$" patternDescription:"the name of a tool"`
	Order  string        `query:"order" enum:"newest,oldest" doc:"newest if absent."`
	Task   string        `query:"task" maxLength:"1000" doc:"Runs in which a task of this name ran."`
	After  string        `query:"after" doc:"Created at or after this instant, RFC 3339."`
	Before string        `query:"before" doc:"Created before this instant, RFC 3339."`
	Q      string        `query:"q" doc:"Words, and the terms status: tool: source: actor: host: label:k=v change: template: queue:. template: takes an id or a name. Quotes hold a value with spaces, and words that look like a term."`
}

// filter reads the query. An invalid value is an Invalid fault that names its parameter.
func (in *ListInput) filter() (runs.Filter, error) {
	f := runs.Filter{
		Tool: in.Tool, Task: in.Task, Oldest: in.Order == "oldest", Limit: in.Limit.Clamp(defaultRows, maxRows),
		Offset: in.Offset.Int(), Cursor: in.Cursor,
	}
	var err error
	if f.Statuses, err = httpapi.RunStatuses("status", in.Status); err != nil {
		return f, err
	}
	if f.After, err = instant("after", in.After); err != nil {
		return f, err
	}
	if f.Before, err = instant("before", in.Before); err != nil {
		return f, err
	}
	return f, search(&f, in.Q)
}

func search(f *runs.Filter, q string) error { return httpapi.SearchRuns(f, q) }

func instant(where, v string) (time.Time, error) {
	if v == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, v)
	if err != nil {
		return time.Time{}, fault.BadField(where, "is not an RFC 3339 instant")
	}
	return t.UTC(), nil
}
