package execution_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/runs"
)

func TestAShortRunIsThreeUnits(t *testing.T) {
	t.Parallel()
	b := setup(t, echo)
	got := b.run(&runs.Run{ID: "run_1", Spec: runs.Spec{Command: "hi\n"}})
	if got.run.Status != runs.Succeeded || string(got.log) != "hi\n" || *got.end.ExitCode != 0 || got.end.Error != "" {
		t.Fatalf("ended as %+v with log %q", got.end, got.log)
	}
	sum := sha256.Sum256([]byte("hi\n"))
	if got.end.LogSHA256 != hex.EncodeToString(sum[:]) || got.end.LogBytes != 3 || got.end.LogOmitted != 0 {
		t.Fatalf("the seal is %+v", got.end)
	}
	for op, want := range map[string]int{"begin": 1, "finish": 1, "log": 0, "events": 0, "facts": 0, "hosts": 0, "beat": 0,
		"release": 0} {
		if n := b.plane.count(op); n != want {
			t.Errorf("%d calls of %s", n, op)
		}
	}
	if text, err := b.live.output("run_1"); text != "hi\n" || err != nil {
		t.Fatalf("shown %q: %v", text, err)
	}
	if entries, err := os.ReadDir(b.config.RunsDir); err != nil || len(entries) != 0 {
		t.Fatalf("left behind: %v %v", entries, err)
	}
}

func TestTheToolSeesWhatIsPromised(t *testing.T) {
	t.Parallel()
	var spec extension.ToolSpec
	var vars []byte
	b := setup(t, toolFunc(func(_ context.Context, s extension.ToolSpec, _ io.Writer) (extension.ToolResult, error) {
		spec = s
		var err error
		if vars, err = os.ReadFile(s.Env["WRIT_VARS"]); err != nil {
			return extension.ToolResult{}, err
		}
		return extension.ToolResult{}, os.WriteFile(s.Env["WRIT_OUTPUTS"],
			[]byte(`{"answer": 9007199254740993, "pw": "hunter22!"}`), 0o600)
	}))
	got := b.run(&runs.Run{ID: "run_1", Spec: runs.Spec{DryRun: true, Env: map[string]string{"A": "b"}},
		Vars: runs.Vars{"n": json.RawMessage("9007199254740993"), "db_password": json.RawMessage(`"hunter22!"`)}})
	if got.run.Status != runs.Succeeded {
		t.Fatalf("ended as %+v", got.end)
	}
	want := runs.Vars{"answer": json.RawMessage("9007199254740993"), "pw": json.RawMessage(`"***"`)}
	if diff := cmp.Diff(want, got.end.Outputs); diff != "" {
		t.Fatal(diff)
	}
	if spec.ExtraVars["n"] != json.Number("9007199254740993") || !spec.DryRun ||
		!bytes.Contains(vars, []byte("hunter22!")) {
		t.Fatalf("the tool got %+v and %s", spec, vars)
	}
	if e := spec.Env; e["A"] != "b" || e["WRIT_DRY_RUN"] != "1" || e["WRIT_VAR_N"] != "9007199254740993" ||
		e["SECRET"] != "" || e["HOME"] != spec.Dir {
		t.Fatalf("the environment is %v", e)
	}
}

func TestHowARunEnds(t *testing.T) {
	t.Parallel()
	tool := func(code int, err error) toolFunc {
		return func(context.Context, extension.ToolSpec, io.Writer) (extension.ToolResult, error) {
			return extension.ToolResult{ExitCode: code}, err
		}
	}
	cases := map[string]struct {
		tool   toolFunc
		spec   runs.Spec
		status runs.Status
		error  string
		begins int
	}{
		"exit code": {tool(3, nil), runs.Spec{}, runs.Failed, "sh ended with exit code 3", 1},
		"signal":    {tool(137, nil), runs.Spec{}, runs.Failed, "signal 9", 1},
		"no launch": {tool(0, errors.New("no hunter22! here")), runs.Spec{}, runs.Failed,
			"could not be run: no *** here", 1},
		"unknown tool": {tool(0, nil), runs.Spec{Tool: "cobol"}, runs.Failed, `no tool "cobol"`, 0},
		"project":      {tool(0, nil), runs.Spec{ProjectID: "prj_1"}, runs.Failed, "prj_1", 0},
		"credential":   {tool(0, nil), runs.Spec{CredentialIDs: []string{"crd_1"}}, runs.Failed, "crd_1", 0},
		"panic": {func(context.Context, extension.ToolSpec, io.Writer) (extension.ToolResult, error) {
			panic("oh")
		}, runs.Spec{},
			runs.Failed, "panicked: oh", 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, c.tool)
			got := b.run(&runs.Run{ID: "run_1", Spec: c.spec, Vars: runs.Vars{"api_key": json.RawMessage(`"hunter22!"`)}})
			if got.run.Status != c.status || !strings.Contains(got.end.Error, c.error) || b.plane.count("begin") != c.begins {
				t.Fatalf("ended as %s, %q after %d begins", got.run.Status, got.end.Error, b.plane.count("begin"))
			}
		})
	}
}

func TestOutputIsMaskedAcrossWrites(t *testing.T) {
	t.Parallel()
	b := setup(t, toolFunc(func(_ context.Context, _ extension.ToolSpec, out io.Writer) (extension.ToolResult, error) {
		for _, part := range []string{"pw=hun", "ter2", "2! and hunter", "s\n"} {
			if _, err := io.WriteString(out, part); err != nil {
				return extension.ToolResult{}, err
			}
		}
		return extension.ToolResult{}, os.ErrInvalid
	}))
	got := b.run(&runs.Run{ID: "run_1", Vars: runs.Vars{"password": json.RawMessage(`"hunter22!"`)}})
	if want := "pw=*** and hunters\n"; string(got.log) != want {
		t.Fatalf("the log is %q", got.log)
	}
	if text, err := b.live.output("run_1"); text != string(got.log) || err != nil {
		t.Fatalf("shown %q: %v", text, err)
	}
}

