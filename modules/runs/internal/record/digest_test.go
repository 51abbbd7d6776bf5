package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/runs"
)

func TestCanonicalJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`null`: `null`, ` { "b" : 1 , "a" : [ true , false , { } , [ ] ] } `: `{"a":[true,false,{},[]],"b":1}`,
		`"<>&\/\u00e9\u2028\u0007\b\t\n\f\r\"\\"`: "\"<>&/é\u2028\\u0007\\b\\t\\n\\f\\r\\\"\\\\\"",
		`[1.0,1e3,-0,9007199254740993,0.1]`:       `[1.0,1e3,-0,9007199254740993,0.1]`,
		// The order of UTF-16 units differs from that of bytes: a pair of surrogates sorts below U+FB33.
		`{"\ufb33":1,"\ud83d\ude00":2,"z":3,"":4,"aa":5,"a":6}`: `{"":4,"a":6,"aa":5,"z":3,"` + "\U0001f600" + `":2,"` +
			"\ufb33" + `":1}`,
	} {
		v, err := decode([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		got, err := appendJSON(nil, v)
		if err != nil || string(got) != want {
			t.Errorf("%s is %s, want %s, %v", in, got, want, err)
		}
	}
	if _, err := sum(map[string]any{"a": 1.5}); err == nil {
		t.Error("a float has a form")
	}
	if got, err := sum(map[string]any{}); err != nil ||
		got != "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a" {
		t.Errorf("the empty object is %s, %v", got, err)
	}
}

func events() []runs.Event {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.UTC)
	return []runs.Event{
		{Seq: 1, At: at, Type: runs.EventStatus, From: runs.Pending, To: runs.Running},
		{Seq: 2, At: at, Type: runs.EventHostOK, Host: "web<1>", Message: "a & b\u2028é", Diff: []byte(`{"n":1.0,"s":"<"}`)},
		{Seq: 3, At: at, Type: runs.EventStatus, From: runs.Running, To: runs.Succeeded},
	}
}

// The vectors were computed from the lines by the definitions of the RFC: sha256 over 0x00||line and
// 0x01||left||right.
func TestEventVectors(t *testing.T) {
	t.Parallel()
	lines := []string{
		`{"seq":1,"at":"2026-01-02T03:04:05.6789Z","type":"status","from":"pending","to":"running"}`,
		`{"seq":2,"at":"2026-01-02T03:04:05.6789Z","type":"host_ok","host":"web\u003c1\u003e","message":"a \u0026 b\u2028é","diff":{"n":1.0,"s":"\u003c"}}`,
		`{"seq":3,"at":"2026-01-02T03:04:05.6789Z","type":"status","from":"running","to":"succeeded"}`,
	}
	var leaves [][32]byte
	var e Events
	for i, ev := range events() {
		line, err := ev.Line()
		if err != nil || string(line) != lines[i] {
			t.Errorf("line %d is %s, %v", i, line, err)
		}
		leaves = append(leaves, sha256.Sum256(append([]byte{0}, lines[i]...)))
		if err := e.Add(&ev); err != nil {
			t.Fatal(err)
		}
	}
	node := func(l, r [32]byte) [32]byte { return sha256.Sum256(append(append([]byte{1}, l[:]...), r[:]...)) }
	want := node(node(leaves[0], leaves[1]), leaves[2])
	if got := e.Sum(); got.Count != 3 || got.Root != want {
		t.Errorf("root %x of %d, want %x", got.Root, got.Count, want)
	}
	if h := hex.EncodeToString(want[:]); h != "6c7241813c06110e7ab95217e408ba0cf2e66f5e73b075a4c9ea9b5bb0f7eeb2" {
		t.Errorf("the vector is %s", h)
	}
	none := (&Events{}).Sum()
	if none.Count != 0 || hex.EncodeToString(none.Root[:]) != NoLog() {
		t.Errorf("no events: %+v", none)
	}
	if err := e.Add(&runs.Event{Seq: 5}); !errors.Is(err, ErrGap) {
		t.Errorf("a gap: %v", err)
	}
}

// TestLinesAreThoseOfADownload compares with the output of the API's encoder, and with a round trip through a store's
// line.
func TestLinesAreThoseOfADownload(t *testing.T) {
	t.Parallel()
	rc := 0
	ev := runs.Event{Seq: 7, At: time.Unix(1, 5).In(time.FixedZone("", 3600)), Type: runs.EventFacts, Stdout: "\x00\ufffd",
		RC:    &rc,
		Facts: []byte(`{ "big" : 12345678901234567890.50, "u":"\u0041" }`), Stats: []byte(`null`), Truncated: true}
	var stored, served bytes.Buffer
	enc := json.NewEncoder(&stored)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(&ev); err != nil {
		t.Fatal(err)
	}
	var back runs.Event
	if err := json.Unmarshal(stored.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if err := json.NewEncoder(&served).Encode(&back); err != nil {
		t.Fatal(err)
	}
	line, err := back.Line()
	if err != nil || string(line)+"\n" != served.String() {
		t.Errorf("%s\n%s%v", line, served.String(), err)
	}
	for _, want := range []string{`"at":"1970-01-01T01:00:01.000000005+01:00"`, `"rc":0`, `"stats":null`,
		`12345678901234567890.50,"u":"\u0041"`} {
		if !strings.Contains(string(line), want) {
			t.Errorf("%s lacks %s", line, want)
		}
	}
}

func TestTheRootIsThatOfAnotherLibrary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n, fork := rapid.IntRange(1, 70).Draw(t, "events"), rapid.IntRange(0, 70).Draw(t, "clone at")
		var e Events
		var hashes []tlog.Hash
		read := tlog.HashReaderFunc(func(at []int64) (out []tlog.Hash, _ error) {
			for _, i := range at {
				out = append(out, hashes[i])
			}
			return out, nil
		})
		for i := range n {
			if i == fork {
				c := e
				if err := e.Add(&runs.Event{Seq: e.Count() + 1, Message: "another future"}); err != nil {
					t.Fatal(err)
				}
				e = c
			}
			ev := runs.Event{Seq: int64(i + 1), Message: rapid.String().Draw(t, "message")}
			line, err := ev.Line()
			if err != nil {
				t.Fatal(err)
			}
			more, err := tlog.StoredHashes(int64(i), line, read)
			if err != nil {
				t.Fatal(err)
			}
			hashes = append(hashes, more...)
			if err := e.Add(&ev); err != nil {
				t.Fatal(err)
			}
		}
		want, err := tlog.TreeHash(int64(n), read)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Sum(); got.Root != [32]byte(want) {
			t.Fatalf("%x, want %x", got.Root, want)
		}
	})
}

