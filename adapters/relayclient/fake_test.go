package relayclient_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/execution/executiontest"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// fake is a relay in memory: it refuses the same calls as a server.
type fake struct {
	*httptest.Server
	mu           sync.Mutex
	order        []string
	records      map[string]*record
	leaseholders map[string]leaseholder // by capability
	seen         []seen
	came         chan struct{} // closed when a run comes
	waiting      int           // claims that wait
	head         string
	grant        func(*execution.RelayGrant) // changes what a claim is answered with
	instead      func(w http.ResponseWriter, r *http.Request,
		body []byte) bool // answers in the relay's place where it is true
	after func(r *http.Request) bool // the answer to what was done is lost where it is true
}

type leaseholder struct {
	run   string
	epoch int64
}

type record struct {
	run    execution.RelayRun
	queue  string
	log    []byte
	holes  int64
	events []runs.Event
	hosts  map[string]runs.HostSummary
	tasks  []runs.TaskSummary
	facts  []runs.HostFacts
	end    *execution.RelaySave
	warn   []runs.Warning
	split  []string
	plan   executiontest.Planned
}

// seen is a received call.
type seen struct {
	method, path, capability string
	body                     []byte
}

func newFake(t *testing.T) *fake {
	f := &fake{records: make(map[string]*record), leaseholders: make(map[string]leaseholder), came: make(chan struct{})}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Server.Close)
	return f
}

// submit adds a pending run.
func (f *fake) submit(kind runs.Kind, queue string, change ...func(*execution.RelayRun)) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := fmt.Sprintf("run_%03d", len(f.order)+1)
	r := &record{run: execution.RelayRun{ID: id, Kind: kind, Status: runs.Pending}, queue: queue,
		hosts: make(map[string]runs.HostSummary)}
	for _, c := range change {
		c(&r.run)
	}
	f.records[id], f.order = r, append(f.order, id)
	close(f.came)
	f.came = make(chan struct{})
	return id
}

// expire lets a lease end as a sweeper does.
func (f *fake) expire(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := &f.records[id].run
	if r.Status = runs.Pending; r.Begun {
		r.Status = runs.Interrupted
	}
}

// set changes how the fake behaves.
func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// see reads a record.
func (f *fake) see(id string) record {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *f.records[id]
}

// calls returns the calls of paths with this suffix.
func (f *fake) calls(ending string) (out []seen) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.seen {
		if strings.HasSuffix(s.path, ending) {
			out = append(out, s)
		}
	}
	return out
}

func refuse(w http.ResponseWriter, status int, reason string, fields ...fault.Field) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"title": "t", "status": status, "detail": "d", "error": "a sentence",
		"reason": reason, "errors": fields})
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, execution.RelayBody+1))
	if err != nil {
		return
	}
	f.mu.Lock()
	f.seen = append(f.seen, seen{r.Method, r.URL.Path, r.Header.Get(execution.CapabilityHeader), body})
	instead, after := f.instead, f.after
	f.mu.Unlock()
	if instead != nil && instead(w, r, body) {
		return
	}
	rec := httptest.NewRecorder()
	switch {
	case r.Header.Get("Authorization") != "Bearer "+token:
		refuse(rec, http.StatusUnauthorized, execution.BadWorkerToken.Name)
	case len(body) > execution.RelayBody:
		refuse(rec, http.StatusRequestEntityTooLarge, "too_large")
	case r.URL.Path == "/relay/v1/claim":
		f.claim(rec, r, body)
	default:
		f.report(rec, r, body)
	}
	if after != nil && after(r) {
		panic(http.ErrAbortHandler)
	}
	for k, v := range rec.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(rec.Code)
	_, _ = w.Write(rec.Body.Bytes())
}

