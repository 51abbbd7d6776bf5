package execution_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

func sealed(id string) *runs.Run {
	return &runs.Run{ID: id, Spec: runs.Spec{Command: "hi", CredentialIDs: []string{"crd_1"}}}
}

func TestSecretsThatCannotBeHad(t *testing.T) {
	t.Parallel()
	give := func(change func(in *secrets.Injection)) *vault {
		in := full()
		change(&in)
		return &vault{in: in}
	}
	failing := func(err error) *vault { return &vault{provide: func(context.Context) error { return err }} }
	env := func(name, value string) *vault {
		return give(func(in *secrets.Injection) { in.Env = map[string]secret.Text{name: secret.Text(value)} })
	}
	file := func(names ...string) *vault {
		return give(func(in *secrets.Injection) {
			in.Files = nil
			for _, n := range names {
				in.Files = append(in.Files, secrets.File{Name: n, Content: canary})
			}
		})
	}
	for name, c := range map[string]struct {
		vault   *vault
		message string
	}{
		"nobody provides": {nil, "cannot provide what the run names: credential crd_1"},
		"the engine refuses": {failing(secrets.Unresolved.New("the secret of the credential %q was refused", "prod").
			Because(errors.New(canary))), `provided: the secret of the credential "prod" was refused`},
		"the key is lost": {failing(secrets.KeyLost.New("the key of %q is lost", "prod")),
			`the key of "prod" is lost`},
		"an odd error":           {failing(errors.New(canary)), "could not be provided"},
		"a panic":                {&vault{provide: func(context.Context) error { panic(canary) }}, "could not be provided"},
		"a variable of Writ":     {env("WRIT_RUN_ID", canary), "may not set the environment variable WRIT_RUN_ID"},
		"a variable of no name":  {env("A=B", canary), "whose name none can have"},
		"a variable with a NUL":  {env("A", canary+secret.FileMark("none")), "the environment variable A of a credential"},
		"a variable too long":    {env("A", strings.Repeat(canary, 10_000)), "the environment variable A of a credential"},
		"a file above":           {file("../" + "x"), `names a file "../x"`},
		"a file too deep":        {file("a/b/c"), `names a file "a/b/c"`},
		"an absolute file":       {file("/etc/x"), `names a file "/etc/x"`},
		"a file with a NUL":      {file("a\x00b"), "names a file"},
		"one file twice":         {file("a", "a"), "two credentials name the file a"},
		"a file and a directory": {file("a", "a/b"), "two credentials name the file a/b"},
		"a variable of no kind": {give(func(in *secrets.Injection) { in.ExtraVars["f"] = func() {} }),
			"the variable f of a credential is no plain value"},
		"no agents": {give(func(*secrets.Injection) {}), "cannot serve the private key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, echo)
			b.vault, b.agents = c.vault, &agents{}
			if name == "no agents" {
				b.agents = nil
			}
			b.plane.submit(sealed("run_1"))
			_, stop := b.start()
			got := b.ended("run_1")
			stop()
			if got.run.Status != runs.Failed || !strings.Contains(got.end.Error, c.message) || got.end.ExitCode != nil ||
				b.plane.count("begin") != 0 ||
				strings.Contains(got.end.Error, "nary") {
				t.Errorf("%+v", got.end)
			}
			if b.agents == nil {
				b.agents = &agents{}
			}
			if b.vault == nil {
				b.vault = &vault{}
			}
			b.nothingLeft()
		})
	}
}

func TestAStoreThatDoesNotAnswerGivesTheRunBack(t *testing.T) {
	t.Parallel()
	var tries atomic.Int32
	b := secretive(t, echo, full())
	b.config.Poll = 20 * time.Millisecond
	b.vault.provide = func(context.Context) error {
		if tries.Add(1) < 3 {
			return fault.Wrap(fault.Unavailable, errors.New(canary), "the store does not answer")
		}
		return nil
	}
	b.plane.submit(sealed("run_1"))
	_, stop := b.start()
	got := b.ended("run_1")
	stop()
	if got.run.Status != runs.Succeeded || got.run.Epoch != 3 || b.plane.count("release") != 2 ||
		b.plane.count("begin") != 1 {
		t.Errorf("%+v in epoch %d", got.end, got.run.Epoch)
	}
	asked, _ := b.vault.owners()
	if diff := cmp.Diff([]secrets.Owner{{ID: "run_1", Epoch: 1}, {ID: "run_1", Epoch: 2}, {ID: "run_1", Epoch: 3}},
		asked); diff != "" {
		t.Error(diff)
	}
	b.nothingLeft()
}

