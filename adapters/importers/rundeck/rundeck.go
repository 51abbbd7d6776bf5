package rundeck

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/writ-automation/writ/adapters/importers/archive"
	"github.com/writ-automation/writ/adapters/importers/document"
	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/lazyregexp"
)

type format struct{}

var _ importer.Format = format{}

// New returns the format.
func New() importer.Format { return format{} }

func (format) Name() string   { return "rundeck" }
func (format) Targeted() bool { return true }

func (format) Read(ctx context.Context, e importer.Export) (importer.Draft, error) {
	r := &reader{ctx: ctx, inventory: e.Inventory, now: e.Now}
	var err error
	if archive.Is(e.Body) {
		err = r.archive(e.Body)
	} else {
		err = r.document("", e.Body)
	}
	if err == nil {
		err = r.build()
	}
	if err != nil {
		return importer.Draft{}, err
	}
	return r.draft.Draft()
}

// reader reads one export.
type reader struct {
	ctx       context.Context //nolint:containedctx // It lives as long as one call of Read.
	inventory string
	now       time.Time
	project   string // of an archive

	draft   draft.Builder
	jobs    []*job
	byID    map[string]*job
	byName  map[string]*job
	shells  map[string]*importer.Object // credentials by name
	shellOf map[string]string           // their names by what they hold
	added   map[string]bool             // those of the draft
	found   map[string][2]string        // variables and credentials of secrets in texts
	foundAs map[string]int              // how many secrets have a name
	inlined int                         // bytes of the steps that stand for references
}

// maxJobs bounds the jobs of an export.
const maxJobs = 10_000

// document reads the jobs of a file, which is the whole export if it has no name.
func (r *reader) document(file string, body []byte) error {
	list, err := decode(body)
	if err != nil {
		return err
	}
	if len(r.jobs)+len(list) > maxJobs {
		return importer.Malformed.New("the export has more than %d jobs", maxJobs)
	}
	for i, f := range list {
		ref := file
		switch {
		case file == "":
			ref = fmt.Sprintf("jobs[%d]", i)
		case len(list) > 1:
			ref = fmt.Sprintf("%s, jobs[%d]", file, i)
		}
		r.job(ref, f)
		list[i] = nil // The job has what it needs of it.
	}
	return nil
}

// separator is the line between the documents of a YAML file.
var separator = lazyregexp.New(`(?m)^---(?:[ \t].*)?\r?$`)

// decode returns the jobs of a document, told apart by its first character. An element that is no object is nil.
func decode(body []byte) ([]fields, error) {
	text := bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))
	switch {
	case len(text) == 0:
		return nil, importer.NothingFound.New("the export is empty")
	case text[0] == '<':
		return decodeXML(body)
	case text[0] == '{' || text[0] == '[':
		var v any
		if err := document.JSON(body, &v); err != nil {
			return nil, err
		}
		return listed(v)
	}
	ends := separator.Get().FindAllIndex(body, -1)
	if len(ends) == 0 || len(bytes.TrimSpace(body[:ends[0][0]])) == 0 && len(ends) == 1 {
		return decodeYAML(body)
	}
	var out []fields
	for i := 0; i <= len(ends); i++ {
		start, end := 0, len(body)
		if i > 0 {
			start = ends[i-1][1]
		}
		if i < len(ends) {
			end = ends[i][0]
		}
		if part := body[start:end]; len(bytes.TrimSpace(part)) > 0 {
			list, err := decodeYAML(part)
			if err != nil {
				return nil, err
			}
			out = append(out, list...)
		}
	}
	return out, nil
}

func decodeYAML(body []byte) ([]fields, error) {
	var v any
	if err := document.YAML(body, &v); err != nil {
		return nil, err
	}
	return listed(v)
}

func decodeXML(body []byte) ([]fields, error) {
	root, err := document.XML(body)
	if err != nil {
		return nil, err
	}
	switch root.Name {
	case "job":
		return []fields{fromXML(root)}, nil
	case "joblist":
	default:
		return nil, importer.Malformed.New("the XML is a %q and no joblist", oneLine(root.Name))
	}
	var out []fields
	for _, e := range root.Children {
		if e.Name != "job" {
			return nil, importer.Malformed.New("line %d: %q is no job", e.Line, oneLine(e.Name))
		}
		out = append(out, fromXML(e))
	}
	if len(out) == 0 {
		return nil, importer.NothingFound.New("the joblist has no jobs")
	}
	return out, nil
}

// listed returns the jobs of a list, or of one job.
func listed(v any) ([]fields, error) {
	switch v := v.(type) {
	case []any:
		out := make([]fields, len(v))
		jobs := 0
		for i, x := range v {
			if out[i] = asFields(x); looksLikeJob(out[i]) {
				jobs++
			}
		}
		switch {
		case len(v) == 0:
			return nil, importer.NothingFound.New("the list of jobs is empty")
		case jobs == 0:
			return nil, importer.Malformed.New("no member of the list is a job, which has a name and a sequence")
		}
		return out, nil
	default:
		if f := asFields(v); looksLikeJob(f) {
			return []fields{f}, nil
		}
		return nil, importer.Malformed.New("the export is no job and no list of jobs, which have a name and a sequence")
	}
}

func looksLikeJob(f fields) bool { return f["name"] != nil || f["sequence"] != nil }
