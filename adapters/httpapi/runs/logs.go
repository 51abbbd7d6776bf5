package runs

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/runs"
)

// maxTail bounds the requested tail of a log in bytes.
const maxTail = 4 << 20

// Bounds of the requested lines of a log.
const (
	defaultLines = 1000
	maxLines     = 10_000
)

// LogsInput asks for a log or a part of it.
type LogsInput struct {
	ID       string         `path:"id"`
	Tail     httpapi.Count  `query:"tail" doc:"Bytes at the end, at most 4 MiB; Service-Log-Tail has the number that was used."`
	Line     httpapi.Count  `query:"line" doc:"The number of the first line of the answer, from 1. Not used with tail."`
	Lines    httpapi.Count  `query:"lines" doc:"How many lines to answer from line on: 1000 unless given, at most 10000, and at most 4 MiB."`
	Download httpapi.Switch `query:"download" doc:"1 answers with an attachment."`
	Range    string         `header:"Range" doc:"One range of bytes of the whole output, as in bytes=0-1023. Not used with tail. If a part of it was not kept, the answer is its first part without a gap, as Content-Range says."`
}

func (h *handlers) logs(ctx context.Context, in *LogsInput) (*httpapi.StreamOutput, error) {
	ask := runs.LogRange{Tail: min(in.Tail.N, maxTail)}
	if ask.Tail == 0 && in.Line.N > 0 {
		ask.Line, ask.Lines = in.Line.N, min(cmp.Or(in.Lines.N, defaultLines), maxLines)
	}
	view, err := h.Reader.Log(ctx, in.ID, ask)
	if err != nil {
		return nil, err
	}
	part, wanted := byteRange{}, false
	if ask.Tail == 0 && ask.Line == 0 {
		part, wanted = parseRange(in.Range, view.Total)
	}
	if wanted && part.from < part.to {
		if view, err = h.Reader.Log(ctx, in.ID, runs.LogRange{From: part.from, To: part.to}); err != nil {
			return nil, err
		}
		part = byteRange{from: view.From, to: view.To}
	}
	return &httpapi.StreamOutput{Body: func(hctx huma.Context) {
		if wanted && part.from >= part.to {
			unsatisfiable(hctx, view.Total)
			return
		}
		h.copyLog(hctx, view, wanted, func(hd http.Header) {
			if ask.Tail > 0 {
				hd.Set("Service-Log-Tail", strconv.FormatInt(ask.Tail, 10))
			}
			if ask.Line > 0 {
				hd.Set("Service-Log-Line", strconv.FormatInt(view.Line, 10))
				hd.Set("Service-Log-Offset", strconv.FormatInt(view.From, 10))
				hd.Set("Service-Log-Next", strconv.FormatInt(view.To, 10))
			}
			if view.Lines > 0 {
				hd.Set("Service-Log-Lines", strconv.FormatInt(view.Lines, 10))
			}
			if in.Download.On() {
				hd.Set("Content-Disposition", attachment(in.ID, "log.txt"))
			}
		})
	}}, nil
}

// copyLog streams the view. A part of a log has a length; a whole log may end with a line that reports missing
// output.
func (h *handlers) copyLog(hctx huma.Context, view *runs.LogView, part bool, more func(http.Header)) {
	status := http.StatusOK
	if part {
		status = http.StatusPartialContent
	}
	sink := h.router.NewSink(hctx, status, func(hd http.Header) {
		hd.Set("Content-Type", "text/plain; charset=utf-8")
		hd.Set("Accept-Ranges", "bytes")
		if view.Truncated {
			hd.Set("Service-Log-Truncated", "1")
			hd.Set("Service-Log-Omitted-Bytes", strconv.FormatInt(view.Omitted, 10))
		}
		if part {
			hd.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", view.From, view.To-1, view.Total))
			hd.Set("Content-Length", strconv.FormatInt(view.To-view.From, 10))
		}
		more(hd)
	})
	defer sink.Done()
	if sink.Head() {
		sink.Start()
		return
	}
	ctx := hctx.Context()
	if err := view.Copy(ctx, sink); err != nil {
		sink.Fail(ctx, fmt.Errorf("copy log: %w", err), part)
		return
	}
	sink.Start()
}

func unsatisfiable(hctx huma.Context, total int64) {
	req, w := humago.Unwrap(hctx)
	w.Header().Set("Content-Range", "bytes */"+strconv.FormatInt(total, 10))
	httpapi.Refuse(w, req.WithContext(hctx.Context()), http.StatusRequestedRangeNotSatisfiable, "range_not_satisfiable",
		"the log holds no byte of this range")
}

// byteRange is [from, to) of a log; an empty one cannot be satisfied.
type byteRange struct{ from, to int64 }

// parseRange reads one range of bytes. Anything else in the header is ignored, as HTTP has it, and ok is false.
func parseRange(header string, total int64) (r byteRange, ok bool) {
	spec, found := strings.CutPrefix(header, "bytes=")
	first, last, dash := strings.Cut(strings.TrimSpace(spec), "-")
	if !found || !dash || strings.Contains(spec, ",") {
		return r, false
	}
	if first == "" {
		n, good := offset(last)
		if !good {
			return r, false
		}
		return byteRange{from: max(0, total-n), to: total}, true
	}
	from, good := offset(first)
	if !good {
		return r, false
	}
	to := total
	if last != "" {
		end, good := offset(last)
		if !good || end < from {
			return r, false
		}
		if end < total {
			to = end + 1
		}
	}
	return byteRange{from: min(from, total), to: to}, true
}

func offset(s string) (int64, bool) {
	var c httpapi.Count
	err := c.UnmarshalText([]byte(s))
	return c.N, s != "" && err == nil
}
