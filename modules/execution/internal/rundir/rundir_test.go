package rundir

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/runs"
)

func lease(id string) runs.Lease { return runs.Lease{RunID: id, Worker: "w", Epoch: 3} }

func create(t *testing.T, root, id string, vars runs.Vars) Dir {
	t.Helper()
	d, err := Create(Root{Runs: root, Spool: root}, lease(id), vars, Owner{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestTheDirectoryIsPrivate(t *testing.T) {
	t.Parallel()
	d := create(t, t.TempDir(), "run_1", runs.Vars{"a": json.RawMessage("9007199254740993")})
	for path, want := range map[string]os.FileMode{d.Path(): 0o700, d.Work(): 0o700, d.Vars(): 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Fatalf("%s has %v: %v", path, info, err)
		}
	}
	if b, err := os.ReadFile(d.Vars()); err != nil || string(b) != `{"a":9007199254740993}` {
		t.Fatalf("vars are %s: %v", b, err)
	}
	again := create(t, filepath.Dir(d.Path()), "run_1", nil)
	if b, err := os.ReadFile(again.Vars()); err != nil || string(b) != `{}` {
		t.Fatalf("vars are %s: %v", b, err)
	}
	for _, id := range []string{"", "..", "a/b", "a\x00"} {
		if _, err := Create(Root{Runs: t.TempDir(), Spool: t.TempDir()}, lease(id), nil, Owner{}); err == nil {
			t.Fatalf("%q was taken as a directory", id)
		}
	}
}

func TestEnv(t *testing.T) {
	t.Parallel()
	d := create(t, t.TempDir(), "run_1", nil)
	base := Base([]string{"PATH=/bin", "TZ=Asia/Kolkata", "AWS_SECRET=x", "WRIT_TOKEN=y",
		"https_proxy=http://u:pr0xypw@p:1", "MORE=1"}, []string{"MORE", "WRIT_TOKEN"})
	r := &runs.Run{ID: "run_1", Spec: runs.Spec{DryRun: true,
		Env: map[string]string{"TZ": "UTC", "WRIT_RUN_ID": "forged", "BAD=": "x"}},
		Vars: runs.Vars{
			"app-port": json.RawMessage("8080"), "app_port": json.RawMessage("1"), "name": json.RawMessage(`"a b"`),
			"on":   json.RawMessage("true"),
			"none": json.RawMessage("null"), "list": json.RawMessage("[1]"), "obj": json.RawMessage("{}"),
			"nul": json.RawMessage(`"\u0000"`),
			"big": json.RawMessage(`"` + strings.Repeat("x", maxVar+1) + `"`),
		}}
	want := map[string]string{
		"PATH": "/bin", "LANG": "C.UTF-8", "TZ": "UTC", "https_proxy": "http://u:pr0xypw@p:1", "MORE": "1", "HOME": d.Work(),
		"TMPDIR":      d.Work(),
		"WRIT_RUN_ID": "run_1", "WRIT_VARS": d.Vars(), "WRIT_OUTPUTS": d.Outputs(), "WRIT_DRY_RUN": "1",
		"WRIT_VAR_APP_PORT": "8080", "WRIT_VAR_NAME": "a b", "WRIT_VAR_ON": "true",
	}
	if diff := cmp.Diff(want, d.Env(base, r, Secrets{})); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff([]string{"pr0xypw"}, BaseSecrets(base)); diff != "" {
		t.Fatal(diff)
	}
	// No spelling of a variable takes the place of a credential's.
	own := Secrets{Vars: runs.Vars{"app_port": json.RawMessage("2"), "name": json.RawMessage("{}")}}
	delete(want, "WRIT_VAR_NAME")
	want["WRIT_VAR_APP_PORT"] = "2"
	if diff := cmp.Diff(want, d.Env(base, r, own)); diff != "" {
		t.Fatal(diff)
	}
}

func TestOutputs(t *testing.T) {
	t.Parallel()
	d := create(t, t.TempDir(), "run_1", nil)
	if v, err := d.ReadOutputs(); v != nil || err != nil {
		t.Fatalf("no file gives %v, %v", v, err)
	}
	for text, ok := range map[string]bool{"": true, `{"n": 9007199254740993}`: true, `[1]`: false, `null`: false,
		`{"a":`: false,
		`{"a":"` + strings.Repeat("x", MaxOutputs) + `"}`: false} {
		if err := os.WriteFile(d.Outputs(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := d.ReadOutputs(); (err == nil) != ok {
			t.Fatalf("%.20q gives %v", text, err)
		}
	}
	if err := os.Remove(d.Outputs()); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(d.Vars(), d.Outputs()); err != nil {
		t.Fatal(err)
	}
	if _, err := d.ReadOutputs(); err == nil {
		t.Fatal("a link was followed")
	}
}

func TestEndingAndLeftovers(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d := create(t, root, "run_1", nil)
	if s := d.State(); s.Ending != nil || s.Begun || d.Unsent() {
		t.Fatalf("a new directory says %+v", s)
	}
	if err := d.MarkBegun(); err != nil {
		t.Fatal(err)
	}
	code := 3
	want := &runs.Ending{Status: runs.Failed, ExitCode: &code, Log: runs.LogChunk{Offset: 7, Data: []byte("\xffx")},
		Outputs: runs.Vars{"a": json.RawMessage("1")},
		Events:  []runs.Event{{Seq: 2, Type: runs.EventStats, Stats: json.RawMessage(`{"a":1}`)}},
		Hosts:   []runs.HostSummary{{Host: "h", Duration: 5}}, Counts: runs.HostCounts{runs.HostOK: 1}}
	if err := d.SaveEnding(want); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(d.stateFile(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("\n{\"ending\":{\"Status\":\"succ"); err != nil { // a later one that was cut off
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, d.State().Ending); diff != "" || !d.State().Begun || !d.Unsent() {
		t.Fatal(diff)
	}
	left, err := Leftovers(Root{Runs: root, Spool: root})
	if err != nil || len(left) != 1 || left[0] != d {
		t.Fatalf("left are %v: %v", left, err)
	}
	if s := left[0].State(); s.RunID != "run_1" || s.Worker != "w" {
		t.Fatalf("the owner is %s of %s", s.RunID, s.Worker)
	}
	if err := d.MoveToLost(); err != nil {
		t.Fatal(err)
	}
	if left, err := Leftovers(Root{Runs: root, Spool: root}); err != nil || len(left) != 0 {
		t.Fatalf("left are %v: %v", left, err)
	}
	kept := filepath.Join(root, lostDir, "run_1.3")
	if _, err := os.Stat(filepath.Join(kept, stateFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(kept, varsFile)); err == nil {
		t.Fatal("variables stay in the evidence")
	}
}

func TestEvidenceIsBounded(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for i := range MaxLost + 5 {
		if err := create(t, root, fmt.Sprintf("run_%d", i), nil).MoveToLost(); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(filepath.Join(root, lostDir))
	if err != nil || len(entries) != MaxLost {
		t.Fatalf("%d are kept: %v", len(entries), err)
	}
}

func TestRemoveDespitePermissions(t *testing.T) {
	t.Parallel()
	d := create(t, t.TempDir(), "run_1", nil)
	if err := os.MkdirAll(filepath.Join(d.Work(), "a", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(d.Work(), "a"), 0); err != nil {
		t.Fatal(err)
	}
	if err := d.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(d.Path()); !os.IsNotExist(err) {
		t.Fatal("the directory is still there")
	}
}

func TestOrphanedSpoolsGo(t *testing.T) {
	t.Parallel()
	root := Root{Runs: t.TempDir(), Spool: t.TempDir()}
	d, err := Create(root, lease("run_1"), nil, Owner{})
	if err != nil {
		t.Fatal(err)
	}
	gone, err := Of(root, lease("run_2"))
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(root.Spool, "notes.txt")
	for _, path := range []string{d.LogSpool(), d.EventSpool(), gone.LogSpool(), gone.EventSpool(), other} {
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := DropOrphans(root); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{d.LogSpool(): true, d.EventSpool(): true, other: true, gone.LogSpool(): false,
		gone.EventSpool(): false} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
}
