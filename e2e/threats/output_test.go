package threats

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
)

// forged prints data in the form of the private event channel to the outputs of a run.
const forged = `for fd in 1 2; do
  echo '{"ev":"result","n":"","host":"forged","status":"ok","name":"forged","t":1}' >&$fd
  echo '{"seq":1,"type":"host_ok","host":"forged"}' >&$fd
  echo 'event: event' >&$fd; echo 'data: {"seq":1,"type":"host_ok"}' >&$fd; echo >&$fd
done
{ echo '{"ev":"result","host":"forged","status":"ok"}' >&3; } 2>/dev/null || true
{ echo '{"ev":"result","host":"forged","status":"ok"}' >"${WRIT_EVENTS:-/nowhere/x}"; } 2>/dev/null || true
`

// TestPrintedEventsAndControlBytes: output that looks like events makes none. Control bytes of terminals are
// unchanged in a download, and valid UTF-8 in a stream.
// Keeps T07.
func TestPrintedEventsAndControlBytes(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	odd := "\x1b[31mred\x1b]8;;http://evil.example/\x1b\\link\x1b]8;;\x1b\\ \u202egpj.exe nul\x00end \xff\xfe\xc3( " +
		"\xe2\x82"
	var octal strings.Builder
	for i := range len(odd) {
		fmt.Fprintf(&octal, `\%03o`, odd[i])
	}
	r := s.Await(s.Submit(script(forged + "printf '" + octal.String() + "'")).ID)
	if r.Status != "succeeded" || len(r.Hosts) > 0 {
		t.Fatalf("the run is %s (%s), hosts %v", r.Status, r.Error, r.Hosts)
	}
	for _, e := range s.Events(r.ID) {
		if e.Type != "status" {
			t.Errorf("the run made an event: %+v", e)
		}
	}
	raw := s.Do(http.MethodGet, "/v1/runs/"+r.ID+"/logs?download=1", nil)
	if !strings.HasSuffix(string(raw.Body), odd) ||
		!strings.Contains(string(raw.Body), `"type":"host_ok","host":"forged"`) {
		t.Errorf("the download holds %q", raw.Body)
	}
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff",
		"Content-Type": "text/plain; charset=utf-8"} {
		if got := raw.Header.Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	resp, _ := get(t, s, 0, "/v1/runs/"+r.ID+"/stream?ticket="+s.Ticket(r.ID))
	body, err := io.ReadAll(resp.Body)
	if err != nil || !utf8.Valid(body) || strings.ContainsAny(string(body), "\x00\x1b") {
		t.Errorf("the stream is not plain UTF-8 (%v): %q", err, body)
	}
	log, seqs, _, ended := s.Follow(t.Context(), r.ID, "")
	if !ended || len(seqs) != int(r.EventCount) || !utf8.ValidString(log) || !strings.Contains(log, "\x1b[31mred") {
		t.Errorf("followed: %d events, ended %v, %q", len(seqs), ended, log)
	}
}

