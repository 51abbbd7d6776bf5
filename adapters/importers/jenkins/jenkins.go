// Package jenkins reads jobs of Jenkins: one config.xml, or a zip of a jobs directory or of a server's home.
//
// A job becomes a template, with a step for each of its build steps if there are several. Jobs that start others become
// workflows of their templates as well. What cannot be translated fails when it is run, and never succeeds without
// having done anything.
package jenkins

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/writ-automation/writ/adapters/importers/archive"
	"github.com/writ-automation/writ/adapters/importers/document"
	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
)

type format struct{}

// New returns the format.
func New() importer.Format { return format{} }

func (format) Name() string { return "jenkins" }

func (format) Targeted() bool { return true }

func (format) Read(ctx context.Context, e importer.Export) (importer.Draft, error) {
	r := &reader{
		export: e, byName: map[string]*job{}, projects: map[projectKey]string{}, credentials: map[string]*shell{},
		left: maxGrowth,
	}
	var err error
	if archive.Is(e.Body) {
		err = r.archive(ctx)
	} else {
		err = r.file()
	}
	if err != nil {
		return importer.Draft{}, err
	}
	r.finish()
	return r.b.Draft()
}

// reader collects the objects of one export.
type reader struct {
	export      importer.Export
	b           draft.Builder
	jobs        []*job
	byName      map[string]*job
	projects    map[projectKey]string
	credentials map[string]*shell
	left        int // bytes by which the draft may still be larger than the export
}

// maxGrowth bounds what scripts get in addition, and what is in several workflows.
const maxGrowth = 64 << 20

// grow takes from what is left, and returns false if it is too little.
func (r *reader) grow(bytes int) bool {
	if bytes > r.left {
		return false
	}
	r.left -= bytes
	return true
}

// job is a job whose configuration was found.
type job struct {
	full  string // its name below the folders that it is in
	name  string // of its template
	ref   string
	o     *importer.Object // its template, nil if it has none
	t     *importer.TemplateSpec
	parts []group // its build steps
	after []edge  // the jobs that it starts when it ends
	// before are the jobs whose end starts it.
	before []edge
	timers []timer
	off    bool
}

