package relay_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
)

// bad lists bodies by operation, each with the position of its error.
func bad() map[string]map[string]string {
	worker := func(more string) string { return `{"worker":{"name":"a","executors":1` + more + `}}` }
	item := func(list, required, more string) string { return `{"` + list + `":[{` + required + more + `}]}` }
	event, host := `"seq":1,"at":"2026-05-01T12:00:00Z","type":"host_ok"`, `"host":"a","worst":"ok"`
	task, facts := `"task":"a","duration_ms":1`, `"host":"a","gathered_at":"2026-05-01T12:00:00Z","facts":{}`
	out := map[string]map[string]string{
		"claim-run": {
			`{}`: "worker", `{"worker":{}}`: "worker.executors", `{"worker":{"name":"a"}}`: "worker.executors",
			`{"worker":{"executors":1}}`: "worker.name",
			`{"worker":"a"}`:             "worker", worker(`,"version":1`): "worker.version",
			worker(`,"labels":[]`): "worker.labels", worker(`,"labels":{"a":1}`): "worker.labels.a",
			worker(`,"kind":"server"`): "worker.kind", `{"worker":{"name":7,"executors":1}}`: "worker.name",
			`{"worker":{"name":"a","executors":"4"}}`:                   "worker.executors",
			`{"worker":{"name":"a","executors":1.5}}`:                   "worker.executors",
			`{"worker":{"name":"a","executors":1e400}}`:                 "worker.executors",
			`{"worker":{"name":"a\u0000","executors":1}}`:               "worker.name",
			`{"worker":{"name":"a","executors":1},"queues":"a"}`:        "queues",
			`{"worker":{"name":"a","executors":1},"queues":["a",1]}`:    "queues[1]",
			`{"worker":{"name":"a","executors":1},"wait_seconds":"30"}`: "wait_seconds",
			`{"worker":{"name":"a","executors":1},"heads":{}}`:          "heads",
			`{"worker":{"name":"a","executors":1},"heads":[1]}`:         "heads[0]",
			`{"worker":{"name":"a","executors":1},"Queues":[]}`:         "Queues",
			`{"worker":{"name":"a","executors":1,"name":"b"}}`:          "worker.name",
		},
		"renew-lease": {`{}`: "run_id", `{"run_id":1}`: "run_id",
			`{"run_id":"` + held + `","lease_seconds":1}`: "lease_seconds"},
		"save-run": {
			`{}`: "status", `{"status":1}`: "status", `{"status":null}`: "status",
			`{"status":"failed","status":"succeeded"}`: "status",
			`{"status":"failed","exit_code":"1"}`:      "exit_code", `{"status":"failed","exit_code":1.5}`: "exit_code",
			`{"status":"failed","error":[]}`:                                         "error",
			`{"status":"failed","warnings":{}}`:                                      "warnings",
			`{"status":"failed","warnings":[{"code":"a"}]}`:                          "warnings[0].message",
			`{"status":"failed","warnings":[{"code":"a","message":"b","c":1}]}`:      "warnings[0].c",
			`{"status":"failed","warnings":[{"code":"a","code":"b","message":"b"}]}`: "warnings[0].code",
			`{"status":"failed","outputs":[]}`:                                       "outputs",
			`{"status":"failed","commit":1}`:                                         "commit",
			`{"status":"failed","started_at":"now"}`:                                 "started_at",
			`{"status":"failed","ended_at":7}`:                                       "ended_at",
			`{"status":"failed","log_bytes":"1"}`:                                    "log_bytes",
			`{"status":"failed","log_bytes":1e400}`:                                  "log_bytes",
			`{"status":"failed","log_sha256":1}`:                                     "log_sha256",
			`{"status":"running","split_hosts":["a"]}`:                               "split_hosts",
			`{"status":"failed","hosts":{"ok":9}}`:                                   "hosts",
			`{"status":"failed","hosts_touched":9}`:                                  "hosts_touched",
			`{"status":"failed","epoch":9}`:                                          "epoch",
			`{"status":"failed","worker":"x"}`:                                       "worker",
			`{"status":"failed","id":"run_1"}`:                                       "id",
			`{"status":"failed","name":"x"}`:                                         "name",
			`{"status":"failed","command":"x"}`:                                      "command",
			`{"status":"failed","labels":{}}`:                                        "labels",
			`{"status":"failed","extra_vars":{}}`:                                    "extra_vars",
			`{"status":"failed","queue":"x"}`:                                        "queue",
			`{"status":"failed","actor":{}}`:                                         "actor",
			`{"status":"failed","log_omitted":1}`:                                    "log_omitted",
			`{"status":"failed","event_count":1}`:                                    "event_count",
		},
		"renew-work": {`{"run_id":"a"}`: "run_id"},
		"finish-work": {
			`{"content":7}`: "content", `{"format":[]}`: "format", `{"error":{}}`: "error",
			`{"released":"yes"}`: "released", `{"Content":""}`: "Content",
		},
		"divide-run": {
			`{}`: "hosts", `{"hosts":"a"}`: "hosts", `{"hosts":[1]}`: "hosts[0]", `{"hosts":["a"],"status":"running"}`: "status",
			`{"hosts":["a"],"warnings":{}}`:             "warnings",
			`{"hosts":["a"],"warnings":[{"code":"a"}]}`: "warnings[0].message",
		},
		"append-log": {
			`{}`: "offset", `{"offset":"0"}`: "offset", `{"offset":0,"data":"%%%"}`: "data", `{"offset":0,"data":"YQ"}`: "data",
			`{"offset":0,"data":"YR=="}`: "data",
			`{"offset":0,"data":"-_-_"}`: "data", `{"offset":0,"data":7}`: "data", `{"offset":0,"text":"a"}`: "text",
			`{"offset":1e30,"data":""}`: "offset",
		},
		"append-events": {
			`{}`: "events", `{"events":"x"}`: "events", `{"events":[],"more":1}`: "more", `{"events":[null]}`: "events[0]",
			`{"events":[{}]}`:                  "events[0].at",
			item("events", event, `,"rc":"0"`): "events[0].rc", item("events", event, `,"nope":1`): "events[0].nope",
			item("events", event, `,"Host":"a"`):                                       "events[0].Host",
			item("events", event, `,"changed":"yes"`):                                  "events[0].changed",
			item("events", event, `,"stdout":[]`):                                      "events[0].stdout",
			item("events", event, `,"seq":2`):                                          "events[0].seq",
			item("events", event, `,"duration_ms":1.5`):                                "events[0].duration_ms",
			`{"events":[{"seq":1,"at":"yesterday","type":"host_ok"}]}`:                 "events[0].at",
			`{"events":[` + strings.Repeat(`{`+event+`},`, 5000) + `{` + event + `}]}`: "events",
		},
		"save-host-summary": {
			`{}`: "hosts", `{"hosts":null}`: "hosts", `{"hosts":{}}`: "hosts", `{"hosts":[{}]}`: "hosts[0].host",
			item("hosts", host, `,"ok":"1"`):           "hosts[0].ok",
			item("hosts", host, `,"nope":1`):           "hosts[0].nope",
			item("hosts", host, `,"duration_ms":"1s"`): "hosts[0].duration_ms", `{"hosts":[],"b":1}`: "b",
		},
		"save-task-summary": {
			`{}`: "tasks", `{"tasks":null}`: "tasks", `{"tasks":[1]}`: "tasks[0]", `{"tasks":[{}]}`: "tasks[0].duration_ms",
			item("tasks", task, `,"index":"1"`): "tasks[0].index",
			item("tasks", task, `,"nope":1`):    "tasks[0].nope", `{"tasks":[],"b":1}`: "b",
		},
		"propose-apply": {
			`{}`: "digest", `{"digest":"a","summary":"","findings":null}`: "findings",
			`{"digest":"a","summary":"","findings":[{}]}`:                                         "findings[0].action",
			`{"digest":"a","summary":"","findings":[{"resource":"r","action":"a","nope":1}]}`:     "findings[0].nope",
			`{"digest":"a","summary":"","findings":[{"resource":"r","action":"a","diff":["a"]}]}`: "findings[0].diff",
		},
		"save-host-facts": {
			`{}`: "facts", `{"facts":null}`: "facts", `{"facts":["a"]}`: "facts[0]", `{"facts":[{}]}`: "facts[0].facts",
			item("facts", facts, `,"nope":1`):                     "facts[0].nope",
			`{"facts":[{"host":"a","gathered_at":1,"facts":{}}]}`: "facts[0].gathered_at",
			item("facts", facts, `,"facts":{}`):                   "facts[0].facts", `{"facts":[],"b":1}`: "b",
		},
	}
	for _, bodies := range out {
		for body, at := range map[string]string{
			"": "body", "   ": "body", "null": "body", "[]": "body", `"x"`: "body", `{"a" 1}`: "a", `{} {}`: "body",
			`{"nope":1`: "body", `{}x`: "body",
		} {
			bodies[body] = at
		}
	}
	return out
}

