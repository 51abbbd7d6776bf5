package execution_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/httpapi"
	executionapi "github.com/writ-automation/writ/adapters/httpapi/execution"
	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/secret"
)

const tokensPath = "/v1/worker-tokens"

var minted = time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC)

// tokenCanary is the text of every token.
const tokenCanary = "writ_worker_C4nary"

// tokens knows the token "wkt_known", and mints under every name but "taken".
type tokens struct{ asked []string }

func known() execution.WorkerToken {
	return execution.WorkerToken{ID: "wkt_known", Name: "edge", Queues: []string{"dmz"}, CreatedAt: minted,
		CreatedBy: "usr_admin"}
}

func (k *tokens) Mint(
	_ context.Context, name string, queues []string, ttl time.Duration,
) (execution.WorkerToken, secret.Text, error) {
	k.asked = append(k.asked, fmt.Sprintf("mint %s %q %s", name, queues, ttl))
	if name == "taken" {
		return execution.WorkerToken{}, "", access.NameTaken.New("the worker has a token")
	}
	t := known()
	t.Name = name
	if ttl > 0 {
		t.ExpiresAt = minted.Add(ttl)
	}
	return t, tokenCanary, nil
}

func (k *tokens) Get(_ context.Context, id string) (execution.WorkerToken, error) {
	if id != "wkt_known" {
		return execution.WorkerToken{}, execution.WorkerTokenNotFound.New("no such worker token")
	}
	return known(), nil
}

func (k *tokens) List(context.Context, page.Window) ([]execution.WorkerToken, int, error) {
	return []execution.WorkerToken{known()}, 3, nil
}

func (k *tokens) Revoke(ctx context.Context, id string) error {
	k.asked = append(k.asked, "revoke "+id)
	_, err := k.Get(ctx, id)
	return err
}

func serveTokens(t *testing.T, c httpapi.Config) (*httpapitest.Server, *tokens) {
	t.Helper()
	k := &tokens{}
	c.Version = "1"
	return httpapitest.Serve(t, c, executionapi.New(executionapi.Params{Fleet: fleet{}, Tokens: k})), k
}

const knownJSON = `{"id":"wkt_known","name":"edge","queues":["dmz"],"created_at":"2026-05-01T12:00:00Z",` +
	`"created_by":"usr_admin"}`

// TestWorkerTokens: the text is shown by the answer that makes the token, and nowhere else.
func TestWorkerTokens(t *testing.T) {
	t.Parallel()
	s, k := serveTokens(t, httpapi.Config{})
	s.Call("POST", tokensPath, "admin", `{"name":"edge"}`).Has("Location", tokensPath+"/wkt_known").Has("ETag", `"1"`).
		Has("Cache-Control", "no-store").
		Is(201, strings.TrimSuffix(knownJSON, "}")+`,"token":"`+tokenCanary+`"}`)
	s.Call("POST", tokensPath, "admin", `{"name":"e.d_g-9","queues":["a","b/c:d"],"expires_in":3600}`).
		Is(201, `{"id":"wkt_known","name":"e.d_g-9","queues":["dmz"],"created_at":"2026-05-01T12:00:00Z",
			"created_by":"usr_admin","expires_at":"2026-05-01T13:00:00Z","token":"`+tokenCanary+`"}`)
	s.Call("GET", tokensPath, "admin", "").
		Is(200, `{"worker_tokens":[`+knownJSON+`],"count":1,"total":3,"limit":1000}`)
	s.Call("GET", tokensPath+"/wkt_known", "admin", "").Has("ETag", `"1"`).Is(200, knownJSON)
	s.Call("GET", tokensPath+"/wkt_other", "admin", "").Problem(404, "worker_token_not_found")
	s.Call("DELETE", tokensPath+"/wkt_other", "admin", "").Problem(404, "worker_token_not_found")
	s.Call("DELETE", tokensPath+"/wkt_other", "admin", "", "If-Match", `"2"`).Problem(404, "worker_token_not_found")
	s.Call("DELETE", tokensPath+"/wkt_known", "admin", "", "If-Match", `"2"`).Problem(412, "precondition_failed")
	s.Call("DELETE", tokensPath+"/wkt_known", "admin", "", "If-Match", "1").Problem(412, "precondition_failed")
	s.Call("DELETE", tokensPath+"/wkt_known", "admin", "", "If-Match", `"1"`).Is(204, "")
	s.Call("DELETE", tokensPath+"/wkt_known", "admin", "").Is(204, "")
	s.Call("POST", tokensPath, "admin", `{"name":"taken"}`).Problem(409, "name_taken")
	want := []string{"mint edge [] 0s", `mint e.d_g-9 ["a" "b/c:d"] 1h0m0s`, "revoke wkt_other", "revoke wkt_known",
		"revoke wkt_known", "mint taken [] 0s"}
	if diff := cmp.Diff(want, k.asked); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(s.Log.String(), tokenCanary) {
		t.Error("the text is in the log")
	}
}

