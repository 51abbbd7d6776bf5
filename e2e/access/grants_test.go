package access

import (
	"net/http"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestGrantsOnAQueue restricts a queue and opens it again, and checks every kind of reader.
// Keeps T10.
func TestGrantsOnAQueue(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		viewer, operator := join(t, s, "vic", "viewer"), join(t, s, "ola", "operator")
		before := s.Submit(on("vault"))
		other := s.Submit(on("plain"))
		for _, p := range []account{viewer, operator} {
			want(t, p.Client, http.MethodGet, "/v1/runs/"+before.ID, nil, 200)
		}
		want(t, operator.Client, http.MethodPost, "/v1/runs", on("vault"), 201)
		want(t, viewer.Client, http.MethodPost, "/v1/runs", on("vault"), 403)

		reader := join(t, s, "reader", "operator")
		a := want(t, s.Client, http.MethodPost, "/v1/grants",
			harness.Body{"subject": "user:" + reader.ID, "object": "queue:vault", "level": "read"}, 201)
		if !strings.Contains(string(a.Body), "object_restricted") {
			t.Errorf("the first grant does not warn: %s", a.Body)
		}
		team := made(t, s.Client, "/v1/teams", harness.Body{"name": "Vault"})
		want(t, s.Client, http.MethodPost, "/v1/teams/"+team+"/members", harness.Body{"user_id": operator.ID}, 201)
		if a := want(t, s.Client, http.MethodPost, "/v1/grants",
			harness.Body{"subject": "team:" + team, "object": "queue:vault", "level": "use"},
			201); strings.Contains(string(a.Body), "object_restricted") {
			t.Errorf("the second grant warns: %s", a.Body)
		}
		stranger := join(t, s, "stranger", "operator")

		// Each row checks whether a caller reads the run of the restricted queue, counts it, and may act on it.
		for _, c := range []struct {
			account
			read, total, submit, cancel int
		}{
			{viewer, 404, 1, 403, 403},
			{stranger, 404, 1, 404, 404},
			{reader, 200, 3, 403, 403},
			{operator, 200, 3, 201, 200},
		} {
			want(t, c.Client, http.MethodGet, "/v1/runs/"+before.ID, nil, c.read)
			want(t, c.Client, http.MethodGet, "/v1/runs/"+other.ID, nil, 200)
			for _, part := range []string{"logs", "events", "hosts", "tasks", "why", "failures", "shards", "matrix",
				"logs/find?q=x"} {
				want(t, c.Client, http.MethodGet, "/v1/runs/"+before.ID+"/"+part, nil, c.read)
			}
			want(t, c.Client, http.MethodPost, "/v1/runs/"+before.ID+"/stream-ticket", nil, c.read)
			want(t, c.Client, http.MethodGet, "/v1/runs/"+other.ID+"/compare?with="+before.ID, nil, c.read)
			if rows, total := c.Runs(""); total != c.total || len(rows) != c.total {
				t.Errorf("%s lists %d runs, total %d, want %d", c.Name, len(rows), total, c.total)
			}
			if rows, total := c.Runs("q=queue:vault"); len(rows) != c.total-1 || total != c.total-1 {
				t.Errorf("%s finds %d runs of the queue, total %d", c.Name, len(rows), total)
			}
			a := want(t, c.Client, http.MethodPost, "/v1/runs", on("vault"), c.submit)
			if c.submit == 404 && !strings.Contains(string(a.Body), `"location":"queue"`) {
				t.Errorf("the refusal does not name the field: %s", a.Body)
			}
			if c.submit == 201 { // the remaining rows must not see this run
				want(t, s.Client, http.MethodPost, strings.TrimSuffix(a.Header.Get("Location"), "/")+"/cancel", nil, 200)
			}
			want(t, c.Client, http.MethodPost, "/v1/pipelines",
				harness.Body{"steps": []harness.Body{{"name": "a", "tool": "bash", "command": "true", "queue": "vault"}}}, c.submit)
			want(t, c.Client, http.MethodPost, "/v1/runs/"+before.ID+"/cancel", nil, c.cancel)
		}
		want(t, stranger.Client, http.MethodPost, "/v1/runs/"+before.ID+"/rerun", nil, 404)
		want(t, reader.Client, http.MethodPost, "/v1/runs/"+before.ID+"/rerun", nil, 403)

		// The team and its grant are deleted, which gives no caller access.
		want(t, s.Client, http.MethodDelete, "/v1/teams/"+team, nil, 204)
		want(t, operator.Client, http.MethodGet, "/v1/runs/"+before.ID, nil, 404)
		// The last reader's account is deleted too: the queue stays restricted.
		want(t, s.Client, http.MethodDelete, "/v1/users/"+reader.ID, nil, 204)
		want(t, reader.Client, http.MethodGet, "/v1/runs/"+before.ID, nil, 401)
		for _, p := range []account{viewer, operator, stranger} {
			want(t, p.Client, http.MethodGet, "/v1/runs/"+before.ID, nil, 404)
		}
		// An admin adds a grant and removes it: the roles decide about the queue again.
		id := grant(t, s, "user:"+stranger.ID, "queue:vault", "manage")
		want(t, stranger.Client, http.MethodGet, "/v1/runs/"+before.ID, nil, 200)
		want(t, s.Client, http.MethodDelete, "/v1/grants/"+id, nil, 204)
		want(t, viewer.Client, http.MethodGet, "/v1/runs/"+before.ID, nil, 200)
	})
}

