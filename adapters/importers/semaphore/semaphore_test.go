package semaphore

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/importer"
)

var update = flag.Bool("update", false, "write the golden files")

func now() time.Time { return time.Date(2026, 2, 10, 12, 0, 0, 0, time.UTC) }

// draftOf returns the draft of a body, and checks what holds for all drafts.
func draftOf(t testing.TB, body string) importer.Draft {
	t.Helper()
	d, err := New().Read(t.Context(), importer.Export{Body: []byte(body), Now: now()})
	if err != nil {
		t.Fatal(err)
	}
	valid(t, d)
	return d
}

// valid checks what holds for all drafts: kinds, names, classes, and that there is no secret of the tests.
func valid(t testing.TB, d importer.Draft) {
	t.Helper()
	names := map[string]bool{}
	for _, o := range d.Objects {
		if o.Kind == "" || o.Name == "" || o.Ref == "" || !slices.Contains(importer.Classes(), o.Class) ||
			(o.Spec == nil) != (o.Class == importer.NoHome) || (o.Spec == nil) != (o.Reason != "") {
			t.Errorf("%s %q at %s: class %q, reason %q, %T", o.Kind, o.Name, o.Ref, o.Class, o.Reason, o.Spec)
		}
		if key := string(o.Kind) + "/" + o.Name; o.Spec != nil {
			if !slices.Contains(importer.Kinds(), o.Kind) || names[key] {
				t.Errorf("%s %q is no kind, or occurs twice", o.Kind, o.Name)
			}
			names[key] = true
		}
		for _, w := range o.Warnings {
			if w.Object != o.Name || w.Field == "" || w.Message == "" {
				t.Errorf("%s %q has the warning %+v", o.Kind, o.Name, w)
			}
		}
		if text, err := json.Marshal(o); err != nil || strings.Contains(string(text), "CANARY") {
			t.Errorf("%s %q has a secret, or is no JSON: %v\n%s", o.Kind, o.Name, err, text)
		}
	}
}

// TestBackup compares the draft of a whole backup with the golden file.
func TestBackup(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile(filepath.Join("testdata", "backup.json"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, o := range draftOf(t, string(body)).Objects {
		fmt.Fprintf(&b, "%s %s (%s): %s\n", o.Kind, o.Name, o.Ref, o.Class)
		if o.Reason != "" {
			b.WriteString("  because " + o.Reason + "\n")
		}
		if text, err := json.Marshal(o.Spec); err != nil {
			t.Error(err)
		} else if o.Spec != nil {
			b.WriteString("  is " + string(text) + "\n")
		}
		for _, m := range o.Mapping {
			b.WriteString("  + " + m + "\n")
		}
		for _, w := range o.Warnings {
			b.WriteString("  ! " + w.Field + ": " + w.Message + "\n")
		}
	}
	golden := filepath.Join("testdata", "backup.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); diff != "" {
		t.Error(diff)
	}
}

// TestTimes reads expressions by the rules of the product, and computes their next times from them.
func TestTimes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct{ cron, first string }{
		"TZ=UTC 30 6 * * 1-5":             {"30 6 * * 1-5", "2026-02-11T06:30:00Z"},
		"CRON_TZ=Europe/Berlin 0 4 ? * *": {"0 4 * * *", "2026-02-11T03:00:00Z"},
		"TZ=UTC 0 0 13 * fri":             {"0 0 13 * 5", "2026-02-13T00:00:00Z"},
		"TZ=UTC @monthly":                 {"0 0 1 * *", "2026-03-01T00:00:00Z"},
		"TZ=UTC 0 4 */2 * sun":            {"0 4 1-31/2 * 0", "2026-02-11T04:00:00Z"},
		"@every 1h":                       {},
		"TZ=Nowhere/Here 0 4 * * *":       {},
		"0 4 L * *":                       {},
		"0 0 4 * * *":                     {},
		"TZ=UTC":                          {},
	} {
		_, loc, when, err := times(text, time.Now())
		cron, ok := when.Unix()
		if want.cron == "" {
			if err == nil {
				t.Errorf("%s is %q", text, cron)
			}
			continue
		}
		if err != nil || !ok || cron != want.cron {
			t.Errorf("%s is %q, %v", text, cron, err)
			continue
		}
		if fires := when.Next(now(), loc, 1); len(fires) != 1 || fires[0].UTC().Format(time.RFC3339) != want.first {
			t.Errorf("%s fires at %v, want %s", text, fires, want.first)
		}
	}
}

// TestRefused refuses bodies that are no backup.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "[]", "{", `{"x": []}`, `{"templates": {}}`, `{"meta": {}} x`, "\xff"} {
		if _, err := New().Read(t.Context(), importer.Export{Body: []byte(body)}); !importer.Malformed.Is(err) {
			t.Errorf("%q: %v", body, err)
		}
	}
	empty := importer.Export{Body: []byte(`{"templates": []}`)}
	if _, err := New().Read(t.Context(), empty); !importer.NothingFound.Is(err) {
		t.Errorf("an empty backup: %v", err)
	}
}

