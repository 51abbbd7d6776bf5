package runs

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// The formats of an export.
const (
	asCSV  = "CSV"
	asJSON = "JSON"
	asYAML = "YAML"
)

func formats() []string { return []string{asCSV, asJSON, asYAML} }

func exportAt(q query, format string) string {
	v := q.values()
	v.Set("format", strings.ToLower(format))
	return address("/ui/runs/export", v)
}

// exportRows is the number of runs that an export reads at a time. It bounds the memory of an export of any size.
const exportRows = 500

// exporter writes runs one after the other.
type exporter interface {
	begin() error
	run(r *runs.Run, now time.Time) error
	end() error
}

// export streams all runs of the search, newest first. Each page of them is read when the one before has been sent.
func (h *handlers) export(r *shell.Request) (*shell.Page, error) {
	f, err := h.filter(r.Context(), queryOf(r.URL.Query()), r.Viewer.Zone)
	if err != nil {
		return nil, err
	}
	format := strings.ToUpper(r.URL.Query().Get("format"))
	e, media := exporterOf(format, r.Writer)
	if e == nil {
		return nil, fault.NoneOf("format", strings.ToLower(format), "csv", "json", "yaml")
	}
	f.Limit, f.SkipTotal = exportRows, true
	list, err := h.Reader.List(r.Context(), f)
	if err != nil {
		return nil, err
	}
	head := r.Writer.Header()
	head.Set("Content-Type", media)
	head.Set("Content-Disposition", `attachment; filename="runs.`+strings.ToLower(format)+`"`)
	head.Set("Cache-Control", "no-store")
	err = e.begin()
	for err == nil {
		for _, run := range list.Runs {
			if err == nil {
				err = e.run(run, r.Now)
			}
		}
		if err != nil || !list.HasMore {
			break
		}
		f.Cursor = list.NextCursor
		list, err = h.Reader.List(r.Context(), f)
	}
	if err == nil {
		err = e.end()
	}
	if err != nil {
		// The status is sent already: an answer that is cut shows that the export is not complete.
		panic(http.ErrAbortHandler)
	}
	return nil, shell.Answered()
}

func exporterOf(format string, w io.Writer) (exporter, string) {
	switch format {
	case asCSV:
		return &csvExport{w: csv.NewWriter(w)}, "text/csv; charset=utf-8"
	case asJSON:
		return &jsonExport{w: w}, "application/json"
	case asYAML:
		return &yamlExport{w: w}, "application/yaml"
	}
	return nil, ""
}

type jsonExport struct {
	w    io.Writer
	rows int
}

func (e *jsonExport) begin() error { return write(e.w, "[") }

func (e *jsonExport) run(r *runs.Run, now time.Time) error {
	b, err := httpapi.Encode(httpapi.RunRow(r, now))
	if err != nil {
		return err //nolint:wrapcheck // it only ends the export
	}
	sep := "\n"
	if e.rows++; e.rows > 1 {
		sep = ",\n"
	}
	return write(e.w, sep+string(b))
}

func (e *jsonExport) end() error { return write(e.w, "\n]\n") }

// yamlExport writes the members of each run as a mapping whose values are JSON, which is YAML too.
type yamlExport struct {
	w    io.Writer
	rows int
}

func (*yamlExport) begin() error { return nil }

func (e *yamlExport) run(r *runs.Run, now time.Time) error {
	b, err := httpapi.Encode(httpapi.RunRow(r, now))
	if err != nil {
		return err //nolint:wrapcheck // it only ends the export
	}
	e.rows++
	d := json.NewDecoder(bytes.NewReader(b))
	if _, err := d.Token(); err != nil {
		return err //nolint:wrapcheck // it only ends the export
	}
	lead := "- "
	for d.More() {
		var value json.RawMessage
		name, err := d.Token()
		if err == nil {
			err = d.Decode(&value)
		}
		if err != nil {
			return err //nolint:wrapcheck // it only ends the export
		}
		if err := write(e.w, lead+name.(string)+": "+string(value)+"\n"); err != nil { //nolint:forcetypeassert // a key
			return err
		}
		lead = "  "
	}
	return nil
}

func (e *yamlExport) end() error {
	if e.rows > 0 {
		return nil
	}
	return write(e.w, "[]\n")
}

type csvExport struct{ w *csv.Writer }

func (e *csvExport) begin() error {
	return e.w.Write([]string{"id", "name", "kind", "status", "tool", "executes", "queue", "source", "actor", "change",
		"created_at", "started_at", "ended_at", "duration_ms", "hosts", "changed", "failed", "unreachable", "exit_code",
		"error"}) //nolint:wrapcheck // it only ends the export
}

func (e *csvExport) run(r *runs.Run, now time.Time) error {
	hosts := 0
	for _, n := range r.Hosts {
		hosts += n
	}
	code := ""
	if r.ExitCode != nil {
		code = strconv.Itoa(*r.ExitCode)
	}
	row := []string{r.ID, shell.RunName(r), string(r.Kind), r.Status.Shown(r.Spec.DryRun), r.Spec.Tool, executes(r),
		r.Spec.Queue, string(r.Origin.Source), r.Actor.Shown(), r.Change, stamp(r.CreatedAt), stamp(r.StartedAt),
		stamp(r.EndedAt), strconv.FormatInt(max(r.Duration(now), 0).Milliseconds(), 10), strconv.Itoa(hosts),
		strconv.Itoa(r.Hosts[runs.HostChanged]), strconv.Itoa(r.Hosts[runs.HostFailed]),
		strconv.Itoa(r.Hosts[runs.HostUnreachable]), code, r.Error}
	for i := range row {
		row[i] = cell(row[i])
	}
	return e.w.Write(row) //nolint:wrapcheck // it only ends the export
}

func (e *csvExport) end() error {
	e.w.Flush()
	return e.w.Error() //nolint:wrapcheck // it only ends the export
}

// cell keeps spreadsheets from reading a text as a formula.
func cell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func write(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	return err //nolint:wrapcheck // it only ends the export
}