// TestHugeLine: a line of 100 MB, or 64 in the quick run, in a log with a cap of 1 MiB. The number of missing
// bytes is exact, and the server's memory does not grow with the line.
// Keeps F22.
func TestHugeLine(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL, Flags: []string{"--log-cap", "1048576"}})
		s.Await(s.Submit(script("echo warm")).ID)
		before := peak(t, s.PID)
		size := depthtest.Of(64_000_000, 100_000_000)
		r := s.Await(s.Submit(script("echo begin; head -c " + strconv.Itoa(size) +
			" /dev/zero | tr '\\0' x; echo; echo end")).ID)
		total := int64(len("begin\n") + size + len("\nend\n"))
		if r.Status != "succeeded" || !r.Warned("log_truncated") || r.LogBytes != total {
			t.Errorf("the run is %s (%s), warnings %v, %d bytes of %d", r.Status, r.Error, r.Warnings, r.LogBytes, total)
		}
		a := s.Do(http.MethodGet, "/v1/runs/"+r.ID+"/logs", nil)
		omitted, err := strconv.ParseInt(a.Header.Get("Service-Log-Omitted-Bytes"), 10, 64)
		if err != nil || a.Header.Get("Service-Log-Truncated") != "1" || len(a.Body) > 1<<20+256<<10 {
			t.Errorf("headers %v, %d bytes: %v", a.Header, len(a.Body), err)
		}
		kept := int64(strings.Count(string(a.Body), "x"))
		if kept < 256<<10 || kept+omitted > total || kept+omitted < total-64 {
			t.Errorf("%d bytes are there and %d are said to be missing, of %d", kept, omitted, size)
		}
		if log := string(a.Body); !strings.HasPrefix(log, "begin\nxxx") || !strings.HasSuffix(log, "x\nend\n") {
			t.Errorf("the log has lost its ends: %q ... %q", log[:20], log[len(log)-20:])
		}
		grown := peak(t, s.PID) - before
		t.Logf("peak memory grew by %d MiB", grown>>20)
		if limit := int64(map[bool]int{false: 48, true: 192}[harness.Race]) << 20; grown > limit {
			t.Errorf("peak memory grew by %d MiB", grown>>20)
		}
	})
}

// peak returns the peak memory of a process so far.
func peak(t *testing.T, pid int) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatalf("VmHWM: %v", err)
	}
	return kib << 10
}

// TestSlowReaderHurtsNobody: a client that reads one byte a second does not slow down a run with much output,
// and other readers get all of it.
// Keeps F20.
func TestSlowReaderHurtsNobody(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	lines := depthtest.Of(150_000, 400_000)
	chatty := script(fmt.Sprintf("read -t 1 <> <(:) || true; seq -f 'line %%.0f of a chatty run' 1 %d", lines))
	alone := s.Await(s.Submit(chatty).ID)
	r := s.Submit(chatty)
	resp, conn := get(t, s, 4096, "/v1/runs/"+r.ID+"/stream?ticket="+s.Ticket(r.ID))
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("slow reader: %d", resp.StatusCode)
	}
	ctx, cancel := context.WithCancel(t.Context())
	slow := make(chan struct{})
	go func() {
		defer close(slow)
		one := make([]byte, 1)
		for tick := time.NewTicker(time.Second); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
				_, _ = conn.Read(one)
			}
		}
	}()
	log, _, statuses, ended := s.Follow(t.Context(), r.ID, "")
	beside := s.Await(r.ID)
	cancel()
	_ = conn.Close()
	<-slow
	if whole := s.Log(r.ID); log != whole || strings.Count(whole, "\n") != lines || !ended ||
		statuses[len(statuses)-1] != "succeeded" {
		t.Errorf("another reader got %d of %d bytes, ended %v, statuses %v", len(log), len(whole), ended, statuses)
	}
	t.Logf("alone %d ms, beside readers %d ms", alone.DurationMS, beside.DurationMS)
	if beside.DurationMS > 3*alone.DurationMS+2000 {
		alone = s.Await(s.Submit(chatty).ID) // the machine may have become slow meanwhile
	}
	if beside.DurationMS > 3*alone.DurationMS+2000 {
		t.Errorf("the run took %d ms alone and %d ms beside a slow reader", alone.DurationMS, beside.DurationMS)
	}
}

