package execution_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// fakeMaterials has one project and one inventory. Objects whose ids end in gone do not exist.
type fakeMaterials struct {
	fail  atomic.Int32 // so many times nobody answers
	hang  bool
	fresh atomic.Int32

	knownHosts []byte
	policy     catalog.HostKeyPolicy
	leftOut    bool // its roles are behind a link that leads out
}

func (s *fakeMaterials) answer(ctx context.Context, kind, id string) error {
	if s.hang {
		<-ctx.Done()
		return fault.Wrap(fault.Internal, ctx.Err(), "cut short")
	}
	if s.fail.Add(-1) >= 0 {
		return fault.Wrap(fault.Unavailable, nil, "nobody answers")
	}
	if strings.HasSuffix(id, "gone") {
		return fault.Missing(kind, id).Because(errors.New("a cause for the log"))
	}
	return nil
}

func (s *fakeMaterials) Inventory(
	ctx context.Context, id string, fresh bool,
) (catalog.InventoryText, []runs.Warning, error) {
	var warnings []runs.Warning
	if fresh {
		s.fresh.Add(1)
		warnings = []runs.Warning{{Code: runs.WarnInventoryStale, Message: "it is the last good one"},
			runs.ReservedDropped("the inventory source src_1", "ansible_connection")}
	}
	text := catalog.InventoryText{Content: []byte("[web]\nw1\n"), Format: catalog.INI, KnownHosts: s.knownHosts,
		HostKeyPolicy: s.policy}
	return text, warnings, s.answer(ctx, "inventory", id)
}

func (s *fakeMaterials) Tree(ctx context.Context, project, commit, dir string) (catalog.Deps, error) {
	if err := s.answer(ctx, "project", project); err != nil {
		return catalog.Deps{}, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return catalog.Deps{}, err
	}
	if s.leftOut {
		if err := os.Symlink(catalog.LeftOutLink, filepath.Join(dir, "shared")); err != nil {
			return catalog.Deps{}, err
		}
	}
	return catalog.Deps{Roles: "/deps/roles"}, os.WriteFile(filepath.Join(dir, "site.yml"), []byte(commit), 0o600)
}

func TestAScriptRunsInItsCheckout(t *testing.T) {
	t.Parallel()
	var input [3]string
	b := setup(t, toolFunc(func(_ context.Context, s extension.ToolSpec, _ io.Writer) (extension.ToolResult, error) {
		site, err := os.ReadFile(filepath.Join(s.Dir, "site.yml"))
		if err != nil {
			return extension.ToolResult{}, err
		}
		hosts, err := os.ReadFile(s.Env["WRIT_INVENTORY"])
		input = [3]string{string(site), string(hosts), filepath.Ext(s.Env["WRIT_INVENTORY"])}
		return extension.ToolResult{}, err
	}))
	b.materials = &fakeMaterials{}
	b.materials.fail.Store(1) // the run is handed back once and claimed anew
	got := b.run(&runs.Run{ID: "run_1", Commit: "c0ffee", Spec: runs.Spec{ProjectID: "prj_1", InventoryID: "inv_1"}})
	if got.run.Status != runs.Succeeded || b.plane.count("release") != 1 || b.plane.count("begin") != 1 {
		t.Fatalf("%+v", got.end)
	}
	if diff := cmp.Diff([]string{runs.WarnInventoryStale, runs.WarnVarsReserved}, codes(got.end.Warnings)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([3]string{"c0ffee", "[web]\nw1\n", ".ini"}, input); diff != "" {
		t.Error(diff)
	}
	if entries, err := os.ReadDir(b.config.RunsDir); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v %v", entries, err)
	}
}

// TestLinksThatWereLeftOut: a playbook behind a link that leads out fails its run, another run that fails is told of
// the link, and a run that does without it is not.
func TestLinksThatWereLeftOut(t *testing.T) {
	t.Parallel()
	for playbook, want := range map[string]runs.Status{"shared/site.yml": runs.Failed, "fails.yml": runs.Failed,
		"site.yml": runs.Succeeded} {
		b := setup(t, &player{play: func(_ context.Context, p execution.Play, _ func(runs.Event) error) (execution.PlayResult,
			error) {
			if p.Playbook == "fails.yml" {
				return execution.PlayResult{Complete: true, Touched: 1}, errors.New("the role 'x' was not found")
			}
			return execution.PlayResult{Complete: true, Touched: 1}, nil
		}})
		b.materials = &fakeMaterials{leftOut: true}
		got := b.run(&runs.Run{ID: "run_1", Spec: runs.Spec{Playbook: playbook, ProjectID: "prj_1"}})
		text := got.end.Error
		for _, w := range got.end.Warnings {
			text += w.Message
		}
		if named := strings.Contains(text, `"shared"`); got.run.Status != want || named != (want == runs.Failed) {
			t.Errorf("%s: %s, %q", playbook, got.run.Status, text)
		}
	}
}