// file reads a body that is the configuration of one job.
func (r *reader) file() error {
	root, err := document.XML(r.export.Body)
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(path.Base(strings.ReplaceAll(r.export.File, `\`, "/")), ".xml")
	known := name != "" && name != "." && name != "/" && name != "config"
	if shown := root.Value("displayName"); !known && shown != "" {
		name = shown
	} else if !known {
		name = "Jenkins job"
	}
	j := r.job(name, short(root.Name))
	r.read(j, root)
	if j.o != nil && !known {
		warn(j.o, "name", "The file does not tell the name of the job; rename the template.")
	}
	return nil
}

// job registers a job.
func (r *reader) job(full, ref string) *job {
	j := &job{full: full, ref: ref, name: r.b.Name(importer.Template, full)}
	r.jobs = append(r.jobs, j)
	r.byName[full] = j
	return j
}

// archive reads a body that is a zip.
func (r *reader) archive(ctx context.Context) error {
	a, err := archive.Open(r.export.Body)
	if err != nil {
		return err
	}
	names := a.Names()
	jobs := map[string]*job{}
	flat := !slices.ContainsFunc(names, func(n string) bool { _, ok := jobName(n, false); return ok })
	others := map[string]int{}
	for _, n := range names {
		if full, ok := jobName(n, flat); ok && r.byName[full] == nil {
			jobs[n] = r.job(full, n)
		} else {
			others[part(n)]++
		}
	}
	if len(jobs) == 0 {
		return importer.NothingFound.New("the archive has no job: no jobs/<name>/config.xml")
	}
	err = a.Each(func(n string) bool { return jobs[n] != nil }, func(n string, data []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		root, err := document.XML(data)
		if err != nil {
			r.b.Skip("job", jobs[n].full, n, "The configuration cannot be read: %s.", err)
			return nil
		}
		r.read(jobs[n], root)
		return nil
	})
	for _, n := range slices.Sorted(maps.Keys(others)) {
		r.b.Skip("file", n, n, "Only configurations of jobs are imported; this part of the archive has %s.",
			draft.Count(others[n], "other file"))
	}
	return err
}

// jobName returns the name of the job whose configuration is at a path: the names between jobs and config.xml. In a
// flat archive the folders at the top are jobs.
func jobName(name string, flat bool) (string, bool) {
	parts := strings.Split(path.Clean(name), "/")
	if parts[len(parts)-1] != "config.xml" {
		return "", false
	}
	parts = parts[:len(parts)-1]
	if flat {
		return strings.Join(parts, "/"), len(parts) == 1
	}
	start := slices.Index(parts, "jobs")
	if start < 0 {
		return "", false
	}
	var full []string
	for i := start; i < len(parts); i += 2 {
		if parts[i] != "jobs" || i+1 == len(parts) {
			return "", false
		}
		full = append(full, parts[i+1])
	}
	return strings.Join(full, "/"), len(full) > 0
}

// part returns the name of the part of a server's home that a file of no job belongs to.
func part(name string) string {
	parts := strings.Split(path.Clean(name), "/")
	if i := slices.Index(parts, "jobs"); i >= 0 {
		for i+2 < len(parts) && parts[i] == "jobs" {
			i += 2
		}
		return "jobs: " + parts[min(i, len(parts)-1)]
	}
	return parts[0]
}

// read adds what a configuration says.
func (r *reader) read(j *job, root *document.Element) {
	class := className(root.Name)
	switch {
	case class == "project", class == "matrix-project", class == "maven2-moduleset", class == "flow-definition",
		strings.HasSuffix(class, ".MultiJobProject"):
		r.template(j, root)
	case strings.HasSuffix(class, ".folder.Folder"):
		r.folder(j, root)
	case strings.HasSuffix(class, "MultiBranchProject"), strings.HasSuffix(class, ".OrganizationFolder"):
		r.b.Skip("multibranch project", j.full, j.ref, "Its jobs are found in repositories when they are scanned, and their "+
			"steps are in a Jenkinsfile; there is no counterpart. A trigger of a template can start it on a push.")
	case class == "hudson.model.ExternalJob":
		r.b.Skip("external job", j.full, j.ref, "It only records runs that are executed outside of the server.")
	default:
		r.b.Skip("job", j.full, j.ref, "The type of job %s is not known.", short(root.Name))
	}
}

// folder adds a folder, which has no counterpart.
func (r *reader) folder(j *job, root *document.Element) {
	o := r.b.Add(importer.Object{
		Kind: "folder", Name: draftName(j.full), Ref: j.ref, Class: importer.NoHome,
		Reason: "There are no folders; the names of the templates begin with the name of the folder.",
	})
	for _, p := range children(root.Child("properties")) {
		if isSet(p) {
			warn(o, short(p.Name), "The setting %s of the folder is left out.", simple(p.Name))
		}
	}
}

const maxWarnings = 200 // of one object

// warn adds a warning to an object, once.
func warn(o *importer.Object, field, text string, args ...any) {
	switch n := len(o.Warnings); {
	case n > maxWarnings:
		return
	case n == maxWarnings:
		draft.Warn(o, "", "There are more warnings than are listed.")
		return
	}
	draft.Warn(o, field, text, args...)
	last := len(o.Warnings) - 1
	if slices.Contains(o.Warnings[:last], o.Warnings[last]) {
		o.Warnings = o.Warnings[:last]
	}
}

// need is warn for what somebody has to complete.
func need(o *importer.Object, field, text string, args ...any) {
	warn(o, field, text, args...)
	o.Class = importer.NeedsYou
}

func draftName(s string) string { return cut(strings.Join(strings.Fields(s), " "), 200) }

// className returns the name of the Java class that an element is named after.
func className(name string) string { return unescape.Replace(name) }

var unescape = strings.NewReplacer("_-", "$", "__", "_")

// simple returns the name of a class without its package, for messages.
func simple(name string) string {
	name = className(name)
	return cut(name[strings.LastIndexAny(name, ".$")+1:], 80)
}

// short returns the name of an element for messages.
func short(name string) string { return cut(name, 120) }

// cut returns at most limit characters of s.
func cut(s string, limit int) string {
	n := 0
	for i := range s {
		if n++; n > limit {
			return s[:i]
		}
	}
	return s
}

const maxField = 64 << 10 // bytes of a value that is more than a text

// limited returns at most as much of a value as is looked at.
func limited(s string) string { return s[:min(len(s), maxField)] }

// isSet reports whether an element has a value other than false or nothing.
func isSet(e *document.Element) bool {
	if v := strings.TrimSpace(e.Text); v != "" && v != "false" {
		return true
	}
	return slices.ContainsFunc(e.Children, isSet)
}

// children returns the elements in an element, nil for none.
func children(e *document.Element) []*document.Element {
	if e == nil {
		return nil
	}
	return e.Children
}
