package ai_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	aiapi "github.com/writ-automation/writ/adapters/httpapi/ai"
	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	"github.com/writ-automation/writ/ports/ai"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// TestMain checks that no server outlives the tests.
func TestMain(m *testing.M) { httpapitest.Main(m) }

// advisor answers with pieces, and fails after them if it is told to.
type advisor struct {
	pieces []string
	fails  error
	asked  string
}

func (a *advisor) say(asked string, write ai.Write) (ai.Answer, error) {
	a.asked = asked
	for _, p := range a.pieces {
		if write != nil {
			if err := write(p); err != nil {
				return ai.Answer{}, err
			}
		}
	}
	return ai.Answer{Text: strings.Join(a.pieces, ""), Model: "m", Provider: "own", Tokens: 7}, a.fails
}

func (*advisor) Enabled() bool { return true }

func (a *advisor) Explain(_ context.Context, id string, write ai.Write) (ai.Answer, error) {
	return a.say("explain "+id, write)
}

func (a *advisor) Draft(_ context.Context, tool, description string, write ai.Write) (ai.Answer, error) {
	return a.say("draft "+tool+" "+description, write)
}

func (a *advisor) Ask(_ context.Context, question string, write ai.Write) (ai.Answer, error) {
	return a.say("ask "+question, write)
}

func (a *advisor) Propose(_ context.Context, request string) (*runs.Run, error) {
	a.asked = "propose " + request
	if a.fails != nil {
		return nil, a.fails
	}
	return &runs.Run{ID: "run_1", Kind: runs.Single, Status: runs.PendingApproval,
		Origin: runs.Origin{Source: runs.FromProposal}, Labels: map[string]string{ai.ProposalLabel: ai.ProposalValue},
		Spec: runs.Spec{Tool: "bash", Command: "uptime", RequireApproval: true}}, nil
}

type wall struct{}

func (wall) Now() time.Time { return time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC) }

func serve(t *testing.T, a *advisor, config httpapi.Config) *httpapitest.Server {
	t.Helper()
	return httpapitest.Serve(t, config, aiapi.New(aiapi.Params{Advisor: a, Clock: wall{}}))
}

// asks are the operations of advice, with what the advisor hears.
func asks() map[string][2]string {
	return map[string][2]string{
		"/v1/runs/run_1/explain": {"{}", "explain run_1"},
		"/v1/ai/draft":           {`{"tool":"bash","description":"list files"}`, "draft bash list files"},
		"/v1/ai/ask":             {`{"question":"which?"}`, "ask which?"},
	}
}

// TestAdvice: an answer is text in JSON, or events with its pieces.
func TestAdvice(t *testing.T) {
	t.Parallel()
	a := &advisor{pieces: []string{"<script>", "\nevent: x\n\n", "京"}}
	s := serve(t, a, httpapi.Config{Version: "1", ReadOnly: true})
	for path, ask := range asks() {
		got := s.Call(http.MethodPost, path, "operator", ask[0]).Is(200,
			`{"text":"<script>\nevent: x\n\n京","model":"m","provider":"own","tokens":7}`)
		if got.Header.Get("Content-Type") != "application/json" || a.asked != ask[1] {
			t.Errorf("%s: %s, %q", path, got.Header.Get("Content-Type"), a.asked)
		}
		got = s.Call(http.MethodPost, path, "operator", ask[0], "Accept", "application/json;q=0.5, text/event-stream")
		const want = "event: text\ndata: {\"text\":\"<script>\"}\n\nevent: text\ndata: {\"text\":\"\\nevent: x\\n\\n\"}\n\n" +
			"event: text\ndata: {\"text\":\"京\"}\n\n" +
			"event: answer\ndata: {\"text\":\"<script>\\nevent: x\\n\\n京\"," +
			"\"model\":\"m\",\"provider\":\"own\",\"tokens\":7}\n\n"
		if got.Status != 200 || string(got.Body) != want ||
			!strings.HasPrefix(got.Header.Get("Content-Type"), "text/event-stream") {
			t.Errorf("%s: %d %s", path, got.Status, got.Body)
		}
	}
}

