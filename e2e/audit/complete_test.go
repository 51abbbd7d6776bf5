package audit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/system"
)

// fixture is an install in which every operation can succeed.
type fixture struct {
	*harness.Server
	t    *testing.T
	next int
	repo string // the repository of the projects
	lost string // a split with failed hosts
	// brittle is the path of a file that makes a subscriber fail.
	brittle string
}

// id creates an object and returns its id.
func (w *fixture) id(path string, body harness.Body) string {
	w.t.Helper()
	var out struct {
		ID string `json:"id"`
	}
	a := w.Do(http.MethodPost, path, body)
	if a.JSON(w.t, &out); a.Status != http.StatusCreated || out.ID == "" {
		w.t.Fatalf("POST %s: %d %s", path, a.Status, a.Body)
	}
	return out.ID
}

func (w *fixture) name(of string) string {
	w.next++
	return fmt.Sprint(of, w.next)
}

func (w *fixture) user() string {
	return w.id("/v1/users", harness.Body{"username": w.name("u"), "role": "viewer", "password": password})
}

func (w *fixture) team() string { return w.id("/v1/teams", harness.Body{"name": w.name("t")}) }
func (w *fixture) org() string  { return w.id("/v1/orgs", harness.Body{"name": w.name("o")}) }
func (w *fixture) token() string {
	return w.id("/v1/tokens", harness.Body{"name": w.name("k")})
}

func (w *fixture) grantBody() harness.Body {
	return harness.Body{"subject": "user:" + w.user(), "object": "queue:" + w.name("q"), "level": "read"}
}

// parked creates a run that no worker executes.
func (w *fixture) parked() string {
	return w.Submit(harness.Body{"tool": "bash", "command": "true", "queue": "parked"}).ID
}

func (w *fixture) held() string {
	return w.Submit(harness.Body{"tool": "bash", "command": "true", "queue": "parked", "require_approval": true}).ID
}

// fails returns an ended split run of ansible with failed hosts. It is made once; several runs can retry it.
func (w *fixture) fails() string {
	if w.lost == "" {
		body := harness.Body{"playbook": w.Dir + "/fails.yml", "inventory": w.Dir + "/hosts", "shards": 2}
		w.lost = w.Await(w.Submit(body).ID).ID
	}
	return w.lost
}

// session signs in a new user and returns the token.
func (w *fixture) session() string {
	name := w.name("s")
	w.id("/v1/users", harness.Body{"username": name, "role": "viewer", "password": password})
	var out struct {
		Token string `json:"token"`
	}
	a := w.As("").Do(http.MethodPost, "/v1/auth/login", harness.Body{"username": name, "password": password})
	if a.JSON(w.t, &out); out.Token == "" {
		w.t.Fatalf("login: %d %s", a.Status, a.Body)
	}
	return out.Token
}

// call is one request that succeeds, with the expected object of its entry if that differs from the path.
type call struct {
	path   string // with the values of its parameters
	body   any
	as     string // a token; empty is the admin's
	nobody bool   // without a token
	object string // the kind of the entry's object; empty is the kind of the path's id
	// The expected actor and path, if they are not a user and the path itself.
	actor, recorded string
	header          []string
}

