package rundeck_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/importers/rundeck"
	"github.com/writ-automation/writ/ports/importer"
)

// counts are those of a line of a manifest: jobs, options, schedules and steps. A job may lack what it cannot have.
var counts = regexp.MustCompile(`jobs (\d+), opts (\d+), sched (\d+), steps (\d+)`)

// TestFiles reads the fixtures, and the files of other projects if they are next to the checkout. It compares what is
// found with the manifests.
func TestFiles(t *testing.T) {
	t.Parallel()
	shared := os.Getenv("WRIT_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "..", "shared")
	}
	files := 0
	for _, dir := range []string{"testdata", filepath.Join(shared, "testdata", "rundeck")} {
		text, err := os.ReadFile(filepath.Join(dir, "MANIFEST.md"))
		if err != nil && dir == "testdata" {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(string(text), "\n") {
			cells := strings.Split(line, "|")
			m := counts.FindStringSubmatch(line)
			if m == nil || len(cells) < 3 {
				continue
			}
			files++
			name := strings.TrimSpace(cells[1])
			body, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			t.Run(name, func(t *testing.T) { count(t, read(t, body), m[1:]) })
		}
		archives(t, dir)
	}
	if files < 3 {
		t.Errorf("%d files", files)
	}
}

func count(t *testing.T, d importer.Draft, want []string) {
	t.Helper()
	valid(t, d, true)
	jobs, options, schedules, steps, lost := 0, 0, 0, 0, false
	for _, o := range d.Objects {
		switch spec := o.Spec.(type) {
		case *importer.TemplateSpec:
			jobs++
			options += len(spec.Survey)
			steps += max(1, len(spec.Steps))
			for _, w := range o.Warnings {
				if strings.HasPrefix(w.Field, "options.") && strings.Contains(w.Message, "secret") {
					options++
				}
			}
		case *importer.ScheduleSpec:
			schedules++
		}
		if o.Kind == "job" {
			jobs, lost = jobs+1, true
		}
	}
	for i, got := range []int{jobs, options, schedules, steps} {
		if n, _ := strconv.Atoi(want[i]); n != got && (i == 0 || !lost) {
			t.Errorf("%d %s, want %d: %v", got, []string{"jobs", "options", "schedules", "steps"}[i], n, names(d))
		}
	}
}

// archives reads the archives of a directory, and archives of its folders of unpacked ones.
func archives(t *testing.T, dir string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "archives", "*"))
	if err != nil {
		t.Fatal(err)
	}
	bodies := map[string][]byte{}
	for _, name := range found {
		if bodies[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	folders, err := filepath.Glob(filepath.Join(dir, "project-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		files := map[string]string{}
		err := filepath.WalkDir(folder, func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			files["rundeck-x/"+filepath.ToSlash(strings.TrimPrefix(path, folder+string(filepath.Separator)))] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		bodies[filepath.Base(folder)] = archived(t, files)
	}
	jobs := map[string]int{"project-TestJobs": 3, "project-notification": 3, "project-SeleniumBasic": 4}
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			d, err := rundeck.New().Read(t.Context(), importer.Export{Body: body, Now: now()})
			if strings.HasPrefix(name, "empty") {
				if !importer.NothingFound.Is(err) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			valid(t, d, false)
			templates := 0
			for _, o := range d.Objects {
				if o.Kind == importer.Template && o.Spec != nil {
					templates++
				}
			}
			if want := max(1, jobs[name]); templates != want {
				t.Errorf("%d templates, want %d: %v", templates, want, names(d))
			}
		})
	}
}