// TestBadBodies checks that the error names the wrong member, and that nothing is called.
// Keeps T57.
func TestBadBodies(t *testing.T) {
	t.Parallel()
	f := setup(t)
	rows := bad()
	for _, c := range f.calls(t) {
		for body, at := range rows[c.id] {
			where := f.report(c.method, c.path, body).Problem(400, "invalid")
			if len(where) == 0 || where[0] != at {
				t.Errorf("%s %.90s: wrong are %v, want %s", c.id, body, where, at)
			}
		}
		delete(rows, c.id)
		for _, header := range [][2]string{
			{"Content-Type", "text/plain"}, {"Content-Type", "application/x-www-form-urlencoded"},
			{"Content-Type", "application/json; charset=latin1"},
			{"Content-Encoding", "gzip"},
		} {
			if c.method == http.MethodPost {
				f.report(c.method, c.path, c.body, header[0], header[1]).Problem(415, "unsupported_media_type")
			}
		}
		if where := f.report(c.method, c.path+"?nope=1", c.body).Problem(400, "invalid"); len(where) != 1 ||
			where[0] != "nope" {
			t.Errorf("%s: an unknown parameter is %v", c.id, where)
		}
	}
	for id := range rows {
		t.Errorf("%s has bad bodies and does not exist", id)
	}
	if got := f.plane.take(); len(got) > 0 {
		t.Errorf("the other side was asked %v", got)
	}
}