// waiting sets up secrets whose fetch never ends, and returns a channel that reports its start.
func waiting(t *testing.T) (*bench, <-chan struct{}) {
	t.Helper()
	b, begun := secretive(t, echo, full()), make(chan struct{}, 8)
	b.vault.provide = func(ctx context.Context) error {
		begun <- struct{}{}
		<-ctx.Done()
		return fault.Wrap(fault.Unavailable, ctx.Err(), "cut short")
	}
	return b, begun
}

func TestEndsWhileSecretsAreFetched(t *testing.T) {
	t.Parallel()
	t.Run("a cancel", func(t *testing.T) {
		t.Parallel()
		b, begun := waiting(t)
		b.plane.submit(sealed("run_1"))
		_, stop := b.start()
		<-begun
		b.cancel("run_1")
		if err := b.signals.Signal(t.Context(), events.TopicCancel, "run_1"); err != nil {
			t.Fatal(err)
		}
		got := b.ended("run_1")
		stop()
		if got.run.Status != runs.Canceled || b.plane.count("begin") != 0 {
			t.Errorf("%+v", got.end)
		}
		b.nothingLeft()
	})
	t.Run("the timeout", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b, begun := waiting(t)
			r := sealed("run_1")
			r.Spec.TimeoutSeconds = 20
			b.plane.submit(r)
			_, stop := b.start()
			<-begun
			got := b.ended("run_1")
			stop()
			if got.run.Status != runs.Failed || got.end.Error != "the run was over its timeout of 20 s" ||
				got.end.ExitCode != nil {
				t.Errorf("%+v", got.end)
			}
			b.nothingLeft()
		})
	})
	t.Run("a stop", func(t *testing.T) {
		t.Parallel()
		b, begun := waiting(t)
		b.plane.submit(sealed("run_1"))
		_, stop := b.start()
		<-begun
		stop()
		if got := b.plane.see("run_1"); got.run.Status != runs.Pending || b.plane.count("finish") != 0 {
			t.Errorf("the run is %s", got.run.Status)
		}
		b.nothingLeft()
	})
	t.Run("a lost lease", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b, begun := waiting(t)
			b.plane.submit(sealed("run_1"))
			_, stop := b.start()
			<-begun
			b.plane.expire("run_1")
			b.until("the release", func() bool { _, released := b.vault.owners(); return len(released) > 0 })
			stop()
			b.nothingLeft()
		})
	})
}

// TestSecretsAreLetGo covers every other way in which a run may end.
func TestSecretsAreLetGo(t *testing.T) {
	t.Parallel()
	panics := toolFunc(func(context.Context, extension.ToolSpec, io.Writer) (extension.ToolResult, error) {
		panic("no " + canary)
	})
	for name, c := range map[string]struct {
		tool    extension.ToolRunner
		kind    runs.Kind
		status  runs.Status
		message string
	}{
		"a panic of the tool": {panics, runs.Single, runs.Failed, "the tool could not be run: the tool panicked: no ***"},
		"a panic of a listing": {&lister{look: func(extension.ToolSpec, execution.Play) { panic(canary) }}, runs.Split,
			runs.Failed, "the tool panicked: ***"},
		"no hosts to split": {echo, runs.Split, runs.Failed, "cannot be split"},
		"success":           {echo, runs.Single, runs.Succeeded, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := secretive(t, c.tool, full())
			r := sealed("run_1")
			r.Kind, r.Spec.Playbook = c.kind, "site.yml"
			b.plane.submit(r)
			_, stop := b.start()
			got := b.ended("run_1")
			stop()
			if got.run.Status != c.status || !strings.Contains(got.end.Error, c.message) {
				t.Errorf("%+v", got.end)
			}
			b.nothingLeft()
		})
	}
	t.Run("a lost lease", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := secretive(t, hang, full())
			b.plane.submit(sealed("run_1"))
			_, stop := b.start()
			b.running("run_1")
			b.plane.expire("run_1")
			b.until("the release", func() bool { _, released := b.vault.owners(); return len(released) > 0 })
			stop()
			if entries := b.secretFiles(); len(entries) > 0 {
				t.Errorf("the evidence holds secrets: %v", entries)
			}
		})
	})
}

// secretFiles lists the files in the runs' directory that contain a secret.
func (b *bench) secretFiles() []string {
	b.t.Helper()
	var out []string
	err := filepath.WalkDir(b.config.RunsDir, func(path string, e fs.DirEntry, err error) error {
		var text []byte
		if err == nil && e.Type().IsRegular() {
			text, err = os.ReadFile(path)
		}
		if strings.Contains(string(text), "nary") {
			out = append(out, path)
		}
		if errors.Is(err, fs.ErrNotExist) { // it went meanwhile
			return nil
		}
		return err
	})
	if err != nil {
		b.t.Error(err)
	}
	return out
}