// TestBackupsOfOthers counts the objects of backups of others, if they are next to the checkout, by their lists.
func TestBackupsOfOthers(t *testing.T) {
	t.Parallel()
	shared := os.Getenv("WRIT_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "..", "shared")
	}
	dir := filepath.Join(shared, "testdata", "semaphore")
	want := map[string]map[string]int{
		filepath.Join("testdata", "backup.json"): {"meta": 1, "keys": 6, "repositories": 3, "inventories": 5,
			"environments": 3,
			"templates":    6, "schedules": 7, "views": 1, "integrations": 1, "integration_aliases": 1},
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		want[filepath.Join(dir, "semaphore-test-2.10.json")] = map[string]int{"meta": 1, "environments": 1, "inventories": 1,
			"keys": 1, "repositories": 1, "templates": 1}
		want[filepath.Join(dir, "semaphore-test-schedule.json")] = map[string]int{"meta": 1, "keys": 1, "repositories": 1,
			"schedules": 1, "templates": 1}
		want[filepath.Join(dir, "semaphore-test-secret-storage.json")] = map[string]int{"meta": 1, "keys": 1,
			"secret_storages": 1}
	}
	for file, counts := range want {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		seen, got := map[string]bool{}, map[string]int{}
		for _, o := range draftOf(t, string(body)).Objects {
			place, _, _ := strings.Cut(o.Ref, ".") // a part of an object is not counted beside it
			if list, _, _ := strings.Cut(place, "["); !seen[place] {
				seen[place] = true
				got[list]++
			}
		}
		if diff := cmp.Diff(counts, got); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
	}
}

// FuzzRead reads any body, which is refused as invalid or gives a valid draft.
func FuzzRead(f *testing.F) {
	text, err := os.ReadFile(filepath.Join("testdata", "backup.json"))
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		string(text), `{"keys": [null, 3, {"name": 4}], "views": {"a": 1}, "": [1]}`,
		`{"templates": [{"playbook": "p"}, {}]}`,
		`{"environments": [{"json": "[1]"}], "templates": [{"playbook": "p", "environment": ""}], "meta": null}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		body = strings.ReplaceAll(body, "CANARY", "")
		d, err := New().Read(t.Context(), importer.Export{Body: []byte(body), Now: now()})
		var bad *fault.Error
		switch {
		case err == nil:
			valid(t, d)
		case !errors.As(err, &bad) || bad.Kind != fault.Invalid:
			t.Errorf("%v", err)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	item := `{"name": "Template %d", "app": "ansible", "playbook": "site.yml", "repository": "r", "inventory": "i",
		"environment": "e", "type": "", "arguments": "[\"--limit\", \"web\"]", "survey_vars": [{"name": "v", "title": "V"}],
		"vaults": [], "allow_override_args_in_task": false, "suppress_success_alerts": false, "autorun": false},`
	var list strings.Builder
	for n := 0; list.Len() < importer.MaxBody-(1<<16); n++ {
		fmt.Fprintf(&list, item, n)
	}
	body := []byte(`{"templates": [` + strings.TrimSuffix(list.String(), ",") + `]}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := New().Read(b.Context(), importer.Export{Body: body, Now: now()}); err != nil {
			b.Fatal(err)
		}
	}
}
