package scheduling_test

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/scheduling"
)

const (
	hookPath = "/hooks/" + hookToken
	form     = "application/x-www-form-urlencoded"
)

// delivered returns the delivery that the module received.
func (f *fixture) delivered() scheduling.Delivery {
	f.t.Helper()
	f.fake.mu.Lock()
	defer f.fake.mu.Unlock()
	if len(f.fake.asked) == 1 {
		if d, ok := f.fake.asked[0].(scheduling.Delivery); ok {
			return d
		}
	}
	f.t.Fatal("nothing was delivered")
	return scheduling.Delivery{}
}

func TestHookAnswers(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, c := range []struct {
		delivered scheduling.Delivered
		status    int
		body      string
	}{
		{scheduling.Delivered{RunID: "run_1", Done: true}, 202, `{"run_id":"run_1"}`},
		{scheduling.Delivered{Ignored: "template_busy", Done: true}, 200, `{"ignored":"template_busy"}`},
		{scheduling.Delivered{Ignored: "the event is a ping", Done: true}, 200, `{"ignored":"the event is a ping"}`},
	} {
		f.fake.answered = c.delivered
		// The caller is not signed in, and a repeated delivery gets the same answer.
		for range 2 {
			f.Call("POST", hookPath, "", `{}`, "X-GitHub-Delivery", "d1").Is(c.status, c.body).Has("Cache-Control", "no-store").
				Has("Content-Type", "application/json").Has("X-Content-Type-Options", "nosniff")
		}
	}
	f.fake.answered = scheduling.Delivered{}
	a := f.Call("POST", hookPath, "", `{}`)
	if a.Problem(503, "unavailable"); a.Header.Get("Retry-After") == "" {
		t.Error("nobody knows when to try again")
	}
	f.Call("POST", "/hooks/an0therTokenan0therToken", "", `{}`).Problem(404, "trigger_not_found")
	for reason, c := range map[string]struct {
		err    error
		status int
	}{
		"bad_signature":     {scheduling.BadSignature.New("the signature does not fit"), 401},
		"trigger_not_found": {scheduling.TriggerNotFound.New("no such hook"), 404},
		"forbidden":         {scheduling.NotAllowed.New("the template may not be used"), 403},
		"invalid":           {fault.BadField("body", "is no push"), 400},
		"internal":          {errors.New("the database is gone"), 500},
	} {
		f.fake.answer(c.err)
		f.Call("POST", hookPath, "", `{}`).Problem(c.status, reason)
	}
	f.Call("GET", hookPath, "", "").Has("Allow", "POST").Problem(405, "method_not_allowed")
	f.Call("POST", hookPath+"/more", "", `{}`).Problem(404, "not_found")
	f.Call("POST", "/hooks/", "", `{}`).Problem(404, "not_found")
	f.Call("POST", "/v1"+hookPath, "", `{}`).Problem(404, "not_found")
}

// TestHookBytes: the module gets exactly the signed bytes.
func TestHookBytes(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, body := range []string{
		"{\"a\": 1.0,\n \"a\":2}\n", "{\"a\":\"\\u0000\\ud800\"}", "\xff\xfe\x00", "not JSON", strings.Repeat("[", 1000),
		"payload=%zz&payload=\x00", " ",
	} {
		for _, media := range []string{"application/json", form, "application/json; charset=utf-8", "Application/JSON"} {
			a := f.Call("POST", hookPath+"?token=x", "", body, "Content-Type", media, "X-Hub-Signature-256", "sha256=00",
				"X-Gitlab-Token", signing,
				"Authorization", "Bearer admin", "Cookie", "writ_session=admin")
			d := f.delivered()
			if a.Status != 202 || d.Token != hookToken || string(d.Body) != body {
				t.Errorf("%s: %d %q", media, a.Status, d.Body)
			}
			if d.Header.Get("X-Hub-Signature-256") != "sha256=00" || d.Header.Get("X-Gitlab-Token") != signing ||
				d.Header.Get("Content-Type") != media ||
				d.Header.Get("Authorization")+d.Header.Get("Cookie") != "" {
				t.Errorf("%v", d.Header)
			}
		}
	}
	// A token may be any text.
	f.Call("POST", "/hooks/"+url.PathEscape("../a b/ä?"), "", `{}`).Problem(404, "trigger_not_found")
	if got := f.delivered().Token; got != "../a b/ä?" {
		t.Errorf("%q", got)
	}
	f.fake.asked = nil
	for _, media := range []string{"", "text/plain", "multipart/form-data; boundary=x", "application/json; charset=latin1",
		"application/json, " + form} {
		f.Call("POST", hookPath, "", `{}`, "Content-Type", media).Problem(415, "unsupported_media_type")
	}
	f.Call("POST", hookPath, "", `{}`, "Content-Encoding", "gzip").Problem(415, "unsupported_media_type")
	f.Call("POST", hookPath, "", "", "Content-Type", "application/json").Problem(400, "invalid")
	f.wasAsked()
}

// Keeps T05.
func TestHookSize(t *testing.T) {
	t.Parallel()
	f := setup(t)
	body := strings.Repeat("x", scheduling.MaxHook)
	f.Call("POST", hookPath, "", body).Is(202, `{"run_id":"run_1"}`)
	if len(f.delivered().Body) != scheduling.MaxHook {
		t.Error("the body was cut")
	}
	f.fake.asked = nil
	a := f.Call("POST", hookPath, "", body+"x")
	if a.Problem(413, "too_large"); !strings.Contains(a.Body, `"limit":5242880`) {
		t.Error(a.Body)
	}
	f.wasAsked()
	// A body without a length is limited as well.
	r, w := io.Pipe()
	go func() {
		_, err := io.WriteString(w, body+"x")
		_ = w.CloseWithError(err)
	}()
	req, err := http.NewRequestWithContext(t.Context(), "POST", f.URL+hookPath, r)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	_ = r.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", resp.StatusCode)
	}
	f.wasAsked()
}

// TestHookTokenIsSecret: no log contains the token, and the trail contains the pattern of the path.
// Keeps T55.
func TestHookTokenIsSecret(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const agent = "forge/1"
	for _, err := range []error{
		nil, scheduling.BadSignature.New("the signature does not fit"), errors.New("the database is gone"),
		scheduling.NotAllowed.New("no"),
	} {
		f.fake.answer(err)
		a := f.Call("POST", hookPath, "", `{}`, "User-Agent", agent, "X-Request-Id", "r1", "X-Gitlab-Token", signing)
		want := actor.Request{ID: "r1", Method: "POST", Path: "/hooks/{token}", Agent: agent}
		if f.fake.request != want || f.fake.actor.Type != actor.Anonymous || f.fake.actor.IP != "127.0.0.1" {
			t.Errorf("%+v by %+v", f.fake.request, f.fake.actor)
		}
		if strings.Contains(a.Body, hookToken) || strings.Contains(a.Body, signing) {
			t.Errorf("%s", a.Body)
		}
	}
	f.Call("GET", hookPath, "", "")
	f.Call("POST", hookPath+"/more", "", `{}`)
	f.Call("POST", hookPath, "", "x", "Content-Type", "text/plain")
	f.Call("POST", hookPath, "", strings.Repeat("x", scheduling.MaxHook+1))
	if log := f.Log.String(); strings.Contains(log, hookToken) || strings.Contains(log, signing) ||
		!strings.Contains(log, `"route":"/hooks/{token}"`) {
		t.Errorf("log: %s", log)
	}
	if got := f.Recorder.Entries(); len(got) > 0 {
		t.Errorf("what nobody is known by left %v", got)
	}
}