func TestHostsVector(t *testing.T) {
	t.Parallel()
	got, err := HostsDigest([]runs.HostSummary{{Host: "a", OK: 2, Changed: 1, Worst: runs.HostChanged,
		Duration: 1500 * time.Microsecond}, {Host: "b", Worst: runs.HostOK}})
	want := sha256.Sum256([]byte(`[{"changed":1,"duration_ms":1,"failed":0,"host":"a","ignored":0,"ok":2,"rescued":0,"skipped":0,"unreachable":0,"worst":"changed"},` +
		`{"changed":0,"duration_ms":0,"failed":0,"host":"b","ignored":0,"ok":0,"rescued":0,"skipped":0,"unreachable":0,"worst":"ok"}]`))
	if err != nil || got != "sha256:"+hex.EncodeToString(want[:]) {
		t.Errorf("%s, %v", got, err)
	}
}

func TestInputsContainNoSecret(t *testing.T) {
	t.Parallel()
	run := func(secret, plain string) *runs.Run {
		return &runs.Run{
			Vars: runs.Vars{"password": fmt.Appendf(nil, "%q", secret), "same": fmt.Appendf(nil, "%q", secret),
				"n": []byte(plain)},
			Spec: runs.Spec{Tool: "bash", Command: "true",
				Env:           map[string]string{"API_TOKEN": secret + "!", "V": secret, "LANG": "C"},
				Notifications: []runs.Notification{{Kind: "slack", URL: "https://hooks.example.org/" + secret, Key: secret}}},
			Graph: &runs.Graph{Vars: runs.Vars{"secret": fmt.Appendf(nil, "%q", secret)}, Steps: []runs.StepState{
				{StepSpec: runs.StepSpec{Name: "s", ExtraVars: runs.Vars{"db_password": fmt.Appendf(nil, "%q", secret)}}},
			}},
		}
	}
	sum := func(r *runs.Run) string {
		s, err := InputsDigest(r)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if sum(run("one", "1")) != sum(run("two", "1")) {
		t.Error("the digest depends on a secret")
	}
	if sum(run("one", "1")) == sum(run("one", "2")) {
		t.Error("the digest does not depend on a plain variable")
	}
	large := run("one", "9007199254740992")
	if sum(large) == sum(run("one", "9007199254740993")) {
		t.Error("a number lost a digit")
	}
}

func TestDocument(t *testing.T) {
	t.Parallel()
	code := -1
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	d := Digest(&runs.Run{
		ID: "run_1", Kind: runs.Single, Status: runs.Failed, Spec: runs.Spec{Tool: "bash", Inventory: "hosts"},
		Commit: "c0ffee", StartedAt: at, EndedAt: at,
		ExitCode: &code, LogBytes: 9, LogOmitted: 4, LogSHA256: "ab",
		Decision: &runs.Decision{By: actor.Actor{Type: actor.User, ID: "usr_1"}, Verdict: runs.Approved},
	})
	d.Events, d.Hosts = &runs.EventsDigest{Count: 2}, "sha256:00"
	want := map[string]any{
		"v": int64(1), "id": "run_1", "kind": "single", "status": "failed", "tool": "bash", "commit": "c0ffee",
		"exit_code":  "-1",
		"started_at": "2026-01-02T03:04:05.000000Z", "ended_at": "2026-01-02T03:04:05.000000Z", "approvers": []any{"usr_1"},
		"hosts":     "sha256:00",
		"inventory": "sha256:" + hexOf("hosts"),
		"log":       map[string]any{"bytes": int64(9), "omitted": int64(4), "sha256": "ab"},
		"events":    map[string]any{"count": int64(2), "root": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="},
	}
	if diff := cmp.Diff(want, d.Document()); diff != "" {
		t.Error(diff)
	}
	bare := Digest(&runs.Run{ID: "run_2", Kind: runs.Pipeline, Status: runs.Rejected,
		Decision: &runs.Decision{By: actor.Actor{ID: "usr_1"}, Verdict: runs.RejectedByRule}})
	if diff := cmp.Diff(map[string]any{"v": int64(1), "id": "run_2", "kind": "pipeline", "status": "rejected"},
		bare.Document()); diff != "" {
		t.Error(diff)
	}
}

func hexOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func FuzzCanonicalJSON(f *testing.F) {
	f.Add([]byte(`{"a":[1,"\u2028"],"\ud83d\ude00":null}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		v, err := decode(in)
		if err != nil {
			return
		}
		once, err := appendJSON(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decode(once)
		if err != nil {
			t.Fatalf("%q does not read back: %v", once, err)
		}
		twice, err := appendJSON(nil, again)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%q, then %q, %v", once, twice, err)
		}
	})
}
