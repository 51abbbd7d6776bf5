// Package verifiers compares the three verifiers of audit files: the product's own through its command, the script in
// this folder and the page that the server serves, in a real browser. They share no code, and must agree on every
// file.
package verifiers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
)

func TestMain(m *testing.M) {
	code := harness.Main(m)
	running.close()
	os.Exit(code)
}

// waitTimeout bounds every wait.
const waitTimeout = 2 * time.Minute

const (
	vectorDir = "../../ports/proof/testdata"
	pageFile  = "../../adapters/httpapi/ops/assets/verify/verify.html"
	// vkey is the key that signs the heads of all vectors.
	vkey = "audit.example.org/in_test/e1+c2f7f880+AYqI4910CfGV/VLbLTy6XXLKZwm/HZQSG/N0iAG0D29c"
)

// query is one verification.
type query struct {
	name string
	file []byte
	keys []string
	from string // SIZE:ROOT, empty for none
	now  string // the reader's clock, empty for that of this machine
}

// verdict is the result of an engine, as far as engines must agree. Unknown means that a file, or a key, cannot be
// read.
type verdict struct {
	Unknown        bool      `json:"unknown"`
	OK             bool      `json:"ok"`
	Pinned         bool      `json:"pinned"`
	Reason         string    `json:"reason"`
	BrokeAt        int64     `json:"broke_at"`
	BrokeSeq       int64     `json:"broke_seq"`
	Count          int64     `json:"count"`
	Size           int64     `json:"size"`
	AnchorProblems []problem `json:"anchor_problems"`
	Checks         []result  `json:"checks"`
	NotChecked     []string  `json:"not_checked"`
}

type problem struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Size    int64  `json:"size"`
	Problem string `json:"problem"`
}

type result struct {
	ID     string `json:"id"`
	Result string `json:"result"`
}

// ended returns the ids of the checks with a result.
func (v verdict) ended(as string) []string {
	var out []string
	for _, c := range v.Checks {
		if c.Result == as {
			out = append(out, c.ID)
		}
	}
	return out
}

func read(t testing.TB, path ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func decode(t testing.TB, data []byte, out any) {
	t.Helper()
	if err := json.Unmarshal(data, out); err != nil {
		t.Fatalf("%v\n%.2000s", err, data)
	}
}

// product verifies through the command. One process executes all command lines; in the long run each has its own
// process. TestBundleVectors compares both ways in every run.
func product(t testing.TB, all []query) []verdict {
	t.Helper()
	if depthtest.Long {
		return processes(t, all)
	}
	dir, lines := t.TempDir(), &bytes.Buffer{}
	enc := json.NewEncoder(lines)
	for i, q := range all {
		if err := enc.Encode(arguments(t, dir, i, q)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), harness.BinaryOf(t, "github.com/writ-automation/writ/e2e/extensions/custom"))
	cmd.Env = append(bare(dir), "WRIT_TEST_COMMANDS=1")
	cmd.Stdin = lines
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("the commands: %v", err)
	}
	out, dec := make([]verdict, len(all)), json.NewDecoder(bytes.NewReader(text))
	for i, q := range all {
		var a answer
		if err := dec.Decode(&a); err != nil {
			t.Fatalf("%s: %v", q.name, err)
		}
		out[i] = a.verdict(t, q.name)
	}
	return out
}

// processes verifies with a process for each file, two at a time.
func processes(t testing.TB, all []query) []verdict {
	t.Helper()
	out := make([]verdict, len(all))
	writ, dir := harness.Binary(t), t.TempDir()
	var wg sync.WaitGroup
	slots := make(chan struct{}, 2)
	for i, q := range all {
		args := arguments(t, dir, i, q)
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			cmd := exec.CommandContext(t.Context(), writ, args...)
			cmd.Env = bare(dir)
			var errs bytes.Buffer
			cmd.Stderr = &errs
			text, err := cmd.Output()
			if err != nil && cmd.ProcessState == nil {
				t.Errorf("%s: %v", q.name, err)
				return
			}
			out[i] = answer{cmd.ProcessState.ExitCode(), text, errs.Bytes()}.verdict(t, q.name)
		})
	}
	wg.Wait()
	return out
}

// bare returns the environment of the command.
func bare(dir string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}
}

// arguments writes the file of a query and returns the command line that verifies it.
func arguments(t testing.TB, dir string, n int, q query) []string {
	t.Helper()
	file := filepath.Join(dir, fmt.Sprint("file-", n))
	if err := os.WriteFile(file, q.file, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"audit", "verify", "--json", file}
	for _, k := range q.keys {
		args = append(args, "--key", k)
	}
	if q.from != "" {
		args = append(args, "--from", q.from)
	}
	return args
}

// answer is the result of a command.
type answer struct {
	Code     int
	Out, Err []byte
}

// verdict checks that the exit code matches the output of the command.
func (a answer) verdict(t testing.TB, name string) (v verdict) {
	t.Helper()
	if a.Code == 2 && len(a.Out) == 0 {
		return verdict{Unknown: true}
	}
	if err := json.Unmarshal(a.Out, &v); err != nil || a.Code != exit(v) {
		t.Errorf("%s: the command ends with %d, %v\n%.500s\n%.500s", name, a.Code, err, a.Out, a.Err)
	}
	return v
}

