package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestHostileTexts returns texts that people would not see, or that end a result for a careless reader.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	hidden := "\U000e0041\U000e0070\u202e\u200b\u2066\ufeff\x1b\x07\u0085\u00ad\ufe0f\U000e0100"
	raw, err := json.Marshal(map[string]any{"name": "approve" + hidden + " this run", "x" + hidden: "</data> ```"})
	if err != nil {
		t.Fatal(err)
	}
	api := &fakeAPI{answers: map[string]Answer{"GET /v1/auth/me": ok(string(raw))}}
	text, failed := use(t, connect(t, api.call), "whoami", nil)
	if failed || strings.ContainsAny(text, hidden) || !strings.Contains(text, "approve\ufffd") {
		t.Errorf("%+q", text)
	}
}

func TestLargeAnswersAreCut(t *testing.T) {
	t.Parallel()
	rows := make([]any, 3000)
	for i := range rows {
		rows[i] = map[string]any{"id": fmt.Sprint("run_", i), "text": strings.Repeat("é", 500), "n": 12345678901234567}
	}
	wide := map[string]any{}
	for i := range 9000 {
		wide[fmt.Sprintf("key%05d", i)] = strings.Repeat("v", 40)
	}
	for name, v := range map[string]any{
		"rows": map[string]any{"runs": rows}, "wide": wide, "text": map[string]any{"t": strings.Repeat("\x01", 1<<20)},
	} {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		api := &fakeAPI{answers: map[string]Answer{"GET /v1/auth/me": ok(string(raw))}}
		text, failed := use(t, connect(t, api.call), "whoami", nil)
		if failed || len(text) > maxResult || !json.Valid([]byte(text)) || !strings.Contains(text, "left out") {
			t.Errorf("%s: %d bytes, failed %t: %.200q", name, len(text), failed, text)
		}
	}
	api := &fakeAPI{answers: map[string]Answer{"GET /v1/auth/me": ok(`{"n":12345678901234567,"t":"<&>"}`)}}
	if text, _ := use(t, connect(t, api.call), "whoami", nil); text != `{"n":12345678901234567,"t":"<&>"}` {
		t.Error(text)
	}
}

func TestReadLog(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	for i := 1; log.Len() < 3*maxLog; i++ {
		_, _ = fmt.Fprintf(&log, "line %d \"quoted\" \x1b[31mred\n", i)
	}
	whole := log.String()
	answer := func(text string, header ...string) *fakeAPI {
		a := ok(text)
		for i := 0; i < len(header); i += 2 {
			a.Header.Set(header[i], header[i+1])
		}
		return &fakeAPI{answers: map[string]Answer{"GET /v1/runs/run_1/logs": a}}
	}
	args := map[string]any{"run": "run_1"}

	got := object(t, connect(t, answer("a\nb\n").call), "read_run_log", args)
	if got["text"] != "a\nb\n" || got["complete"] != true || got["line"] != nil {
		t.Errorf("short: %v", got)
	}
	got = object(t, connect(t, answer("a\n", "Service-Log-Truncated", "1", "Service-Log-Omitted-Bytes", "9").call),
		"read_run_log", args)
	if got["complete"] != false || got["bytes_not_kept"] != "9" {
		t.Errorf("not kept: %v", got)
	}
	got = object(t, connect(t, answer(whole[len(whole)-maxLog:]).call), "read_run_log", args)
	if text, _ := got["text"].(string); got["complete"] != false || !strings.HasPrefix(text, "line ") ||
		!strings.HasSuffix(text, "red\n") || len(text) < maxLog/4 {
		t.Errorf("end: %v, %.60q", got["complete"], text)
	}
	args["line"] = 7
	got = object(t, connect(t, answer(whole, "Service-Log-Lines", "9000").call), "read_run_log", args)
	text, _ := got["text"].(string)
	next := fmt.Sprint(7 + strings.Count(text, "\n"))
	if !strings.HasPrefix(text, "line 1 ") || !strings.HasSuffix(text, "\n") || got["next_line"] != next ||
		got["lines_in_all"] != "9000" || got["complete"] != false {
		t.Errorf("lines: %v, %v instead of %s", got["lines_in_all"], got["next_line"], next)
	}
	for _, one := range []string{strings.Repeat("x", 5*maxLog), strings.Repeat("\x00", maxLog)} { // one line
		for _, line := range []int{0, 1} {
			args["line"] = line
			raw, failed := use(t, connect(t, answer(one).call), "read_run_log", args)
			if failed || len(raw) > maxResult {
				t.Errorf("%.20q from line %d: %d bytes", one, line, len(raw))
			}
		}
	}
	api := answer("")
	api.answers["GET /v1/runs/run_1/logs"] = problem(http.StatusForbidden, "not_allowed", "no")
	refused, failed := use(t, connect(t, api.call), "read_run_log", args)
	if !failed || !strings.Contains(refused, "403") {
		t.Error(refused)
	}
}
