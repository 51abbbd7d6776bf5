package contract

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestSecretsReadBackNowhere checks that no answer about a run contains values of secret-looking variables, while a
// rerun still uses them.
func TestSecretsReadBackNowhere(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		secrets := []string{"Tr0ub4dor-one", "Tr0ub4dor-two", "Tr0ub4dor-three"}
		vars := harness.Body{"db_password": secrets[0], "dbToken": secrets[1],
			"deep": harness.Body{"list": []any{harness.Body{"APIKey": secrets[2]}}}, "copy": secrets[0]}
		script := `echo "$WRIT_VAR_DB_PASSWORD and $WRIT_VAR_COPY"; cat "$WRIT_VARS"; cp "$WRIT_VARS" "$WRIT_OUTPUTS"
test "$WRIT_VAR_DB_PASSWORD" = Tr0ub"4"dor-one || exit 9; echo "$WRIT_VAR_DB_PASSWORD" >&2`
		one := s.Submit(harness.Body{"tool": "bash", "command": script, "extra_vars": vars,
			"env": harness.Body{"LEAK": secrets[0]}})
		again := s.Act("/v1/runs/" + one.ID + "/rerun")
		steps := []harness.Body{{"name": "a", "tool": "bash", "command": script,
			"extra_vars": harness.Body{"client_secret": secrets[1]}},
			{"name": "b", "tool": "bash", "command": `env; cat "$WRIT_VARS"`}}
		made := s.Do(http.MethodPost, "/v1/pipelines", harness.Body{"steps": steps, "extra_vars": vars})
		var pipe harness.Run
		made.JSON(t, &pipe)
		for _, r := range []harness.Run{one, again, pipe} {
			if r = s.Await(r.ID); r.Status != "succeeded" {
				t.Errorf("%s ended as %s (%s), its log: %s", r.Kind, r.Status, r.Error, s.Log(r.ID))
			}
		}
		body := string(made.Body)
		ids := []string{one.ID, again.ID, pipe.ID}
		for _, x := range s.Get(pipe.ID).Steps {
			ids = append(ids, x.RunID)
		}
		for _, id := range ids {
			for _, part := range []string{
				"", "/logs", "/logs?tail=1000", "/events", "/events?download=1", "/hosts", "/why", "/failures", "/matrix", "/steps",
				"/compare?with=" + one.ID, "/logs/find?q=and",
			} {
				body += string(s.Do(http.MethodGet, "/v1/runs/"+id+part, nil).Body)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			s.Stream(ctx, id, "", func(f harness.Frame) bool { body += f.Data; return f.Event != "end" })
			cancel()
		}
		body += string(s.Do(http.MethodGet, "/v1/runs", nil).Body) + s.Output() +
			string(s.Do(http.MethodGet, "/metrics", nil).Body)
		for _, secret := range secrets {
			if i := strings.Index(body, secret); i >= 0 {
				t.Errorf("told: ...%s...", body[max(0, i-300):min(len(body), i+100)])
			}
		}
		if !strings.Contains(body, "[redacted]") || !strings.Contains(body, "*** and ***") {
			t.Error("nothing was masked")
		}
	})
}
