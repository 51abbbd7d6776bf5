package jenkins_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/importer"
)

// Exports that others published are beside a checkout of the project's authors; the directory of this package has some
// of its own.
func TestExports(t *testing.T) {
	shared := os.Getenv("WRIT_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "..", "shared")
	}
	for _, dir := range []string{"testdata", filepath.Join(shared, "testdata", "jenkins")} {
		manifest, err := os.ReadFile(filepath.Join(dir, "MANIFEST.md"))
		if os.IsNotExist(err) && dir != "testdata" {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		row := regexp.MustCompile(`(?m)^\| ([^ ]+\.(?:xml|zip)) \|.*\| ([^|]*) \|$`)
		rows := row.FindAllStringSubmatch(string(manifest), -1)
		if len(rows) == 0 {
			t.Errorf("%s lists no export", dir)
		}
		for _, m := range rows {
			t.Run(m[1], func(t *testing.T) { checkExport(t, filepath.Join(dir, m[1]), m[2]) })
		}
	}
}

// checkExport reads an export and checks what the manifest says of it.
func checkExport(t *testing.T, file, found string) {
	body, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d, err := read(t, importer.Export{File: file, Body: body})
	jobs := 1
	if m := regexp.MustCompile(`job files: \[(.*?)\]`).FindStringSubmatch(found); m != nil {
		jobs = strings.Count(m[1], ".xml")
	}
	if jobs == 0 {
		if !importer.NothingFound.Is(err) {
			t.Errorf("%v, want nothing_to_import", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	got, questions, text := 0, 0, asJSON(d)
	for _, o := range d.Objects {
		if s, ok := o.Spec.(*importer.TemplateSpec); ok {
			questions += len(s.Survey)
			if strings.HasSuffix(o.Name, " and the jobs after it") {
				continue
			}
			got++
		} else if o.Spec == nil && o.Kind != "file" && o.Kind != importer.Schedule {
			got++
		}
	}
	if got != jobs {
		t.Errorf("%d jobs, want %d", got, jobs)
	}
	// Each type that the manifest lists is in the draft, by its name or as what it became.
	for _, class := range regexp.MustCompile(`'(\w+)'`).FindAllStringSubmatch(found, -1) {
		if became, ok := became()[class[1]]; ok && !regexp.MustCompile(became).MatchString(text) ||
			!ok && !strings.Contains(text, strings.TrimPrefix(class[1], "CommandInterpreterTest_-")) {
			t.Errorf("nothing became of %s: %s", class[1], text)
		}
	}
	if strings.Contains(found, "ExtendedChoiceParameterDefinition") && questions != 3 {
		t.Errorf("%d questions, want 3", questions)
	}
	if strings.Contains(found, "TimerTrigger") && !strings.Contains(text, `"cron"`) {
		t.Errorf("no schedule: %s", text)
	}
}

// became says how types that are understood look in a draft, as a pattern.
func became() map[string]string {
	return map[string]string{
		"Shell": `set -xe`, "BatchFile": "cmd.exe", "PowerShell": `"tool": "powershell"`,
		"AnsiblePlaybookBuilder": `"playbook": "`, "ConditionalBuilder": "AlwaysRun", "TextAxis": "combinations",
		"GitParameterDefinition": `became the question`, "ExtendedChoiceParameterDefinition": `became the question`,
		"StringParameterDefinition": `"text"|ReleaseWrapper`, "BooleanParameterDefinition": `"bool"|ReleaseWrapper`,
	}
}
