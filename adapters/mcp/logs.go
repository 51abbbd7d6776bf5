package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// maxLog bounds the output of a run in a result, in bytes.
const maxLog = 32 << 10

// The numbers of lines of a log.
const (
	defaultLines = 200
	maxLines     = 1000
)

type logInput struct {
	Run   string `json:"run" jsonschema:"id of the run"`
	Line  int    `json:"line,omitempty" jsonschema:"number of the first line, from 1; the end of the output if absent"`
	Lines int    `json:"lines,omitempty" jsonschema:"number of lines from line on: 200 unless given, at most 1000"`
}

// readLog returns whole lines: the newest that fit, or the first that fit from a line on.
func readLog(ctx context.Context, api API, in logInput) (any, error) {
	p, err := path("/v1/runs", in.Run, "/logs")
	if err != nil {
		return nil, err
	}
	q := query{}
	if in.Line > 0 {
		q = q.count("line", in.Line, 0, 1<<30).count("lines", in.Lines, defaultLines, maxLines)
	} else {
		q = q.count("tail", maxLog, 0, maxLog)
	}
	a, err := ask(ctx, api, Call{Method: http.MethodGet, Path: q.after(p)})
	if err != nil {
		return nil, err
	}
	text := visible(string(a.Body))
	kept := wholeLines(text, in.Line > 0)
	out := map[string]any{"run": in.Run, "text": kept, "complete": len(kept) == len(text) && in.Line == 0 &&
		len(a.Body) < maxLog && a.Header.Get("Service-Log-Truncated") == ""}
	if n := a.Header.Get("Service-Log-Omitted-Bytes"); n != "" {
		out["bytes_not_kept"] = n
	}
	if n := a.Header.Get("Service-Log-Lines"); n != "" {
		out["lines_in_all"] = n
	}
	if in.Line > 0 {
		out["line"] = in.Line
		if next := in.Line + strings.Count(kept, "\n"); kept != "" {
			out["next_line"] = strconv.Itoa(next)
		}
	}
	return out, nil
}

// wholeLines cuts a text at its end, or at its beginning, until it fits.
func wholeLines(text string, fromStart bool) string {
	for len(text) > maxLog || encodedSize(text) > maxResult-(4<<10) {
		half := min(len(text)*3/4, maxLog)
		if fromStart {
			text = text[:half]
			text = text[:strings.LastIndexByte(text, '\n')+1]
		} else {
			text = text[len(text)-half:]
			text = text[strings.IndexByte(text, '\n')+1:]
		}
	}
	return text
}

func encodedSize(text string) int {
	raw, err := json.Marshal(text)
	if err != nil {
		return maxResult
	}
	return len(raw)
}

type findInput struct {
	Run   string `json:"run" jsonschema:"id of the run"`
	Text  string `json:"text" jsonschema:"the text to find, or an RE2 expression"`
	Regex bool   `json:"regex,omitempty" jsonschema:"text is an RE2 expression"`
	Case  bool   `json:"case,omitempty" jsonschema:"letters match in their own case only"`
	Limit int    `json:"limit,omitempty" jsonschema:"number of lines: 20 unless given, at most 100"`
}

func findInLog(in findInput) (string, error) {
	p, err := path("/v1/runs", in.Run, "/logs/find")
	return query{}.text("q", in.Text).flag("regex", in.Regex).flag("case", in.Case).
		count("limit", in.Limit, defaultRows, maxRows).after(p), err
}