// calls prepares each operation that is recorded, by its id.
func calls() map[string]func(w *fixture) call {
	onRun := func(act string, run func(w *fixture) string) func(w *fixture) call {
		return func(w *fixture) call { return call{path: "/v1/runs/" + run(w) + "/" + act, object: "run"} }
	}
	const export = `{"certname": "web1.example.org", "environment": "production", "values": {"ipaddress": "192.0.2.1"}}`
	return map[string]func(w *fixture) call{
		// What an import writes has entries of its own, so that this one has nothing left to write.
		"import-export": func(w *fixture) call {
			c := call{path: "/v1/import/puppet?apply=true", body: json.RawMessage(export), object: "import",
				recorded: "/v1/import/puppet"}
			w.Do(http.MethodPost, c.path, c.body)
			return c
		},
		"submit-run": func(*fixture) call { return call{path: "/v1/runs", body: script("true"), object: "run"} },
		"submit-pipeline": func(*fixture) call {
			return call{path: "/v1/pipelines", object: "run",
				body: harness.Body{"steps": []harness.Body{{"name": "a", "tool": "bash", "command": "true"}}}}
		},
		"cancel-run": onRun("cancel", (*fixture).parked), "approve-run": onRun("approve", (*fixture).held),
		"reject-run":      onRun("reject", (*fixture).held),
		"retry-run":       onRun("retry", (*fixture).fails),
		"relaunch-failed": onRun("relaunch-failed", (*fixture).fails),
		"rerun-run":       onRun("rerun", (*fixture).parked),
		"move-run": func(w *fixture) call {
			return call{path: "/v1/runs/" + w.parked() + "/queue", object: "run", body: harness.Body{"queue": "elsewhere"}}
		},
		"preview-run": onRun("preview", (*fixture).held),

		"sign-in": func(w *fixture) call {
			name := w.name("l")
			w.id("/v1/users", harness.Body{"username": name, "role": "viewer", "password": password})
			return call{path: "/v1/auth/login", nobody: true, object: "user",
				body: harness.Body{"username": name, "password": password}}
		},
		"sign-out": func(w *fixture) call { return call{path: "/v1/auth/logout", as: w.session(), object: "*"} },
		"change-password": func(w *fixture) call {
			return call{path: "/v1/auth/me/password", as: w.session(), object: "user",
				body: harness.Body{"current": password, "new": "another long secret"}}
		},
		"save-preferences": func(*fixture) call {
			return call{path: "/v1/auth/me/preferences", object: "user", body: harness.Body{"theme": "dark"}}
		},
		"save-team-preferences": func(w *fixture) call {
			return call{path: "/v1/teams/" + w.team() + "/preferences", object: "team", body: harness.Body{"a": 1}}
		},
		"create-user": func(w *fixture) call {
			return call{path: "/v1/users", object: "user", body: harness.Body{"username": w.name("n"), "role": "viewer"}}
		},
		"update-user": func(w *fixture) call {
			return call{path: "/v1/users/" + w.user(), body: harness.Body{"role": "operator"}}
		},
		"delete-user": func(w *fixture) call { return call{path: "/v1/users/" + w.user()} },
		"mint-token": func(w *fixture) call {
			return call{path: "/v1/tokens", object: "token", body: harness.Body{"name": w.name("k")}}
		},
		"revoke-token": func(w *fixture) call { return call{path: "/v1/tokens/" + w.token()} },
		"update-queue": func(w *fixture) call {
			return call{path: "/v1/queues/" + w.name("q"), object: "queue", body: harness.Body{"max_concurrent": 2}}
		},
		"mint-worker-token": func(w *fixture) call {
			return call{path: "/v1/worker-tokens", object: "worker_token", body: harness.Body{"name": w.name("k")}}
		},
		"revoke-worker-token": func(w *fixture) call {
			return call{path: "/v1/worker-tokens/" + w.id("/v1/worker-tokens", harness.Body{"name": w.name("k")}),
				object: "worker_token"}
		},
		"create-team": func(w *fixture) call {
			return call{path: "/v1/teams", object: "team", body: harness.Body{"name": w.name("t")}}
		},
		"delete-team": func(w *fixture) call { return call{path: "/v1/teams/" + w.team()} },
		"add-team-member": func(w *fixture) call {
			return call{path: "/v1/teams/" + w.team() + "/members", body: harness.Body{"user_id": w.user()}}
		},
		"remove-team-member": func(w *fixture) call {
			team, user := w.team(), w.user()
			w.Do(http.MethodPost, "/v1/teams/"+team+"/members", harness.Body{"user_id": user})
			return call{path: "/v1/teams/" + team + "/members/" + user}
		},
		"create-org": func(w *fixture) call {
			return call{path: "/v1/orgs", object: "org", body: harness.Body{"name": w.name("o")}}
		},
		"delete-org": func(w *fixture) call { return call{path: "/v1/orgs/" + w.org()} },
		"put-org-member": func(w *fixture) call {
			return call{path: "/v1/orgs/" + w.org() + "/members", body: harness.Body{"user_id": w.user(), "role": "member"}}
		},
		"remove-org-member": func(w *fixture) call {
			org, user := w.org(), w.user()
			w.Do(http.MethodPost, "/v1/orgs/"+org+"/members", harness.Body{"user_id": user, "role": "member"})
			return call{path: "/v1/orgs/" + org + "/members/" + user}
		},
		"create-grant": func(w *fixture) call { return call{path: "/v1/grants", object: "grant", body: w.grantBody()} },
		"delete-grant": func(w *fixture) call { return call{path: "/v1/grants/" + w.id("/v1/grants", w.grantBody())} },
	}
}

// elsewhere lists the recorded operations that other tests call: they need a provider.
func elsewhere() []string { return []string{"complete-oidc", "complete-saml", "exchange-code"} }