// TestGoodBodies checks that bodies arrive as they were sent, since both ends share their types.
func TestGoodBodies(t *testing.T) {
	t.Parallel()
	f := setup(t)
	at, code := time.Date(2026, time.May, 1, 12, 0, 0, 123000, time.UTC), 3
	hosts := []runs.HostSummary{{Host: "a", OK: 1, Worst: runs.HostRescued, Rescued: 2, Duration: 1500 * time.Millisecond}}
	tasks := []runs.TaskSummary{{Index: 1, Task: "t", Play: "p", Hosts: 2, Duration: time.Second, Mean: time.Millisecond,
		Max: 2 * time.Millisecond}}
	facts := []runs.HostFacts{{Host: "a", GatheredAt: at, Facts: json.RawMessage(`{"n":1.10}`)}}
	events := []runs.Event{{Seq: 1, At: at, Type: runs.EventHostFailed, Host: "a", RC: &code,
		Stats: json.RawMessage(`{"a":{"ok":1}}`)}}
	save := execution.RelaySave{
		Status: runs.Failed, ExitCode: &code, Error: "it broke", Warnings: []runs.Warning{{Code: "a", Message: "b"}},
		Outputs: runs.Vars{"n": []byte("1.10")}, Version: "2.19.11",
		StartedAt: &at, EndedAt: &at, LogBytes: 4, LogSHA256: "00",
	}
	claim := execution.RelayClaim{
		Worker: execution.RelayPeer{Name: "a", Labels: map[string]string{"k": "v"}}, Queues: []string{"q"}, WaitSeconds: 30,
		Heads: []string{"note\n"},
	}
	plan := runs.Plan{Summary: "1 to add", Digest: "d", Findings: []runs.PlanFinding{{Resource: "r", Action: "create"}}}
	const work = "/relay/v1/work/" + heldWork
	for path, c := range map[string]struct{ sent, want any }{
		"/relay/v1/claim": {claim, claim},
		on("/save"):       {save, save},
		on("/divide"):     {execution.RelayDivision{Hosts: []string{"a"}}, execution.RelayDivision{Hosts: []string{"a"}}},
		on("/log"): {execution.RelayLog{Offset: 7, Data: []byte("a\x00\xff")},
			runs.LogChunk{Offset: 7, Data: []byte("a\x00\xff")}},
		on("/log") + "?":      {execution.RelayLog{Offset: 7}, runs.LogChunk{Offset: 7, Data: []byte{}}},
		on("/events"):         {execution.RelayEvents{Events: events}, events},
		on("/events") + "?":   {execution.RelayEvents{}, []runs.Event(nil)},
		on("/host-summary"):   {execution.NewRelayHosts(hosts), hosts},
		on("/task-summary"):   {execution.NewRelayTasks(tasks), tasks},
		on("/host-facts"):     {execution.NewRelayFacts(facts), facts},
		on("/propose-apply"):  {plan, plan},
		"/relay/v1/heartbeat": {execution.RelayBeatOf{RunID: held}, "beat"},
		work + "/heartbeat":   {execution.RelayWorkBeat{}, "work beat"},
		work + "/result": {execution.RelayWorkResult{Content: "YQo=", Format: "ini"},
			execution.RelayWorkResult{Content: "YQo=", Format: "ini"}},
	} {
		body, err := json.Marshal(c.sent)
		if err != nil {
			t.Fatal(err)
		}
		if a := f.report("POST", path, string(body)); a.Status >= 300 {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
		if d := cmp.Diff([]any{c.want}, f.plane.take()); d != "" {
			t.Errorf("%s: %s", path, d)
		}
	}
	f.report("POST", on("/events"), `{"events":[]}`).Is(200, `{"next_seq":4}`)
	f.report("POST", on("/log"), `{"offset":2,"data":"YQ=="}`).Is(200, `{"next_offset":3}`)
	f.report("POST", "/relay/v1/heartbeat", `{"run_id":"`+held+`"}`).
		Is(200, `{"lease_seconds":30,"cancel_requested":true}`)
	f.report("GET", on(""), "").Is(200, `{"id":"`+held+
		`","kind":"single","status":"running","tool":"bash","command":"true","queue":"default","extra_vars":{"n":1.0},
		"epoch":3,"begun":false,"cancel_requested":false,"created_at":"2026-05-01T12:00:00Z","log_bytes":0}`)
	f.report("GET", on("/inventory"), "").Is(200, `{"content":"YQo=","format":"ini",
		"warnings":[{"code":"inventory_not_refreshed","message":"unreachable"}]}`)
	f.report("HEAD", on(""), "")
}

// TestWhatProgramsPrint checks that output with characters which the API refuses elsewhere still arrives: the store
// decides how to keep it, as for workers with the database.
func TestWhatProgramsPrint(t *testing.T) {
	t.Parallel()
	f := setup(t)
	deep := strings.Repeat("[", 2000) + strings.Repeat("]", 2000)
	odd := `{"nul":"\u0000","half":"\ud800","big":1e400,"long":` + strings.Repeat("9", 500) +
		`,"twice":1,"twice":2,"deep":` + deep + `}`
	const stamp = `"2026-05-01T12:00:00Z"`
	f.report("POST", on("/host-facts"), `{"facts":[{"host":"a","gathered_at":`+stamp+`,"facts":`+odd+`}]}`).Is(204, "")
	f.report("POST", on("/save"), `{"status":"succeeded","outputs":{"a":`+odd+`}}`).Is(204, "")
	f.report("POST", on("/events"), `{"events":[{"seq":1,"at":`+stamp+
		`,"type":"host_ok","stdout":"a\u0000b\ud800","stats":`+odd+`}]}`).Is(200, `{"next_seq":4}`)
	f.report("POST", on("/events"), "{\"events\":[{\"seq\":1,\"at\":"+stamp+
		",\"type\":\"host_ok\",\"stdout\":\"a\xff\xfe\",\"diff\":[\"\xc3\"]}]}").Is(200, `{"next_seq":4}`)
	got := f.plane.take()
	facts, _ := got[0].([]runs.HostFacts)
	save, _ := got[1].(execution.RelaySave)
	printed, _ := got[2].([]runs.Event)
	broken, _ := got[3].([]runs.Event)
	if string(facts[0].Facts) != odd || string(save.Outputs["a"]) != odd || string(printed[0].Stats) != odd {
		t.Errorf("%.300s", got)
	}
	if printed[0].Stdout != "a\x00b\uFFFD" || broken[0].Stdout != "a\uFFFD" || string(broken[0].Diff) != "[\"\uFFFD\"]" {
		t.Errorf("%q %q %s", printed[0].Stdout, broken[0].Stdout, broken[0].Diff)
	}
	f.report("POST", on("/save"), `{"status":"failed","outputs":{"a":`+strings.Repeat("[", 10_001)+
		strings.Repeat("]", 10_001)+`}}`).Problem(400, "invalid")
}

// TestBodySize checks that the maximum size of a report is accepted, and nothing larger.
func TestBodySize(t *testing.T) {
	t.Parallel()
	f := setup(t)
	frame := `{"offset":0,"data":""}`
	data := base64.StdEncoding.EncodeToString(make([]byte, (execution.RelayBody-len(frame))/4*3))
	full := strings.Replace(frame, `""`, `"`+data+`"`, 1)
	full += strings.Repeat(" ", execution.RelayBody-len(full))
	f.report("POST", on("/log"), full).Is(200, fmt.Sprintf(`{"next_offset":%d}`, len(data)/4*3))
	f.plane.take()
	for _, c := range f.calls(t) {
		if c.method != http.MethodPost {
			continue
		}
		limit := execution.RelayBody
		if c.id == "claim-run" || c.id == "renew-lease" {
			limit = httpapi.DefaultBody
		} else if c.id == "finish-work" {
			limit = execution.RelayResult
		} else if c.id == "propose-apply" {
			limit = execution.RelayPlan
		} else if !depthtest.Long && c.id != "append-log" && c.id != "save-run" {
			continue // each takes a body of the whole size
		}
		a := f.report(c.method, c.path, c.body+strings.Repeat(" ", limit+1-len(c.body)))
		if a.Problem(413, "too_large"); !strings.Contains(a.Body, fmt.Sprintf(`"limit":%d`, limit)) {
			t.Errorf("%s: %s", c.id, a.Body)
		}
	}
	whole, err := json.Marshal(execution.RelayWorkResult{Format: catalog.YAML,
		Content: base64.StdEncoding.EncodeToString(make([]byte, catalog.MaxInventory))})
	if err != nil {
		t.Fatal(err)
	}
	f.report("POST", "/relay/v1/work/"+heldWork+"/result", string(whole)).Is(204, "")
	f.plane.take()
	// Bytes that are no text become longer ones, which is not their sender's fault.
	odd := "{\"offset\":0,\"data\":\"" + strings.Repeat("\xff ", depthtest.Of(1000, 2<<20+1000)) + "\"}"
	if where := f.report("POST", on("/log"), odd).Problem(400, "invalid"); len(where) != 1 || where[0] != "data" {
		t.Errorf("wrong are %v", where)
	}
	if got := f.plane.take(); len(got) > 0 {
		t.Errorf("the other side was asked %.100v", got)
	}
}

// TestLargeReportsAreLimited checks that slow senders of large bodies delay only one another, and no claim.
func TestLargeReportsAreLimited(t *testing.T) {
	t.Parallel()
	const places = 24
	f := setup(t)
	var work sync.WaitGroup
	var ends []*io.PipeWriter
	let := make(chan struct{}, places)
	for range places {
		from, to := io.Pipe()
		ends = append(ends, to)
		work.Go(func() {
			if got := f.upload(t, from, func() { let <- struct{}{} }); got != 200 {
				t.Errorf("a body that was let in: %d", got)
			}
		})
	}
	for range places {
		select {
		case <-let:
		case <-time.After(2 * time.Minute):
			t.Fatal("not every body is let in")
		}
	}
	if got := f.upload(t, strings.NewReader(`{"offset":0}`), nil); got != 503 {
		t.Errorf("one body more: %d", got)
	}
	f.report("POST", on("/log"), `{"offset":0}`).Is(200, `{"next_offset":0}`)
	if a := f.Call("POST", "/relay/v1/claim", workerToken, `{"worker":{"name":"a","executors":1}}`); a.Status != 200 {
		t.Errorf("a claim: %d %s", a.Status, a.Body)
	}
	for _, w := range ends {
		if _, err := w.Write([]byte(`{"offset":0}`)); err != nil {
			t.Error(err)
		}
		_ = w.Close()
	}
	work.Wait()
}

// upload sends a report that does not say how large it is, and returns the status. It calls begun, where there is
// one, once the server asks for the body.
func (f *fixture) upload(t *testing.T, body io.Reader, begun func()) int {
	t.Helper()
	ctx := t.Context()
	if begun != nil {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got100Continue: begun})
	}
	req, err := http.NewRequestWithContext(ctx, "POST", f.URL+on("/log"), struct{ io.Reader }{body})
	if err != nil {
		t.Error(err)
		return 0
	}
	req.Header.Set("Authorization", "Bearer "+workerToken)
	req.Header.Set(execution.CapabilityHeader, capability)
	if begun != nil {
		req.Header.Set("Expect", "100-continue")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}