func TestUnreadableOutputsAreAWarning(t *testing.T) {
	t.Parallel()
	b := setup(t, toolFunc(func(_ context.Context, s extension.ToolSpec, _ io.Writer) (extension.ToolResult, error) {
		return extension.ToolResult{}, os.WriteFile(s.Env["WRIT_OUTPUTS"], []byte(`[1]`), 0o600)
	}))
	got := b.run(&runs.Run{ID: "run_1"})
	if diff := cmp.Diff([]string{runs.WarnOutputsUnreadable}, codes(got.end.Warnings)); diff != "" ||
		got.run.Status != runs.Succeeded {
		t.Fatal(diff, got.run.Status)
	}
}

func TestEveryRunIsExecutedOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := make(map[string]int)
	b := setup(t, toolFunc(func(_ context.Context, s extension.ToolSpec, out io.Writer) (extension.ToolResult, error) {
		mu.Lock()
		defer mu.Unlock()
		seen[s.Env["WRIT_RUN_ID"]]++
		_, err := io.WriteString(out, s.Env["WRIT_RUN_ID"])
		return extension.ToolResult{}, err
	}))
	b.config.Executors = 8
	_, stop := b.start()
	defer stop()
	b.config.Worker, b.config.RunsDir = "w2", t.TempDir()
	_, stop2 := b.start()
	defer stop2()
	all := depthtest.Of(60, 300)
	for i := range all {
		b.plane.submit(&runs.Run{ID: fmt.Sprintf("run_%d", i)})
	}
	for i := range all {
		id := fmt.Sprintf("run_%d", i)
		if got := b.ended(id); string(got.log) != id || got.run.Epoch != 1 {
			t.Fatalf("%s printed %q in epoch %d", id, got.log, got.run.Epoch)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s was executed %d times", id, n)
		}
	}
}

// noisy prints size bytes in lines of 1000.
func noisy(size int) toolFunc {
	return func(_ context.Context, _ extension.ToolSpec, out io.Writer) (extension.ToolResult, error) {
		for i := range size / 1000 {
			if _, err := fmt.Fprintf(out, "%0999d\n", i); err != nil {
				return extension.ToolResult{}, err
			}
		}
		return extension.ToolResult{}, nil
	}
}

func expected(size int) []byte {
	var want bytes.Buffer
	if _, err := noisy(size)(context.Background(), extension.ToolSpec{}, &want); err != nil {
		panic(err)
	}
	return want.Bytes()
}

func TestALongLogArrivesWholeThroughAFailingPlane(t *testing.T) {
	t.Parallel()
	size := depthtest.Of(3, 12) << 20
	b := setup(t, noisy(size))
	n := 0
	var mu sync.Mutex
	b.plane.fail(func(op, _ string) error {
		mu.Lock()
		defer mu.Unlock()
		if n++; (op == "log" || op == "finish") && n%7 == 3 {
			return errors.New("the database is away")
		}
		return nil
	})
	got := b.run(&runs.Run{ID: "run_1"})
	want := expected(size)
	if !bytes.Equal(got.log, want) || got.holes != 0 || got.end.LogOmitted != 0 {
		t.Fatalf("%d of %d bytes came, %d missing", len(got.log), len(want), got.holes)
	}
	if text, err := b.live.output("run_1"); text != string(want) || err != nil {
		t.Fatalf("shown %d bytes: %v", len(text), err)
	}
}

func TestALogBeyondItsCapIsMarked(t *testing.T) {
	t.Parallel()
	part := depthtest.Of(1, 4) << 20 / 4 // a quarter of the cap
	exited := make(chan struct{})
	b := setup(t, toolFunc(func(ctx context.Context, s extension.ToolSpec, out io.Writer) (extension.ToolResult, error) {
		defer close(exited)
		return noisy(20*part)(ctx, s, out)
	}))
	b.config.LogCap = int64(4 * part)
	b.plane.fail(func(op, _ string) error {
		if op == "log" {
			<-exited // a plane that hangs while the tool runs does not slow the tool
		}
		return nil
	})
	got := b.run(&runs.Run{ID: "run_1"})
	want := expected(20 * part)
	if got.end.LogOmitted < int64(10*part) || got.holes != got.end.LogOmitted ||
		got.end.LogBytes != int64(len(want)) || len(got.log) != len(want) {
		t.Fatalf("%d omitted, %d holes, %d bytes", got.end.LogOmitted, got.holes, got.end.LogBytes)
	}
	if !bytes.Equal(got.log[:part], want[:part]) || !bytes.Equal(got.log[len(want)-part:], want[len(want)-part:]) {
		t.Fatal("the head or the tail is not what was printed")
	}
	sum := sha256.Sum256(want)
	if got.end.LogSHA256 != hex.EncodeToString(sum[:]) {
		t.Fatal(got.end.LogSHA256)
	}
}

func TestADirectoryThatCannotBeMadeGivesTheRunBack(t *testing.T) {
	t.Parallel()
	b := setup(t, echo)
	_, stop := b.start()
	defer stop()
	if err := os.RemoveAll(b.config.RunsDir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.config.RunsDir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.plane.submit(&runs.Run{ID: "run_1", Spec: runs.Spec{Command: "x"}})
	b.until("a release", func() bool { return b.plane.count("release") > 0 })
	if err := os.Remove(b.config.RunsDir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Clean(b.config.RunsDir), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := b.ended("run_1"); got.run.Status != runs.Succeeded {
		t.Fatalf("ended as %+v", got.end)
	}
}
