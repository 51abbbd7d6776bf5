package rundeck

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/adapters/importers/archive"
	"github.com/writ-automation/writ/adapters/importers/document"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/importer"
)

// maxJobBytes bounds all files of jobs in an archive, which are in memory as a whole.
const maxJobBytes = 64 << 20

// archive reads the archive of a project: the jobs, and what else it defines, which has no place.
func (r *reader) archive(body []byte) error {
	a, err := archive.Open(body)
	if err != nil {
		return err
	}
	names := a.Names()
	jobs := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !isJob(n) })
	if len(jobs) == 0 { // a zip of exported jobs
		jobs = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !readable(n) || role(n) != "" })
	}
	if len(jobs) == 0 {
		return importer.NothingFound.New("the archive has no jobs: no file of XML, YAML or JSON in a folder jobs")
	}
	isJob := map[string]bool{}
	for _, n := range jobs {
		isJob[n] = true
		if root, _, ok := strings.Cut(n, "/"); ok && strings.HasPrefix(root, "rundeck-") {
			r.project = strings.TrimPrefix(root, "rundeck-")
		}
	}
	others := map[string]int{}
	for _, n := range names {
		if !isJob[n] && role(n) == "" {
			others[path.Dir(n)]++
		}
	}
	want := func(n string) bool {
		what := role(n)
		return isJob[n] || what == "properties" || what == "definitions" || what == "policy" || what == "scm"
	}
	read := 0
	if err := a.Each(want, func(name string, data []byte) error {
		if err := r.ctx.Err(); err != nil {
			return fmt.Errorf("read the archive: %w", err)
		}
		if isJob[name] {
			if read += len(data); read > maxJobBytes {
				return importer.ArchiveTooLarge.New("the jobs of the archive have more than %d MiB", maxJobBytes>>20)
			}
			return r.jobFile(name, data)
		}
		r.other(name, data)
		return nil
	}); err != nil {
		return err
	}
	r.otherFiles(others)
	return nil
}

// jobFile reads a file with jobs. One that cannot be read does not lose the others.
func (r *reader) jobFile(name string, data []byte) error {
	err := r.document(name, data)
	switch {
	case fault.Is(err, fault.Invalid):
		r.draft.Skip("job", path.Base(name), name, "the file is not read: %s", err)
		return nil
	default:
		return err
	}
}

// isJob reports whether a file is in a folder of jobs.
func isJob(name string) bool {
	return readable(name) && slices.Contains(strings.Split(path.Dir(name), "/"), "jobs")
}

func readable(name string) bool {
	return slices.Contains([]string{".xml", ".yaml", ".yml", ".json"}, strings.ToLower(path.Ext(name)))
}

// role returns what a file of an archive is, empty if it is not known. History is what runs left behind.
func role(name string) string {
	folders := strings.Split(path.Dir(name), "/")
	base := path.Base(name)
	has := func(folder string) bool { return slices.Contains(folders, folder) }
	switch {
	case has("META-INF"), has("executions"), has("reports"), has("state"):
		return "history"
	case base == "project.properties":
		return "properties"
	case slices.Contains([]string{"webhooks.yaml", "calendars.yaml", "schedules.yaml"}, base):
		return "definitions"
	case strings.HasSuffix(base, ".aclpolicy"):
		return "policy"
	case slices.ContainsFunc(folders, func(f string) bool { return strings.HasPrefix(f, "scm") }),
		strings.HasPrefix(base, "scm"):
		return "scm"
	}
	return ""
}

// other says what is lost with a file that is no job.
func (r *reader) other(name string, data []byte) {
	switch role(name) {
	case "properties":
		r.properties(name, data)
	case "definitions":
		r.definitions(name, data)
	case "policy":
		r.draft.Skip("access policy", path.Base(name), name, "access policies are not kept: use the roles and grants of Writ")
	case "scm":
		r.draft.Skip("source control", path.Base(name), name, "the connection of jobs to a repository is not kept")
	}
}

// definitions reads a file that has a list of one name: webhooks, calendars or schedules.
func (r *reader) definitions(name string, data []byte) {
	var lists map[string]any
	if err := document.YAML(data, &lists); err != nil {
		r.draft.Skip("file", path.Base(name), name, "the file is not read: %s", err)
		return
	}
	for _, what := range [][2]string{
		{"webhook", "webhooks are not kept: create a trigger for the template"},
		{"calendar", "calendars are not kept: schedules have none"},
		{"schedule", "schedules of the project are not kept: create one for each template"},
	} {
		kind, reason := what[0], what[1]
		list, _ := lists[kind+"s"].([]any)
		for i, x := range list {
			title := asFields(x).peek("name")
			if title == "" {
				title = kind + " " + strconv.Itoa(i+1)
			}
			r.draft.Skip(importer.Kind(kind), title, fmt.Sprintf("%s, %ss[%d]", name, kind, i), "%s", reason)
		}
	}
}

// properties says what the settings of a project are. Values are not shown, since they may be secret.
func (r *reader) properties(name string, data []byte) {
	settings, sources := 0, map[string]bool{}
	for line := range strings.SplitSeq(string(data), "\n") {
		line = strings.TrimSpace(line)
		key, value, ok := strings.Cut(line, "=")
		if !ok || line[0] == '#' || line[0] == '!' {
			continue
		}
		if settings++; key == "project.name" && r.project == "" {
			r.project = strings.TrimSpace(value)
		}
		parts := strings.Split(key, ".")
		if len(parts) == 4 && strings.HasPrefix(key, "resources.source.") && parts[3] == "type" {
			sources[parts[2]] = true
		}
	}
	if settings == 0 {
		return
	}
	title := r.project
	if title == "" {
		title = path.Base(name)
	}
	r.draft.Skip("project configuration", title, name,
		"the %d settings of the project are not kept, among them %d sources of nodes: choose an inventory with these nodes",
		settings, len(sources))
}

// otherFiles says which files are left out, a line for each folder.
func (r *reader) otherFiles(count map[string]int) {
	folders := make([]string, 0, len(count))
	for f := range count {
		folders = append(folders, f)
	}
	slices.Sort(folders)
	const most = 50
	for i, f := range folders {
		if i == most {
			r.draft.Skip("file", "others", "", "files of %d more folders are no jobs, and are left out", len(folders)-most)
			return
		}
		r.draft.Skip("file", f, f, "files that are no jobs are left out: %d", count[f])
	}
}
