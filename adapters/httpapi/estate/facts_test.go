package estate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/httpapi"
	estateapi "github.com/writ-automation/writ/adapters/httpapi/estate"
	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/fault"
)

// fakeEstate yields n hosts, then fails with err, and keeps what it was asked.
type fakeEstate struct {
	n        int
	err      error
	q        estate.AtQuery
	from, to time.Time
	buckets  int
}

func gathered() time.Time { return time.Date(2026, 5, 1, 12, 0, 0, 5000, time.UTC) }

func reading(i int) estate.Reading {
	return estate.Reading{Host: fmt.Sprint("h", i), RunID: "run_1", GatheredAt: gathered(),
		Facts: estate.Facts{"a.b": []byte(`{}`), "n": []byte("1e999"), "q\"\x00<\xff": []byte(`[1]`)}}
}

func (e *fakeEstate) At(
	_ context.Context, q estate.AtQuery, yield func(estate.Reading) error,
) (estate.AtSummary, error) {
	e.q = q
	for i := range e.n {
		if err := yield(reading(i)); err != nil {
			return estate.AtSummary{}, err
		}
	}
	return estate.AtSummary{At: gathered(), Count: e.n, Withheld: 3, Horizon: gathered(), BeforeHistory: true,
		HasMore: true}, e.err
}

func (e *fakeEstate) Diff(
	_ context.Context, from, to time.Time, yield func(estate.HostChange) error,
) (estate.DiffSummary, error) {
	e.from, e.to = from, to
	for i := range e.n {
		err := yield(estate.HostChange{Host: fmt.Sprint("h", i), Facts: []estate.FactChange{
			{Key: "a", From: []byte("1"), To: []byte("null")}, {Key: "b", To: []byte(`"x"`)}, {Key: "c", From: []byte("[]")}}})
		if err != nil {
			return estate.DiffSummary{}, err
		}
	}
	return estate.DiffSummary{From: from, To: to, Added: []string{"z"}, Unchanged: 4, Withheld: 5}, e.err
}

func (e *fakeEstate) Timeline(_ context.Context, from, to time.Time, buckets int) ([]estate.Bucket, error) {
	e.from, e.to, e.buckets = from, to, buckets
	return []estate.Bucket{{At: gathered(), Readings: 2, Changed: 1}}, e.err
}

func (e *fakeEstate) Newest(_ context.Context, host string) (estate.Reading, error) {
	if host != "h/1" {
		return estate.Reading{}, estate.HostNotFound.New("no facts of the host %s are known", host)
	}
	return estate.Reading{Host: host, RunID: "run_1", GatheredAt: gathered()}, nil
}

func (e *fakeEstate) Changed(context.Context, string) (map[string]time.Time, error) {
	return nil, e.err
}

func serve(t *testing.T, e *fakeEstate) *httpapitest.Server {
	t.Helper()
	return httpapitest.Serve(t, httpapi.Config{Version: "1"},
		estateapi.New(estateapi.Params{Ignores: &fakeIgnores{}, Estate: e}))
}

const when = `"2026-05-01T12:00:00.000005Z"`