// TestFloodOfEventsStarvesNobody: while a playbook floods the server with events, other runs start and end.
// The tests of modules/execution check that a flood is capped and marked.
// Keeps F21.
func TestFloodOfEventsStarvesNobody(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Flags: []string{"--executors", "2"}})
	play, hosts, inventory := filepath.Join(harness.Shared(t), "flood.yml"), depthtest.Of(4, 16), ""
	text := "- hosts: all\n  connection: local\n  gather_facts: false\n  tasks:\n"
	for range 2 {
		text += "    - ansible.builtin.debug: {msg: '{{ item }}'}\n      loop: '{{ range(60) | list }}'\n"
	}
	if err := os.WriteFile(play, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for i := range hosts {
		inventory += fmt.Sprintf("h%d,", i)
	}
	flood := s.Submit(harness.Body{"playbook": play, "inventory": inventory})
	s.Until(flood.ID, time.Minute, func(r harness.Run) bool { return r.EventCount > 20 || r.Ended() })
	during, longest := 0, time.Duration(0)
	for !s.Get(flood.ID).Ended() {
		r := s.Await(s.Submit(script("true")).ID)
		if r.Status != "succeeded" || r.StartedAt == nil {
			t.Fatalf("a run beside the flood is %s (%s) with %d events", r.Status, r.Error, r.EventCount)
		}
		during, longest = during+1, max(longest, r.StartedAt.Sub(r.CreatedAt))
	}
	r := s.Get(flood.ID)
	t.Logf("%d events; %d runs beside them, the longest wait %s", r.EventCount, during, longest)
	maxWait := max(5*time.Second, time.Duration(r.DurationMS/2)*time.Millisecond)
	if r.Status != "succeeded" || r.EventCount < int64(hosts*2*60) || during < 3 || longest > maxWait {
		t.Errorf("the flood is %s (%s) with %d events", r.Status, r.Error, r.EventCount)
	}
	if events := s.Events(r.ID); int64(len(events)) != r.EventCount {
		t.Errorf("%d of %d events are there", len(events), r.EventCount)
	}
}

// TestHostileFilesOfARun: a run replaces the files that the server reads and removes by links to other
// places or by files that block a reader, and leaves a process behind. The run's directory is private while it
// exists.
// Keeps T31.
func TestHostileFilesOfARun(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret.json")
	if err := os.WriteFile(secret, []byte(`{"stolen":"yes"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, hostile := range map[string]string{
		"outputs are a link":       "rm -f $WRIT_OUTPUTS; ln -s " + secret + " $WRIT_OUTPUTS",
		"outputs are a pipe":       "rm -f $WRIT_OUTPUTS; mkfifo $WRIT_OUTPUTS",
		"outputs are a directory":  "rm -f $WRIT_OUTPUTS; mkdir $WRIT_OUTPUTS",
		"work directory is a link": "d=$PWD; cd /; ! rm -rf $d || ln -s " + outside + " $d",
		"run's directory is a link": "d=$(dirname $PWD); cd /; ! mv $d $d.gone || { ln -s " + outside +
			" $d; rm -rf $d.gone; }",
		"links lie within": "ln -s " + outside + " here; ln -s " + secret + " there; mkdir x; chmod 0 x",
		"a process is left behind": "setsid sleep 300 >/dev/null 2>&1 & (setsid bash -c 'trap \"\" TERM HUP; sleep 300' " +
			"&); true",
		"the directory is not others": "[ $(stat -c %a.%u $PWD) = 700.$(id -u) ] && " +
			"[ ! -w $(dirname $(dirname $PWD)) -o $(id -u) = $(stat -c %u ..) ]",
	} {
		r := s.Await(s.Submit(script(hostile)).ID)
		if r.Status != "succeeded" || r.Outputs["stolen"] != nil {
			t.Errorf("%s: the run is %s (%s), outputs %v: %s", name, r.Status, r.Error, r.Outputs, s.Log(r.ID))
		}
		harness.Eventually(t, time.Minute, name+": nothing lives on", func() bool {
			return len(harness.Marked(t, []string{r.ID})) == 0
		})
	}
	if b, err := os.ReadFile(secret); err != nil || !json.Valid(b) {
		t.Errorf("what lies outside was touched: %q, %v", b, err)
	}
	if files, err := os.ReadDir(outside); err != nil || len(files) != 1 {
		t.Errorf("outside there is %v now: %v", files, err)
	}
}
