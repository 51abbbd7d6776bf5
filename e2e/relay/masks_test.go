package relay

import (
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestReportsAreMaskedAgain: a worker reports the secret that it got with its claim in each field, as it is and
// encoded, and in pieces of output before and after a restart of the server. Nobody reads it.
func TestReportsAreMaskedAgain(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, dbURL)
		id := w.credential("deploy", canary)
		w.Submit(harness.Body{"playbook": "site.yml", "credential_ids": []string{id}})
		g := w.claim("teller")
		w.mustReport(http.StatusNoContent, g, "save", harness.Body{"status": "running"})
		const at = "2026-01-05T08:30:00Z"
		doc := harness.Body{"a": canary, canary: []string{"x" + canary}, "hex": hex.EncodeToString([]byte(canary))}
		w.mustReport(http.StatusOK, g, "events", harness.Body{"events": []harness.Body{
			{"seq": g.Run.NextSeq, "at": at, "type": "host_failed", "host": canary, "task": canary, "play": canary,
				"item": canary, "message": canary, "stdout": base64.StdEncoding.EncodeToString([]byte(canary)), "stderr": canary,
				"diff": doc, "stats": doc, "facts": doc, "outputs": doc},
			{"seq": g.Run.NextSeq + 1, "at": at, "type": "warning", "message": "w " + canary},
		}})
		w.mustReport(http.StatusNoContent, g, "host-summary", harness.Body{"hosts": []harness.Body{
			{"host": canary, "failed": 1, "worst": "failed"}}})
		w.mustReport(http.StatusNoContent, g, "task-summary", harness.Body{"tasks": []harness.Body{
			{"task": canary, "play": canary, "duration_ms": 1}}})
		w.mustReport(http.StatusNoContent, g, "host-facts", harness.Body{"facts": []harness.Body{
			{"host": canary, "gathered_at": at, "facts": doc}}})
		offset := int64(0)
		say := func(text string) {
			w.mustReport(http.StatusOK, g, "log",
				harness.Body{"offset": offset, "data": base64.StdEncoding.EncodeToString([]byte(text))})
			offset += int64(len(text))
		}
		say("the token is " + canary[:9])
		w.Stop()
		w = w.again()
		say(canary[9:20])
		say(canary[20:] + "\nand in hex " + hex.EncodeToString([]byte(canary)) + "\nand it ends with CANARY")
		w.mustReport(http.StatusNoContent, g, "save", harness.Body{"status": "failed", "error": "it is " + canary,
			"outputs": doc, "log_bytes": offset, "warnings": []harness.Body{{"code": "told", "message": canary}}})
		stars := func(n int) string { return strings.Repeat("*", n) }
		if got, want := w.Log(g.Run.ID), "the token is "+stars(26)+"\nand in hex "+stars(52)+
			"\nand it ends with CANARY"; got != want {
			t.Errorf("the output is %q, want %q", got, want)
		}
		if r := w.Get(g.Run.ID); r.Error != "it is ***" || r.Outputs["a"] != "***" || r.LogBytes != offset {
			t.Errorf("the record is %+v", r)
		}
		for _, path := range []string{"", "/events", "/logs", "/hosts", "/tasks", "/evidence?format=html", "/failures",
			"/matrix"} {
			a := w.Do(http.MethodGet, "/v1/runs/"+g.Run.ID+path, nil)
			for _, form := range []string{canary, hex.EncodeToString([]byte(canary)),
				base64.StdEncoding.EncodeToString([]byte(canary))} {
				if a.Status != http.StatusOK || strings.Contains(string(a.Body), form) {
					t.Errorf("%s: %d %.400s", path, a.Status, a.Body)
				}
			}
		}
		for _, row := range w.Column("SELECT sealed FROM relay_secrets") {
			t.Errorf("something stays of the claim: %q", row)
		}
	})
}
