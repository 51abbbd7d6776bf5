package estate

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/fault"
)

// buckets is the number of parts of a timeline unless a request names one.
const buckets = 30

// AtInput selects hosts at an instant.
type AtInput struct {
	At    string        `query:"at" maxLength:"64" doc:"An RFC 3339 instant; now if absent."`
	Query string        `query:"q" maxLength:"4096" doc:"Only hosts whose facts fit. The guide host-queries has the language."`
	Keys  []string      `query:"keys,explode" maxItems:"100" doc:"Facts to return, each with all below it; repeated. All facts if absent."`
	After string        `query:"after" maxLength:"1024" doc:"The name of a host, after which the answer begins."`
	Limit httpapi.Count `query:"limit" doc:"The largest number of hosts. All of them if absent or 0."`
}

// HostFactsBody is the newest reading of a host.
type HostFactsBody struct {
	Host       string       `json:"host"`
	Facts      estate.Facts `json:"facts" doc:"By dotted keys. What changes all the time is only known of the newest reading."`
	GatheredAt time.Time    `json:"gathered_at"`
	RunID      string       `json:"run_id" doc:"The run may be deleted."`
}

func hostFacts(r estate.Reading) HostFactsBody {
	if r.Facts == nil {
		r.Facts = estate.Facts{}
	}
	return HostFactsBody{Host: r.Host, Facts: r.Facts, GatheredAt: r.GatheredAt, RunID: r.RunID}
}

// HistoryBody says what is left out and how far facts reach back.
type HistoryBody struct {
	Withheld      int        `json:"withheld" doc:"Hosts that are left out since the caller may not read the run that gathered their facts."`
	Horizon       *time.Time `json:"horizon" doc:"The oldest reading; null if there is none."`
	BeforeHistory bool       `json:"before_history" doc:"The instant, or the first of two, is before the horizon."`
}

// AtBody is the estate at an instant.
type AtBody struct {
	Hosts []HostFactsBody `json:"hosts" doc:"By name."`
	AtRest
}

// AtRest is what follows the hosts.
type AtRest struct {
	At      time.Time `json:"at"`
	Count   int       `json:"count" doc:"The number of hosts in this answer."`
	HasMore bool      `json:"has_more"`
	HistoryBody
}

// DiffInput selects two instants.
type DiffInput struct {
	From string `query:"from" required:"true" maxLength:"64" doc:"An RFC 3339 instant."`
	To   string `query:"to" maxLength:"64" doc:"An RFC 3339 instant; now if absent."`
}

// FactChangeBody is a fact that differs. The side without it is absent.
type FactChangeBody struct {
	Key  string `json:"key"`
	From any    `json:"from,omitempty"`
	To   any    `json:"to,omitempty"`
}

// HostChangeBody has the facts of a host that differ.
type HostChangeBody struct {
	Host  string           `json:"host"`
	Facts []FactChangeBody `json:"facts" doc:"By key."`
}

func hostChange(c estate.HostChange) HostChangeBody {
	b := HostChangeBody{Host: c.Host, Facts: make([]FactChangeBody, len(c.Facts))}
	for i, f := range c.Facts {
		b.Facts[i].Key = f.Key
		if f.From != nil {
			b.Facts[i].From = f.From
		}
		if f.To != nil {
			b.Facts[i].To = f.To
		}
	}
	return b
}

// DiffBody compares the estate at two instants.
type DiffBody struct {
	Changed []HostChangeBody `json:"changed" doc:"Hosts with differences, by name."`
	DiffRest
}

// DiffRest is what follows the changed hosts.
type DiffRest struct {
	From       time.Time `json:"from"`
	To         time.Time `json:"to"`
	Added      []string  `json:"added" doc:"Hosts that were first gathered between the two."`
	Unobserved []string  `json:"unobserved" doc:"Hosts that were not gathered between the two."`
	Unchanged  int       `json:"unchanged" doc:"Hosts that were gathered between the two and are identical."`
	HistoryBody
}

// TimelineInput selects a time and its parts.
type TimelineInput struct {
	From    string        `query:"from" maxLength:"64" doc:"An RFC 3339 instant; 30 days before to if absent."`
	To      string        `query:"to" maxLength:"64" doc:"An RFC 3339 instant; now if absent."`
	Buckets httpapi.Count `query:"buckets" doc:"The largest number of parts, from 1 to 1000; 30 if absent."`
}

// TimelineBody has the parts of a time.
type TimelineBody struct {
	Buckets []BucketBody `json:"buckets"`
}

// BucketBody is a part of a timeline. It begins at a whole hour.
type BucketBody struct {
	At       time.Time `json:"at"`
	Readings int64     `json:"readings"`
	Changed  int64     `json:"changed" doc:"Readings that differ from the one before, counted if the caller may read both."`
}

// HostInput names a host.
type HostInput struct {
	Host string `path:"host" maxLength:"1024"`
}

func instant(where, v string) (time.Time, error) {
	if v == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, v)
	if err != nil {
		return t, fault.BadField(where, "expected an RFC 3339 instant")
	}
	return t, nil
}

func between(from, to string) (a, b time.Time, err error) {
	if a, err = instant("from", from); err == nil {
		b, err = instant("to", to)
	}
	return a, b, err
}