// TestEveryChangeHasExactlyOneEntry calls every recorded operation of the live document, on both engines.
func TestEveryChangeHasExactlyOneEntry(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := &fixture{t: t}
		w.makeRepo()
		w.brittle = t.TempDir()
		licence := filepath.Join(t.TempDir(), "licence.json") // for the repair of drift
		write(t, licence, string(harness.Licence(t, system.Team, time.Hour)))
		w.Server = harness.Start(t, harness.Options{
			DB: dbURL, Main: brittleMain,
			Flags: append(w.model().Flags(), "--local-projects", filepath.Dir(w.repo), "--license", licence),
			Env:   []string{"BRITTLE=" + w.brittle},
		})
		publish(t, w.Dir+"/fails.yml", "- hosts: all\n  gather_facts: false\n  tasks:\n    - fail: {msg: no}\n")
		publish(t, w.Dir+"/hosts", "a ansible_connection=local\nb ansible_connection=local\n")
		drives := calls()
		maps.Copy(drives, catalogCalls())
		maps.Copy(drives, secretCalls())
		maps.Copy(drives, deadLetterCalls())
		maps.Copy(drives, driftCalls())
		maps.Copy(drives, aiCalls())
		for _, op := range recorded(t, w.Client) {
			if slices.Contains(elsewhere(), op.id) {
				continue
			}
			prepare, known := drives[op.id]
			if !known {
				t.Errorf("%s %s (%s) is recorded as %s and no test drives it", op.method, op.path, op.id, op.action)
				continue
			}
			delete(drives, op.id)
			t.Run(op.id, func(t *testing.T) { w.drive(t, op, prepare(w)) })
		}
		for id := range drives {
			t.Errorf("%s is driven, and the document does not say that it is recorded", id)
		}
		intact(t, w.Server)
	})
}

// drive makes one call and checks its entry in the trail.
func (w *fixture) drive(t *testing.T, op operation, c call) {
	before := newest(t, w.Server)
	client := w.Client
	if c.as != "" || c.nobody {
		client = w.As(c.as)
	}
	a := client.Do(op.method, c.path, c.body, c.header...)
	if a.Status < 200 || a.Status > 299 {
		t.Fatalf("%s %s: %d %s", op.method, c.path, a.Status, a.Body)
	}
	all := trail(t, w.Server, before)
	got := own(all)
	if len(got) != 1 || got[0].Action != op.action {
		t.Fatalf("the entries are %+v, want one %s", all, op.action)
	}
	e := got[0]
	if want := fmt.Sprintf("%d:%s", e.Seq, e.Hash); a.Header.Get("Audit-Receipt") != want {
		t.Errorf("Audit-Receipt is %q, want %q", a.Header.Get("Audit-Receipt"), want)
	}
	kind := c.object
	if kind == "" {
		kind = strings.TrimSuffix(strings.Split(c.path, "/")[2], "s")
	}
	if kind == "*" {
		kind = e.Object.Kind
	}
	switch {
	case e.Outcome != "applied" || e.Actor.Type != cmp.Or(c.actor, "user") ||
		c.actor == "" && !strings.HasPrefix(e.Actor.ID, "usr_") || e.Actor.Name == "":
		t.Errorf("actor and outcome: %+v", e)
	case e.Actor.IP != "127.0.0.1":
		t.Errorf("the address is %q", e.Actor.IP)
	case e.Method != op.method || e.Path != cmp.Or(c.recorded, c.path):
		t.Errorf("%s %s is recorded as %s %s", op.method, c.path, e.Method, e.Path)
	case e.Object.Kind != kind || e.Object.ID == "":
		t.Errorf("the object is %+v, want a %s", e.Object, kind)
	case !strings.HasPrefix(e.DetailsHash, "sha256:") || len(e.DetailsHash) != 71:
		t.Errorf("the digest of what was asked is %q", e.DetailsHash)
	case len(e.PrevHash) != 64 || !strings.HasPrefix(e.ID, "aud_") || e.At == "":
		t.Errorf("%+v", e)
	}
	if strings.Contains(string(a.Body), password) {
		t.Error("the answer repeats a password")
	}
}

// operation is a recorded operation of the live API document.
type operation struct{ id, method, path, action string }

func recorded(t *testing.T, c harness.Client) []operation {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Mutates     bool   `json:"x-mutates"`
			Report      bool   `json:"x-report"`
			Access      string `json:"x-access"`
			Audit       string `json:"x-audit"`
		} `json:"paths"`
	}
	c.Do(http.MethodGet, "/openapi.json", nil).JSON(t, &doc)
	var out []operation
	for path, item := range doc.Paths {
		for method, op := range item {
			if op.Mutates && op.Audit == "" {
				t.Errorf("%s changes something and has no action", op.OperationID)
			}
			if op.Report && (op.Audit != "" || op.Access != "worker") {
				t.Errorf("%s is the report of a worker, whose entries are the run's: %+v", op.OperationID, op)
			}
			if writes := method != "get"; writes && op.Access == "worker" != op.Report {
				t.Errorf("%s is called by workers and is no report", op.OperationID)
			}
			if op.Audit != "" {
				out = append(out, operation{op.OperationID, strings.ToUpper(method), path, op.Audit})
			}
		}
	}
	slices.SortFunc(out, func(a, b operation) int { return strings.Compare(a.id, b.id) })
	if len(out) < 20 {
		t.Errorf("only %d operations are recorded", len(out))
	}
	return out
}
