package fleet

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/estate"
)

const taskWindow = 20 // runs whose durations count

type tasksView struct {
	Query, Sentence, Range, Newer, Older string
	Rows                                 []estate.TaskTrend
	Total                                int
}

func (h *handlers) tasks(r *shell.Request) (*shell.Page, error) {
	q := r.URL.Query()
	v := tasksView{Query: strings.TrimSpace(q.Get("q"))}
	offset := number(q.Get("offset"))
	p, err := h.Fleet.Tasks(r.Context(), estate.FleetQuery{Window: taskWindow, Search: v.Query, Limit: perPage,
		Offset: offset})
	if err != nil {
		return nil, err
	}
	v.Rows, v.Total, v.Sentence = p.Rows, p.Total, tasksText(p, offset == 0, v.Query)
	v.Range = rangeText(offset, len(p.Rows), p.Total, "task")
	at := func(n int) string {
		return "/ui/tasks?" + url.Values{"q": {v.Query}, "offset": {strconv.Itoa(n)}}.Encode()
	}
	if offset > 0 {
		v.Newer = at(max(0, offset-perPage))
	}
	if len(p.Rows) > 0 && offset+len(p.Rows) < p.Total {
		v.Older = at(offset + perPage)
	}
	return &shell.Page{Title: "Tasks", Nav: shell.Fleet, Body: tasksPage(v),
		Parts: map[string]templ.Component{"tasks": taskTable(v)}}, nil
}

// bar is one run of a task in a chart of 20 high.
type bar struct{ X, Y, Height string }

// bars draws durations, the newest first, from left to right with the newest last.
func bars(list []time.Duration) []bar {
	const high, step = 20.0, 4
	longest := time.Millisecond
	for _, d := range list {
		longest = max(longest, d)
	}
	out := make([]bar, len(list))
	for i, d := range list {
		h := max(1, float64(d)/float64(longest)*high)
		out[len(list)-1-i] = bar{X: strconv.Itoa((len(list) - 1 - i) * step), Y: fmt.Sprintf("%.1f", high-h),
			Height: fmt.Sprintf("%.1f", h)}
	}
	return out
}