func (h *handlers) facts(r *httpapi.Router) {
	read, at := httpapi.Needs("estate", "read"), httpapi.ExampleTime()
	run, history := "run_01k0a0009vtx5zk9w2m4n6p8rs", HistoryBody{Withheld: 1, Horizon: &at}
	host := HostFactsBody{Host: "web-1", GatheredAt: at, RunID: run,
		Facts: estate.Facts{"ansible_distribution": []byte(`"Debian"`)}}
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/estate", ID: "get-estate", Tag: "estate", Access: read, Status: http.StatusOK,
		Summary: "Read the facts of all hosts at an instant",
		Description: "Of each host the newest reading at or before the instant. The answer is streamed; it is cut off if " +
			"it fails midway, so that what is a whole document is complete.",
		Example: AtBody{Hosts: []HostFactsBody{host}, AtRest: AtRest{At: at, Count: 1, HistoryBody: history}},
		Errors:  []int{http.StatusBadRequest},
	}, func(_ context.Context, in *AtInput) (*httpapi.StreamOutput, error) {
		at, err := instant("at", in.At)
		if err != nil {
			return nil, err
		}
		q := estate.AtQuery{At: at, Query: in.Query, Keys: in.Keys, After: in.After, Limit: in.Limit.Int()}
		return stream(r, "hosts", func(ctx context.Context, yield func(any) error) (any, error) {
			s, err := h.Estate.At(ctx, q, func(r estate.Reading) error { return yield(hostFacts(r)) })
			return AtRest{At: s.At, Count: s.Count, HasMore: s.HasMore,
				HistoryBody: HistoryBody{s.Withheld, httpapi.When(s.Horizon), s.BeforeHistory}}, err
		}), nil
	})
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/estate/diff", ID: "diff-estate", Tag: "estate", Access: read,
		Status:  http.StatusOK,
		Summary: "Compare the facts of all hosts at two instants",
		Description: "Each host that was gathered by the second instant is changed, added, unobserved, unchanged or " +
			"withheld. Facts that change all the time are left out. The answer is streamed like the estate.",
		Example: DiffBody{Changed: []HostChangeBody{{Host: "web-1",
			Facts: []FactChangeBody{{Key: "ansible_kernel", From: "6.1.0-17-amd64", To: "6.1.0-18-amd64"}}}},
			DiffRest: DiffRest{From: at, To: at.AddDate(0, 0, 7), Added: []string{"web-2"}, Unobserved: []string{},
				Unchanged: 12, HistoryBody: history}},
		Errors: []int{http.StatusBadRequest},
	}, func(_ context.Context, in *DiffInput) (*httpapi.StreamOutput, error) {
		from, to, err := between(in.From, in.To)
		if err != nil {
			return nil, err
		}
		return stream(r, "changed", func(ctx context.Context, yield func(any) error) (any, error) {
			d, err := h.Estate.Diff(ctx, from, to, func(c estate.HostChange) error { return yield(hostChange(c)) })
			return DiffRest{From: d.From, To: d.To, Added: append([]string{}, d.Added...),
				Unobserved: append([]string{}, d.Unobserved...), Unchanged: d.Unchanged,
				HistoryBody: HistoryBody{d.Withheld, httpapi.When(d.Horizon), d.BeforeHistory}}, err
		}), nil
	})
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/estate/timeline", ID: "get-estate-timeline", Tag: "estate", Access: read,
		Status: http.StatusOK, Summary: "Count readings over time",
		Description: "Equal parts of whole hours, the last hour with to in it.",
		Example:     TimelineBody{[]BucketBody{{At: at, Readings: 120, Changed: 3}}},
		Errors:      []int{http.StatusBadRequest},
	}, h.timeline)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/hosts/{host}/facts", ID: "get-host-facts", Tag: "estate", Access: read,
		Status: http.StatusOK, Summary: "Read the newest facts of a host",
		Description: "Also those that change all the time.", Example: host, Errors: []int{http.StatusNotFound},
	}, func(ctx context.Context, in *HostInput) (*httpapi.Output[HostFactsBody], error) {
		return httpapi.Show(hostFacts)(h.Estate.Newest(ctx, in.Host))
	})
}

func (h *handlers) timeline(ctx context.Context, in *TimelineInput) (*httpapi.Output[TimelineBody], error) {
	from, to, err := between(in.From, in.To)
	if err != nil {
		return nil, err
	}
	n := buckets
	if in.Buckets.Set {
		n = in.Buckets.Int()
	}
	list, err := h.Estate.Timeline(ctx, from, to, n)
	return httpapi.Show(func(list []estate.Bucket) TimelineBody {
		return TimelineBody{httpapi.Rows(list, func(b estate.Bucket) BucketBody { return BucketBody(b) })}
	})(list, err)
}

// stream answers with an object: a list, whose rows are written as they are read, and the rest after it.
func stream(
	r *httpapi.Router, member string, read func(ctx context.Context, yield func(any) error) (rest any, err error),
) *httpapi.StreamOutput {
	return written(r, func(ctx context.Context, w io.Writer) error { return writeObject(ctx, w, member, read) })
}

// written answers with JSON as it is written. An answer that fails before it was sent is an error, and one that fails
// later is cut off.
func written(r *httpapi.Router, write func(ctx context.Context, w io.Writer) error) *httpapi.StreamOutput {
	return &httpapi.StreamOutput{Body: func(hctx huma.Context) {
		sink := r.NewSink(hctx, http.StatusOK, func(hd http.Header) { hd.Set("Content-Type", "application/json") })
		defer sink.Done()
		if sink.Head() {
			sink.Start()
			return
		}
		if err := write(hctx.Context(), sink); err != nil {
			sink.Fail(hctx.Context(), err, true)
		}
	}}
}