func TestEstate(t *testing.T) {
	t.Parallel()
	e := &fakeEstate{n: 2}
	s := serve(t, e)
	host := func(i int) string {
		return fmt.Sprintf(`{"host":"h%d","facts":{"a.b":{},"n":1e999,"q\"\u0000<�":[1]},"gathered_at":%s,`+
			`"run_id":"run_1"}`, i, when)
	}
	rest := `"at":` + when + `,"count":2,"has_more":true,"withheld":3,"horizon":` + when + `,"before_history":true}`
	s.Call("GET", "/v1/estate?at=2026-05-01T14:00:00%2B02:00&q=x&keys=a&keys=b.c&after=h&limit=2", "viewer", "").
		Is(200, `{"hosts":[`+host(0)+`,`+host(1)+`],`+rest)
	want := estate.AtQuery{At: gathered().Truncate(time.Second), Query: "x", Keys: []string{"a", "b.c"}, After: "h",
		Limit: 2}
	if d := cmp.Diff(want, e.q); d != "" {
		t.Error(d)
	}
	e.n = 0
	s.Call("GET", "/v1/estate", "viewer", "").Is(200, `{"hosts":[],`+strings.Replace(rest, `"count":2`, `"count":0`, 1))
	if a := s.Call("HEAD", "/v1/estate", "viewer", ""); a.Status != 200 || a.Body != "" {
		t.Errorf("HEAD answers %d with %q", a.Status, a.Body)
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	s := serve(t, &fakeEstate{n: 1})
	s.Call("GET", "/v1/estate/diff?from=2026-05-01T12:00:00Z&to=2026-05-02T12:00:00Z", "viewer", "").Is(200,
		`{"changed":[{"host":"h0","facts":[{"key":"a","from":1,"to":null},{"key":"b","to":"x"},{"key":"c","from":[]}]}],
		"from":"2026-05-01T12:00:00Z","to":"2026-05-02T12:00:00Z","added":["z"],"unobserved":[],"unchanged":4,"withheld":5,
		"horizon":null,"before_history":false}`)
}

func TestTimelineAndHost(t *testing.T) {
	t.Parallel()
	e := &fakeEstate{}
	s := serve(t, e)
	s.Call("GET", "/v1/estate/timeline", "viewer", "").Is(200, `{"buckets":[{"at":`+when+`,"readings":2,"changed":1}]}`)
	if e.buckets != 30 || !e.from.IsZero() || !e.to.IsZero() {
		t.Errorf("asked %+v", e)
	}
	s.Call("GET", "/v1/estate/timeline?buckets=7&from=2026-05-01T12:00:00Z", "viewer", "")
	if e.buckets != 7 || e.from.IsZero() {
		t.Errorf("asked %+v", e)
	}
	s.Call("GET", "/v1/hosts/h%2F1/facts", "viewer", "").
		Is(200, `{"host":"h/1","facts":{},"gathered_at":`+when+`,"run_id":"run_1"}`)
	s.Call("GET", "/v1/hosts/other/facts", "viewer", "").Problem(404, "host_not_found")
}

// TestBadQuestions names the field that is wrong, and answers every role but nobody.
func TestBadQuestions(t *testing.T) {
	t.Parallel()
	s := serve(t, &fakeEstate{})
	for path, field := range map[string]string{
		"/v1/estate?at=yesterday": "at", "/v1/estate?limit=-1": "limit", "/v1/estate?nothing=1": "nothing",
		"/v1/estate/diff": "from", "/v1/estate/diff?from=x": "from", "/v1/estate/diff?from=2026-05-01T12:00:00Z&to=1": "to",
		"/v1/estate/timeline?buckets=x": "buckets", "/v1/estate/timeline?to=x": "to", "/v1/hosts/a/facts?x=1": "x",
		"/v1/estate?q=" + strings.Repeat("x", 5000): "q",
	} {
		fields := s.Call("GET", path, "viewer", "").Problem(400, "invalid")
		if len(fields) != 1 || fields[0] != field {
			t.Errorf("%s names %v", path, fields)
		}
	}
	for _, path := range []string{"/v1/estate", "/v1/estate/timeline", "/v1/hosts/h%2F1/facts",
		"/v1/estate/diff?from=2026-05-01T12:00:00Z"} {
		for who, status := range map[string]int{"viewer": 200, "operator": 200, "admin": 200, "": 401, "other": 401} {
			if a := s.Call("GET", path, who, ""); a.Status != status {
				t.Errorf("%s as %q is %d", path, who, a.Status)
			}
		}
	}
}

// TestStreamsThatFail are errors as long as nothing was sent, and never look whole after that.
func TestStreamsThatFail(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/v1/estate", "/v1/estate/diff?from=2026-05-01T12:00:00Z"} {
		s := serve(t, &fakeEstate{n: 3, err: fault.BadField("q", "is wrong")})
		s.Call("GET", path, "viewer", "").Problem(400, "invalid")
		s = serve(t, &fakeEstate{n: 3000, err: errors.New("the database is gone")})
		a, err := httpapitest.Send(t, "GET", s.URL+path, "viewer", "")
		if err == nil || a.Status != 200 || !strings.HasPrefix(a.Body, "{") || strings.Contains(a.Body, "withheld") {
			t.Errorf("%s answers %d with %d bytes, %v", path, a.Status, len(a.Body), err)
		}
		if n := strings.Count(s.Log.String(), "the database is gone"); n != 1 {
			t.Errorf("the cause is logged %d times", n)
		}
	}
}