// TestNothingSecretWaitsForThePlane has an ending that the plane does not accept: the directory stays with it, and
// contains no secret by then.
func TestNothingSecretWaitsForThePlane(t *testing.T) {
	t.Parallel()
	b := secretive(t, toolFunc(func(_ context.Context, s extension.ToolSpec, out io.Writer) (extension.ToolResult, error) {
		_, err := io.WriteString(out, "said "+canary+"\n")
		return extension.ToolResult{}, errors.Join(err, os.WriteFile(filepath.Join(s.Dir, "copy"), []byte(canary), 0o600))
	}), full())
	var away atomic.Bool
	away.Store(true)
	b.plane.fail(func(op, _ string) error {
		if op == "finish" && away.Load() {
			return errors.New("away")
		}
		return nil
	})
	b.plane.submit(sealed("run_1"))
	_, stop := b.start()
	b.until("an attempt to finish", func() bool { return b.plane.count("finish") > 0 })
	entries, err := os.ReadDir(filepath.Join(b.config.RunsDir, "run_1.1"))
	if err != nil || len(entries) != 1 || len(b.secretFiles()) > 0 || b.agents.running() != 0 {
		t.Errorf("there are %v and %v: %v", entries, b.secretFiles(), err)
	}
	b.until("the release", func() bool { _, released := b.vault.owners(); return len(released) == 1 })
	away.Store(false)
	if got := b.ended("run_1"); string(got.log) != "said ***\n" {
		t.Errorf("%+v", got.end)
	}
	stop()
	b.nothingLeft()
}

// TestSecretsOfAKilledLifeGoFirst has a plane that does not answer the restarted executor either.
func TestSecretsOfAKilledLifeGoFirst(t *testing.T) {
	t.Parallel()
	b := secretive(t, hang, full())
	b.die("after-begin", sealed("run_1"))
	if len(b.secretFiles()) == 0 {
		t.Fatal("a killed life leaves nothing to look for")
	}
	var away atomic.Bool
	away.Store(true)
	b.plane.fail(func(op, _ string) error {
		if op == "held" && away.Load() {
			return errors.New("away")
		}
		return nil
	})
	_, stop := b.start()
	b.until("the secrets to go", func() bool { return len(b.secretFiles()) == 0 })
	if !b.reaper.reaped("run_1") {
		t.Error("nobody looked for what the run left running")
	}
	away.Store(false)
	if got := b.ended("run_1"); got.run.Status != runs.Interrupted {
		t.Errorf("%+v", got.end)
	}
	b.until("the clean-up", func() bool {
		entries, err := os.ReadDir(b.config.RunsDir)
		return err == nil && len(entries) == 0
	})
	stop()
}

// TestARevocationThatHangsBlocksNobody has one slot, whose next run begins while the secrets of the one before are
// still being revoked.
func TestARevocationThatHangsBlocksNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := secretive(t, echo, full())
		b.config.Executors = 1
		var cut atomic.Int32
		b.vault.release = func(ctx context.Context) {
			<-ctx.Done()
			cut.Add(1)
		}
		b.plane.submit(sealed("run_1"))
		b.plane.submit(sealed("run_2"))
		begun := time.Now()
		_, stop := b.start()
		b.ended("run_2")
		if took := time.Since(begun); took > 4*time.Second || cut.Load() != 0 {
			t.Errorf("the second run waited for %s", took)
		}
		stop()
		if cut.Load() != 2 {
			t.Errorf("%d revocations were waited for", cut.Load())
		}
		b.nothingLeft()
	})
}

// TestSecretsThatWereNotRenewed checks that the run continues, and that its end has a warning.
func TestSecretsThatWereNotRenewed(t *testing.T) {
	t.Parallel()
	b := secretive(t, toolFunc(func(context.Context, extension.ToolSpec, io.Writer) (extension.ToolResult, error) {
		return extension.ToolResult{}, nil
	}), full())
	b.vault.warnings = []string{"it was not renewed, says " + canary}
	got := b.run(&runs.Run{ID: "run_1", Spec: runs.Spec{CredentialIDs: []string{"crd_1"}}})
	want := []runs.Warning{{Code: runs.WarnSecretNotRenewed, Message: "it was not renewed, says ***"}}
	if diff := cmp.Diff(want, got.end.Warnings); diff != "" || got.run.Status != runs.Succeeded {
		t.Errorf("%s %s", got.run.Status, diff)
	}
	b.nothingLeft()
}