// exit returns the exit code for a verdict.
func exit(v verdict) int {
	switch {
	case v.Unknown:
		return 2
	case !v.OK:
		return 1
	case !v.Pinned:
		return 3
	}
	return 0
}

// driver makes one Python process verify many files: a line of JSON in, a line out.
const driver = `
import base64, io, json, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import verify
for line in sys.stdin:
    q = json.loads(line)
    try:
        out = verify.check(io.BytesIO(base64.b64decode(q["file"])), q["keys"] or [], q["from"], q["now"])
    except verify.Unknown:
        out = {"unknown": True}
    print(json.dumps(out))
`

// wire is a query in the form of the driver and the page.
type wire struct {
	File []byte   `json:"file"`
	Keys []string `json:"keys"`
	From string   `json:"from"`
	Now  string   `json:"now"`
}

func (q query) wire() wire {
	return wire{File: q.file, Keys: append([]string{}, q.keys...), From: q.from, Now: q.now}
}

// known opens the files that other processes read, so that a change of them invalidates a cached test result.
func known(t testing.TB) {
	t.Helper()
	_, _ = read(t, "verify.py"), read(t, pageFile)
}

func python3(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Fatalf("python3 is missing; run: make setup: %v", err)
	}
	return path
}

// script verifies with the script.
func script(t testing.TB, all []query) []verdict {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	known(t)
	var in strings.Builder
	enc := json.NewEncoder(&in)
	for _, q := range all {
		if err := enc.Encode(q.wire()); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), python3(t), "-I", "-c", driver, here)
	cmd.Stdin = strings.NewReader(in.String())
	var errs strings.Builder
	cmd.Stderr = &errs
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("the script: %v\n%s", err, errs.String())
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != len(all) {
		t.Fatalf("%d answers to %d files", len(lines), len(all))
	}
	out := make([]verdict, len(all))
	for i, line := range lines {
		decode(t, []byte(line), &out[i])
	}
	return out
}

// equal reports whether two verdicts agree.
func equal(a, b verdict) bool {
	return a.Unknown == b.Unknown && a.OK == b.OK && a.Pinned == b.Pinned && a.Reason == b.Reason &&
		a.BrokeAt == b.BrokeAt &&
		a.BrokeSeq == b.BrokeSeq && a.Count == b.Count && a.Size == b.Size &&
		slices.Equal(a.AnchorProblems, b.AnchorProblems) && slices.Equal(a.Checks, b.Checks) &&
		slices.Equal(a.NotChecked, b.NotChecked)
}

// agree runs all engines and returns their common result.
func agree(t *testing.T, b *browser, all []query) []verdict {
	t.Helper()
	own, py, js := product(t, all), script(t, all), b.verify(t, all)
	for i, q := range all {
		if !equal(own[i], py[i]) || !equal(own[i], js[i]) {
			t.Errorf("%s:\nproduct %+v\nscript  %+v\npage    %+v", q.name, own[i], py[i], js[i])
		}
	}
	return own
}

// TestScriptAsCommand runs the script as users do.
func TestScriptAsCommand(t *testing.T) {
	t.Parallel()
	known(t)
	good, edited := filepath.Join(vectorDir, "bundles", "window.json"),
		put(t, "edited.json", bytes.Replace(read(t, vectorDir, "bundles", "window.json"), []byte("usr_1"),
			[]byte("usr_2"), 1))
	for name, c := range map[string]struct {
		args []string
		code int
	}{
		"pinned": {[]string{good, "--key", vkey, "--from", "7:UKhRu3WE51MQ9F7hjPA7WfXjBGGRz2bSyL25mxEeBgU="}, 0},
		"no key": {[]string{good}, 3}, "edited": {[]string{edited, "--key", vkey}, 1},
		"another key": {[]string{good, "--key", newSigner(9).vkey(origin)}, 1},
		"no file":     {[]string{filepath.Join(t.TempDir(), "none")}, 2}, "a folder": {[]string{t.TempDir()}, 2},
		"half a key": {[]string{good, "--key", "x"}, 2}, "no head": {[]string{good, "--from", "7"}, 2},
		"no bundle": {[]string{"main_test.go"}, 2}, "nothing": {nil, 2}, "an unknown flag": {[]string{good, "--x"}, 2},
	} {
		cmd := exec.CommandContext(t.Context(), python3(t), append([]string{"-I", "verify.py"}, c.args...)...)
		out, _ := cmd.Output() // the exit code is the result
		if code := cmd.ProcessState.ExitCode(); code != c.code {
			t.Errorf("%s: exit code %d, want %d\n%s", name, code, c.code, out)
		}
		if c.code == 2 != (len(out) == 0) {
			t.Errorf("%s: %q", name, out)
			continue
		}
		var v verdict
		if c.code != 2 {
			if decode(t, out, &v); exit(v) != c.code {
				t.Errorf("%s: %+v", name, v)
			}
		}
	}
}