// TestWorkerTokensByCaller: they are for admins alone, whatever the body says.
func TestWorkerTokensByCaller(t *testing.T) {
	t.Parallel()
	s, k := serveTokens(t, httpapi.Config{WorkerToken: "the-shared-token-of-all-workers"})
	for _, c := range [][2]string{
		{"POST", tokensPath}, {"GET", tokensPath}, {"GET", tokensPath + "/wkt_known"}, {"DELETE", tokensPath + "/wkt_known"},
	} {
		for _, body := range []string{"", `{"name":"edge"}`, `{"name":`} {
			if c[0] != "POST" && body != "" {
				continue
			}
			for _, who := range []string{"", "nobody", tokenCanary, "the-shared-token-of-all-workers"} {
				s.Call(c[0], c[1], who, body).Problem(401, "bad_token")
			}
			for _, who := range []string{"viewer", "operator"} {
				s.Call(c[0], c[1], who, body).Problem(403, "forbidden")
			}
		}
	}
	if len(k.asked) > 0 {
		t.Errorf("%q", k.asked)
	}
	var refused []string
	for _, e := range s.Recorder.Entries() {
		refused = append(refused, string(e.Action)+" "+string(e.Outcome))
	}
	slices.Sort(refused)
	if got := slices.Compact(refused); len(got) != 2 || !strings.HasPrefix(got[0], "worker.token_create") ||
		!strings.HasPrefix(got[1], "worker.token_revoke") {
		t.Errorf("the trail of the refusals: %q", got)
	}
	s, k = serveTokens(t, httpapi.Config{ReadOnly: true})
	s.Call("POST", tokensPath, "admin", `{"name":"edge"}`).Problem(403, "read_only")
	s.Call("DELETE", tokensPath+"/wkt_known", "admin", "").Problem(403, "read_only")
	s.Call("GET", tokensPath, "admin", "")
	if len(k.asked) > 0 {
		t.Errorf("a server that only reads: %q", k.asked)
	}
}

// TestBadWorkerTokens names each member that is wrong.
func TestBadWorkerTokens(t *testing.T) {
	t.Parallel()
	s, k := serveTokens(t, httpapi.Config{})
	many, err := json.Marshal(strings.Fields(strings.Repeat("q ", 65)))
	if err != nil {
		t.Fatal(err)
	}
	for body, at := range map[string]string{
		`{}`: "name", `{"name":""}`: "name", `{"name":null}`: "name", `{"name":7}`: "name", `{"name":"a/b"}`: "name",
		`{"name":"-a"}`: "name", `{"name":"a b"}`: "name", `{"name":"ä"}`: "name", `{"name":"a\n"}`: "name",
		`{"name":"` + strings.Repeat("a", 129) + `"}`: "name",
		`{"name":"a","queues":"dmz"}`:                 "queues", `{"name":"a","queues":[1]}`: "queues[0]",
		`{"name":"a","queues":` + string(many) + `}`:        "queues",
		`{"name":"a","expires_in":0}`:                       "expires_in",
		`{"name":"a","expires_in":-1}`:                      "expires_in",
		`{"name":"a","expires_in":1.5}`:                     "expires_in",
		`{"name":"a","expires_in":"1h"}`:                    "expires_in",
		`{"name":"a","expires_in":3153600001}`:              "expires_in",
		`{"name":"a","expires_in":99999999999999999999999}`: "expires_in",
		`{"name":"a","token":"mine"}`:                       "token",
		`{"name":"a","id":"wkt_mine"}`:                      "id",
	} {
		if where := s.Call("POST", tokensPath, "admin", body).Problem(400, "invalid"); !slices.Contains(where, at) {
			t.Errorf("%.60s: %q", body, where)
		}
	}
	for _, body := range []string{"", "[]", "null", `"x"`, `{"name":"a"`, `{"name":"a","name":"b"}`, `{"name":"a"} {}`} {
		if a := s.Call("POST", tokensPath, "admin", body); a.Status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", body, a.Status, a.Body)
		}
	}
	s.Call("POST", tokensPath, "admin", `name=a`, "Content-Type", "application/x-www-form-urlencoded").
		Problem(415, "unsupported_media_type")
	s.Call("GET", tokensPath+"?limit=-1", "admin", "").Problem(400, "invalid")
	s.Call("GET", tokensPath+"?nope=1", "admin", "").Problem(400, "invalid")
	if len(k.asked) > 0 {
		t.Errorf("%q", k.asked)
	}
}
