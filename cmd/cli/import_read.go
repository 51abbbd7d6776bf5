package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/cmd/compose"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/ports/importer"
)

const (
	crontabs = "cron" // the format that takes several files
	// maxExport is the limit of an export that the command line reads, in bytes.
	maxExport = 512 << 20
)

// readFlags say how files of another product are read.
type readFlags struct {
	user   string
	system bool
}

func (f *readFlags) register(c *cobra.Command) {
	c.Flags().BoolVar(&f.system, "system", false, "the crontabs have a column with accounts")
	c.Flags().StringVar(&f.user, "user", "",
		"the crontabs are those of this `account`, and have no column with accounts")
	c.MarkFlagsMutuallyExclusive("system", "user")
}

// read reads the files of an export: several only for crontabs.
func (f *readFlags) read(w environment, format string, files []string) ([]importer.Export, error) {
	switch {
	case format != crontabs && len(files) > 1:
		return nil, usagef("only %s takes several files", crontabs)
	case format != crontabs && (f.system || f.user != ""):
		return nil, usagef("--system and --user are for %s", crontabs)
	case strings.Contains(f.user, "/"):
		return nil, usagef("--user %q: expected the name of an account", oneLine(f.user, 80))
	}
	if _, err := formatNamed(format); err != nil {
		return nil, err
	}
	var out []importer.Export
	for _, name := range files {
		e := importer.Export{Now: clock.New().Now().In(time.Local)}
		var err error
		if e.Body, err = readExport(w, name); err != nil {
			return nil, err
		}
		e.File = f.file(format, name)
		if f.system || f.user != "" {
			e.System = &f.system
		}
		out = append(out, e)
	}
	return out, nil
}

// file returns what an export says of its file. The directory of a crontab tells its layout, and in that of users its
// name tells the account.
func (f *readFlags) file(format, name string) string {
	switch {
	case f.user != "":
		return "/var/spool/cron/crontabs/" + f.user
	case name == "-":
		return ""
	case format != crontabs:
		return filepath.Base(name)
	}
	if whole, err := filepath.Abs(name); err == nil {
		return whole
	}
	return name
}

func readExport(w environment, name string) ([]byte, error) {
	in := w.in
	if name != "-" {
		opened, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("read the export: %w", err)
		}
		defer func() { _ = opened.Close() }()
		in = opened
	}
	body, err := io.ReadAll(io.LimitReader(in, maxExport+1))
	if err != nil {
		return nil, fmt.Errorf("read the export: %w", err)
	}
	if len(body) > maxExport {
		return nil, fmt.Errorf("the export has more than %d MiB", maxExport>>20)
	}
	return body, nil
}

// formatNamed returns the format that reads an export on this machine.
func formatNamed(name string) (importer.Format, error) {
	formats := compose.LocalFormats()
	var names []string
	for _, f := range formats {
		if f.Name() == name {
			return f, nil
		}
		names = append(names, f.Name())
	}
	slices.Sort(names)
	return nil, usagef("the format %q is not one of %s", oneLine(name, 80), strings.Join(names, ", "))
}

// draftOf reads exports on this machine, as one draft.
func draftOf(ctx context.Context, format importer.Format, exports []importer.Export) (importer.Draft, error) {
	var out importer.Draft
	taken := make(map[[2]string]bool)
	for _, e := range exports {
		d, err := format.Read(ctx, e)
		if err != nil && len(exports) > 1 {
			return out, fmt.Errorf("%s: %w", oneLine(e.File, 400), err)
		}
		if err != nil {
			return out, err
		}
		if len(exports) > 1 {
			distinct(d, filepath.Base(cmp.Or(e.File, "-")), taken)
		}
		out.Objects = append(out.Objects, d.Objects...)
	}
	return out, nil
}

// distinct adds the name of the file to the names in the draft of a crontab that those of other crontabs have.
func distinct(d importer.Draft, file string, taken map[[2]string]bool) {
	names := make(map[[2]string]string)
	for i := range d.Objects {
		o := &d.Objects[i]
		o.Ref = file + ", " + o.Ref
		if o.Spec == nil {
			continue
		}
		was, name := o.Name, o.Name
		for n := 1; taken[[2]string{string(o.Kind), name}]; n++ {
			name = fmt.Sprintf("%s (%s)", was, oneLine(file, 40))
			if n > 1 {
				name = fmt.Sprintf("%s (%s %d)", was, oneLine(file, 40), n)
			}
		}
		taken[[2]string{string(o.Kind), name}] = true
		names[[2]string{string(o.Kind), was}], o.Name = name, name
		for j := range o.Warnings {
			if o.Warnings[j].Object == was {
				o.Warnings[j].Object = name
			}
		}
	}
	for _, o := range d.Objects {
		switch spec := o.Spec.(type) {
		case *importer.ScheduleSpec:
			spec.Template = names[[2]string{string(importer.Template), spec.Template}]
		case *importer.TemplateSpec:
			for i, name := range spec.Credentials {
				spec.Credentials[i] = names[[2]string{string(importer.Credential), name}]
			}
		}
	}
}