// TestAPipelineIsReadAsAWhole hides a pipeline with all of its parts if one step uses a restricted queue.
// Keeps T10.
func TestAPipelineIsReadAsAWhole(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	viewer := join(t, s, "vic", "viewer")
	p := s.Do(http.MethodPost, "/v1/pipelines", harness.Body{"steps": []harness.Body{
		{"name": "plain", "tool": "bash", "command": "echo secret-output"},
		{"name": "vault", "tool": "bash", "command": "true", "queue": "vault"},
	}})
	var run harness.Run
	p.JSON(t, &run)
	var steps struct {
		Steps []harness.Run `json:"steps"`
	}
	want(t, s.Client, http.MethodGet, "/v1/runs/"+run.ID+"/steps", nil, 200).JSON(t, &steps)
	if len(steps.Steps) == 0 {
		t.Fatalf("no step exists: %s", p.Body)
	}
	first := s.Await(steps.Steps[0].ID)
	want(t, viewer.Client, http.MethodGet, "/v1/runs/"+first.ID+"/logs", nil, 200)
	id := grant(t, s, "user:"+join(t, s, "holder", "operator").ID, "queue:vault", "use")
	for _, path := range []string{run.ID, run.ID + "/steps", run.ID + "/hosts", first.ID, first.ID + "/logs",
		first.ID + "/events"} {
		want(t, viewer.Client, http.MethodGet, "/v1/runs/"+path, nil, 404)
	}
	want(t, s.Client, http.MethodDelete, "/v1/grants/"+id, nil, 204)
	want(t, viewer.Client, http.MethodGet, "/v1/runs/"+first.ID+"/logs", nil, 200)
}

// TestStrictGrants also restricts objects without grants, such as the default queue.
func TestStrictGrants(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL, Flags: []string{"--strict-grants"}})
		operator := join(t, s, "ola", "operator")
		r := s.Submit(harness.Body{"tool": "bash", "command": "true"})
		want(t, operator.Client, http.MethodGet, "/v1/runs/"+r.ID, nil, 404)
		if rows, total := operator.Runs(""); len(rows) != 0 || total != 0 {
			t.Errorf("%d runs, total %d", len(rows), total)
		}
		denied := want(t, operator.Client, http.MethodPost, "/v1/runs", harness.Body{"tool": "bash", "command": "true"}, 404)
		if !strings.Contains(string(denied.Body), "grant the level use on queue:default (writ grant create") {
			t.Errorf("a run without a queue grant: %s", denied.Body)
		}
		template := made(t, s.Client, "/v1/templates", harness.Body{"name": "nightly", "tool": "bash", "command": "true"})
		launch := "/v1/templates/" + template + "/launch"
		want(t, operator.Client, http.MethodPost, launch, nil, 404)
		grant(t, s, "user:"+operator.ID, template, "use")
		denied = want(t, operator.Client, http.MethodPost, launch, nil, 403)
		if body := string(denied.Body); !strings.Contains(body, "grant the level read on queue:default (writ grant create") ||
			!strings.Contains(body, `"location":"queue"`) {
			t.Errorf("a launch without a queue grant: %s", body)
		}
		reading := grant(t, s, "user:"+operator.ID, "queue:default", "read")
		want(t, operator.Client, http.MethodPost, launch, nil, 201)
		want(t, s.Client, http.MethodDelete, "/v1/grants/"+reading, nil, 204)
		id := grant(t, s, "user:"+operator.ID, "queue:default", "use")
		want(t, operator.Client, http.MethodGet, "/v1/runs/"+r.ID, nil, 200)
		want(t, operator.Client, http.MethodPost, "/v1/runs", harness.Body{"tool": "bash", "command": "true"}, 201)
		if _, total := operator.Runs(""); total != 3 {
			t.Errorf("total %d", total)
		}
		want(t, s.Client, http.MethodDelete, "/v1/grants/"+id, nil, 204)
		want(t, operator.Client, http.MethodGet, "/v1/runs/"+r.ID, nil, 404)
	})
}

// TestWrongGrants checks that an error names the invalid field of a grant.
func TestWrongGrants(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	vic := join(t, s, "vic", "viewer")
	good := harness.Body{"subject": "user:" + vic.ID, "object": "queue:a", "level": "read"}
	for _, c := range []struct {
		member string
		value  any
		status int
	}{
		{"subject", "vic", 400}, {"subject", "user:usr_00000000000000000000000000", 404},
		{"subject", "team:team_00000000000000000000000000", 404},
		{"subject", "org:x", 400}, {"object", "queue:", 400}, {"object", "queue:a b", 400},
		{"object", "run_00000000000000000000000000", 400},
		{"object", "tpl_00000000000000000000000000", 404}, {"level", "own", 400}, {"level", "", 400}, {"more", 1, 400},
	} {
		body := harness.Body{}
		for k, v := range good {
			body[k] = v
		}
		body[c.member] = c.value
		if a := want(t, s.Client, http.MethodPost, "/v1/grants", body, c.status); !strings.Contains(string(a.Body),
			`"location":"`+c.member+`"`) {
			t.Errorf("%s = %v: the refusal does not name the field: %s", c.member, c.value, a.Body)
		}
	}
	want(t, s.Client, http.MethodPost, "/v1/grants", good, 201)
	if a := want(t, s.Client, http.MethodPost, "/v1/grants", good, 409); reason(t, a) != "grant_exists" {
		t.Errorf("the same grant twice: %s", a.Body)
	}
	want(t, vic.Client, http.MethodGet, "/v1/grants", nil, 403)
	want(t, vic.Client, http.MethodPost, "/v1/grants", good, 403)
}