func (f *fake) claim(w http.ResponseWriter, r *http.Request, body []byte) {
	var q execution.RelayClaim
	if json.Unmarshal(body, &q) != nil || strings.Contains(q.Worker.Name, "/") {
		refuse(w, http.StatusBadRequest, "invalid")
		return
	}
	left := time.NewTimer(time.Duration(q.WaitSeconds) * time.Second)
	defer left.Stop()
	for waited := false; ; waited = true {
		f.mu.Lock()
		g, came := f.lease(&q), f.came
		if f.head != "" {
			w.Header().Set(execution.HeadHeader, base64.StdEncoding.EncodeToString([]byte(f.head)))
		}
		if !waited && g == nil && q.WaitSeconds > 0 {
			f.waiting++
			defer f.set(func() { f.waiting-- })
		}
		f.mu.Unlock()
		if g != nil {
			answer(w, g)
			return
		}
		select {
		case <-came:
			continue
		case <-left.C:
		case <-r.Context().Done():
		}
		w.WriteHeader(http.StatusNoContent)
		return
	}
}

// cancel requests the cancel of a run.
func (f *fake) cancel(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.records[id].run.CancelRequested = true
	close(f.came)
	f.came = make(chan struct{})
}

// canceled answers a claim for cancels.
func (f *fake) canceled(q *execution.RelayClaim) *execution.RelayGrant {
	var g execution.RelayGrant
	for _, id := range f.order {
		r := &f.records[id].run
		if r.Status == runs.Running && r.CancelRequested && r.Worker == execution.RelayPrefix+q.Worker.Name &&
			!slices.Contains(q.Canceling, id) {
			g.CancelRequested = append(g.CancelRequested, id)
		}
	}
	if len(g.CancelRequested) == 0 {
		return nil
	}
	return &g
}

func (f *fake) lease(q *execution.RelayClaim) *execution.RelayGrant {
	if q.Cancels {
		return f.canceled(q)
	}
	for _, id := range f.order {
		r := f.records[id]
		if r.run.Status != runs.Pending || !slices.Contains(q.Queues, r.queue) || q.Worker.Executors == 0 {
			continue
		}
		r.run.Status, r.run.Worker, r.run.Begun, r.split = runs.Running, execution.RelayPrefix+q.Worker.Name, false, nil
		r.run.Epoch++
		g := &execution.RelayGrant{Run: r.run, Capability: fmt.Sprintf("capability-of-%s-%d", id, r.run.Epoch),
			LeaseSeconds: 30}
		g.Run.NextSeq = int64(len(r.events)) + 3
		f.leaseholders[g.Capability] = leaseholder{id, r.run.Epoch}
		if f.grant != nil {
			f.grant(g)
		}
		return g
	}
	return nil
}