func TestAPlayRunsInItsCheckout(t *testing.T) {
	t.Parallel()
	var got execution.Play
	b := setup(t, &player{play: func(_ context.Context, p execution.Play, _ func(runs.Event) error) (execution.PlayResult,
		error) {
		got = p
		_, err := os.Stat(filepath.Join(p.WorkDir, p.Playbook))
		return execution.PlayResult{Complete: true, Touched: 1}, err
	}})
	b.materials = &fakeMaterials{}
	end := b.run(&runs.Run{ID: "run_1", Kind: runs.Shard, Spec: runs.Spec{
		Playbook: "site.yml", ProjectID: "prj_1", InventoryID: "inv_1", Templated: []string{"a"},
	}})
	if end.run.Status != runs.Succeeded || !got.Confined || !got.OwnInventory ||
		filepath.Base(got.Inventory) != "inventory.ini" ||
		got.Roles != "/deps/roles" {
		t.Errorf("%+v, %+v", end.end, got)
	}
	if !cmp.Equal(got.Templated, []string{"a"}) || b.materials.fresh.Load() != 0 {
		t.Errorf("%v, %d refreshed for a shard", got.Templated, b.materials.fresh.Load())
	}
}

// TestStepsAskForFreshInventories: nobody executes a pipeline itself, so that each of its steps asks.
func TestStepsAskForFreshInventories(t *testing.T) {
	t.Parallel()
	for kind, want := range map[runs.Kind]int32{runs.Single: 1, runs.Step: 1, runs.Shard: 0} {
		b := setup(t, echo)
		b.materials = &fakeMaterials{}
		if got := b.run(&runs.Run{ID: "run_1", Kind: kind,
			Spec: runs.Spec{InventoryID: "inv_1"}}); got.run.Status != runs.Succeeded || b.materials.fresh.Load() != want {
			t.Errorf("a %s: %+v, %d refreshed", kind, got.end, b.materials.fresh.Load())
		}
	}
}

func TestWhatCannotBeProvided(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		materials *fakeMaterials
		spec      runs.Spec
		message   string
	}{
		"a project that is gone":    {&fakeMaterials{}, runs.Spec{ProjectID: "prj_gone"}, `no project "prj_gone"`},
		"an inventory that is gone": {&fakeMaterials{}, runs.Spec{InventoryID: "inv_gone"}, `no inventory "inv_gone"`},
		"nobody provides":           {nil, runs.Spec{InventoryID: "inv_1"}, "cannot provide"},
		"it takes too long": {&fakeMaterials{hang: true}, runs.Spec{ProjectID: "prj_1", TimeoutSeconds: 1},
			"over its timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, echo)
			b.materials = c.materials
			got := b.run(&runs.Run{ID: "run_1", Spec: c.spec})
			if got.run.Status != runs.Failed || !strings.Contains(got.end.Error, c.message) || b.plane.count("begin") != 0 ||
				strings.Contains(got.end.Error, "cause") {
				t.Errorf("%+v", got.end)
			}
		})
	}
}

func TestACancelEndsTheWaitForACheckout(t *testing.T) {
	t.Parallel()
	b := setup(t, echo)
	b.materials = &fakeMaterials{hang: true}
	b.plane.submit(&runs.Run{ID: "run_1", Spec: runs.Spec{ProjectID: "prj_1"}})
	_, stop := b.start()
	defer stop()
	b.until("the claim", func() bool { return b.plane.see("run_1").run.Status == runs.Running })
	b.cancel("run_1")
	if err := b.signals.Signal(t.Context(), events.TopicCancel, "run_1"); err != nil {
		t.Fatal(err)
	}
	if got := b.ended("run_1"); got.run.Status != runs.Canceled {
		t.Errorf("%+v", got.end)
	}
}