// TestFailures: an error before the first piece is an error answer, and later an event. Causes are not shown.
func TestFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err    error
		status int
		reason string
	}{
		{ai.Disabled.New("off"), 404, "ai_disabled"}, {ai.TooMany.New("later"), 429, "ai_rate_limited"},
		{ai.Failed.New("no").Because(errors.New("c4nary")), 503, "ai_failed"}, {ai.Busy.New("busy"), 503, "ai_busy"},
		{errors.New("c4nary"), 500, "internal"}, {runs.RunNotFound.New("no"), 404, "run_not_found"},
	} {
		for path, ask := range asks() {
			for pieces, stream := range []string{"application/json", "text/event-stream"} {
				a := &advisor{fails: c.err}
				s := serve(t, a, httpapi.Config{Version: "1"})
				got := s.Call(http.MethodPost, path, "operator", ask[0], "Accept", stream)
				if got.Status != c.status || !strings.Contains(string(got.Body), `"reason":"`+c.reason+`"`) ||
					strings.Contains(string(got.Body), "c4nary") {
					t.Errorf("%s %v: %d %s", path, c.err, got.Status, got.Body)
				}
				if pieces == 0 {
					continue
				}
				a.pieces = []string{"be"}
				got = s.Call(http.MethodPost, path, "operator", ask[0], "Accept", stream)
				const begin = "event: text\ndata: {\"text\":\"be\"}\n\nevent: error\n"
				if got.Status != 200 || !strings.HasPrefix(string(got.Body), begin) ||
					!strings.Contains(string(got.Body), `"reason":"`+c.reason+`"`) || strings.Contains(string(got.Body), "c4nary") {
					t.Errorf("%s %v: %d %s", path, c.err, got.Status, got.Body)
				}
			}
		}
	}
}

// TestPropose: a proposal is a run that was made, or a refusal.
func TestPropose(t *testing.T) {
	t.Parallel()
	a := &advisor{}
	s := serve(t, a, httpapi.Config{Version: "1"})
	got := s.Call(http.MethodPost, "/v1/ai/propose-run", "operator", `{"request":"how long?"}`)
	if got.Status != 201 || got.Header.Get("Location") != "/v1/runs/run_1" || a.asked != "propose how long?" ||
		!strings.Contains(string(got.Body), `"source":"proposal"`) {
		t.Errorf("%d %s %s", got.Status, got.Header.Get("Location"), got.Body)
	}
	bad := ai.BadProposal.New("no valid run")
	bad.Fields = []fault.Field{{Location: "tool", Message: "is none"}}
	a.fails = bad
	got = s.Call(http.MethodPost, "/v1/ai/propose-run", "operator", `{"request":"how long?"}`)
	if got.Status != 400 || !strings.Contains(string(got.Body), `"reason":"ai_proposal_invalid"`) ||
		!strings.Contains(string(got.Body), `"location":"tool"`) {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}

// TestBodies: bodies are strict, and roles are checked before them.
func TestBodies(t *testing.T) {
	t.Parallel()
	a := &advisor{}
	s := serve(t, a, httpapi.Config{Version: "1"})
	for _, c := range []struct {
		path, body string
	}{
		{"/v1/ai/draft", `{"tool":"ansible","description":"x"}`}, {"/v1/ai/draft", `{"tool":"bash"}`},
		{"/v1/ai/draft", `{"tool":"bash","description":""}`}, {"/v1/ai/ask", `{}`}, {"/v1/ai/ask", `{"question":"a","b":1}`},
		{"/v1/ai/ask", `{"question":"` + strings.Repeat("x", ai.MaxText+1) + `"}`}, {"/v1/ai/propose-run", `{"request":1}`},
	} {
		if got := s.Call(http.MethodPost, c.path, "operator", c.body); got.Status != 400 {
			t.Errorf("%s %.60s: %d %s", c.path, c.body, got.Status, got.Body)
		}
	}
	if a.asked != "" {
		t.Errorf("the advisor was asked: %s", a.asked)
	}
}