// report answers a call about a held run.
func (f *fake) report(w http.ResponseWriter, req *http.Request, body []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	parts := strings.Split(strings.TrimPrefix(req.URL.Path, "/relay/v1/"), "/")
	h, known := f.leaseholders[req.Header.Get(execution.CapabilityHeader)]
	verb, id := parts[len(parts)-1], ""
	if verb == "heartbeat" {
		var b execution.RelayBeatOf
		_ = json.Unmarshal(body, &b)
		id = b.RunID
	} else {
		id = parts[1]
	}
	if len(parts) == 2 {
		verb = "run"
	}
	r := f.records[h.run]
	switch {
	case !known || h.run != id || r.run.Epoch != h.epoch:
		refuse(w, http.StatusConflict, runs.LeaseLost.Name)
	case verb == "save" && r.end != nil && r.run.Status.Terminal():
		var again execution.RelaySave
		if _ = json.Unmarshal(body, &again); again.Status != r.end.Status {
			refuse(w, http.StatusConflict, runs.LeaseLost.Name)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	case r.run.Status != runs.Running || r.split != nil:
		refuse(w, http.StatusConflict, runs.LeaseLost.Name)
	default:
		r.take(w, verb, body)
	}
}

func (r *record) take(w http.ResponseWriter, verb string, body []byte) {
	switch verb {
	case "heartbeat":
		answer(w, execution.RelayBeat{LeaseSeconds: 30, CancelRequested: r.run.CancelRequested})
	case "run":
		answer(w, r.run)
	case "inventory":
		answer(w, execution.RelayInventory{Content: []byte("of " + r.run.ID), Format: "ini", KnownHosts: []byte("h1 key\n"),
			HostKeyPolicy: catalog.Strict,
			Warnings:      []runs.Warning{{Code: runs.WarnInventoryStale, Message: r.run.Name}}})
	case "save":
		r.save(w, body)
	case "divide":
		r.divide(w, body)
	case "log":
		r.addLog(w, body)
	case "events":
		r.addEvents(w, body)
	case "propose-apply":
		r.propose(w, body)
	default:
		r.list(w, verb, body)
	}
}

func (r *record) save(w http.ResponseWriter, body []byte) {
	var s execution.RelaySave
	if json.Unmarshal(body, &s) != nil {
		refuse(w, http.StatusBadRequest, "invalid")
		return
	}
	switch {
	case s.Status == runs.Pending && r.run.Begun:
		refuse(w, http.StatusConflict, runs.RunStateChanged.Name)
		return
	case s.Status == runs.Running:
		r.run.Begun = true
	case s.Status == runs.Pending:
		r.run.Status = runs.Pending
	default:
		r.run.Status, r.end = s.Status, &s
	}
	w.WriteHeader(http.StatusNoContent)
}

func (r *record) divide(w http.ResponseWriter, body []byte) {
	var d execution.RelayDivision
	if json.Unmarshal(body, &d) != nil || len(d.Hosts) == 0 {
		refuse(w, http.StatusBadRequest, "invalid")
		return
	}
	r.split, r.warn = d.Hosts, d.Warnings
	w.WriteHeader(http.StatusNoContent)
}

func (r *record) addLog(w http.ResponseWriter, body []byte) {
	var l execution.RelayLog
	if json.Unmarshal(body, &l) != nil {
		refuse(w, http.StatusBadRequest, "invalid")
		return
	}
	next := int64(len(r.log))
	if end := l.Offset + int64(len(l.Data)); end > next {
		if gap := l.Offset - next; gap > 0 {
			r.holes += gap
			r.log = append(r.log, make([]byte, gap)...)
			next = l.Offset
		}
		r.log = append(r.log, l.Data[next-l.Offset:]...)
	}
	answer(w, execution.RelayOffset{NextOffset: int64(len(r.log))})
}

func (r *record) addEvents(w http.ResponseWriter, body []byte) {
	var l execution.RelayEvents
	if json.Unmarshal(body, &l) != nil || len(l.Events) > execution.RelayList {
		refuse(w, http.StatusBadRequest, "invalid")
		return
	}
	for _, e := range l.Events {
		switch next := int64(len(r.events)) + 3; {
		case e.Seq > next:
			refuse(w, http.StatusConflict, runs.SequenceGap.Name)
			return
		case e.Seq == next:
			r.events = append(r.events, e)
		}
	}
	answer(w, execution.RelaySeq{NextSeq: int64(len(r.events)) + 3})
}

func (r *record) list(w http.ResponseWriter, verb string, body []byte) {
	var hosts execution.RelayHostList
	var tasks execution.RelayTaskList
	var facts execution.RelayFactsList
	into := map[string]any{"host-summary": &hosts, "task-summary": &tasks, "host-facts": &facts}[verb]
	if into == nil || json.Unmarshal(body, into) != nil ||
		max(len(hosts.Hosts), len(tasks.Tasks), len(facts.Facts)) > execution.RelayList {
		refuse(w, http.StatusBadRequest, "invalid")
		return
	}
	for _, h := range hosts.Summaries() {
		r.hosts[h.Host] = h
	}
	r.tasks, r.facts = append(r.tasks, tasks.Summaries()...), append(r.facts, facts.Gathered()...)
	w.WriteHeader(http.StatusNoContent)
}
