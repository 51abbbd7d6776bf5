package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/importer"
)

// classStatus are the classes in the colours of statuses.
var classStatus = map[importer.Class]string{
	importer.Same: "ok", importer.Adapted: "changed", importer.NeedsYou: "failed", importer.NoHome: "dim",
}

// printImport prints the counts of a plan, and its objects below their classes.
func printImport(s screen, b importer.Body) {
	state := "Preview: nothing was written"
	if b.Applied {
		state = "Applied"
	}
	counts := make([]string, 0, len(importer.Classes()))
	for _, class := range importer.Classes() {
		counts = append(counts, fmt.Sprintf("%d %s", b.Counts.Of(class), strings.ToLower(class.Title())))
	}
	_, _ = fmt.Fprintf(s.w, "%s; %d create, %d update, %d skip: %s\n", state, b.Counts.Create, b.Counts.Update,
		b.Counts.Skip, strings.Join(counts, ", "))
	for _, w := range b.Notes() {
		printImportWarning(s, w)
	}
	warnings := b.WarningsOf()
	for _, class := range importer.Classes() {
		if b.Counts.Of(class) == 0 {
			continue
		}
		_, _ = fmt.Fprintf(s.w, "\n%s\n", s.paint(classStatus[class], class.Title()))
		for _, o := range b.Objects {
			if o.Class == class {
				printImported(s, o, warnings[[2]string{string(o.Kind), o.Name}])
			}
		}
	}
}

func printImported(s screen, o importer.PlannedBody, warnings []importer.WarningBody) {
	line := fmt.Sprintf("%s %s %q", o.Action, o.Kind, o.Name)
	if o.Reason != "" {
		line += ": " + o.Reason
	}
	_, _ = fmt.Fprintf(s.w, "  %s\n", oneLine(line, 400))
	for _, m := range o.Mapping {
		_, _ = fmt.Fprintf(s.w, "    %s\n", oneLine(m, 400))
	}
	if len(o.Changes) > 0 {
		_, _ = fmt.Fprintf(s.w, "    changes: %s\n", oneLine(strings.Join(o.Changes, ", "), 400))
	}
	for _, w := range warnings {
		printImportWarning(s, w)
	}
	printFires(s, o.NextFires.Pairs(), true)
}

func printImportWarning(s screen, w importer.WarningBody) {
	text := w.Message
	if w.Field != "" {
		text = w.Field + ": " + text
	}
	_, _ = fmt.Fprintf(s.w, "    %s %s\n", s.paint("changed", "warning:"), oneLine(text, 400))
}

// printFires prints the times of the other product and of Writ side by side, and says where they differ if mark is set.
func printFires(s screen, pairs [][2]*time.Time, mark bool) {
	for i, p := range pairs {
		if i == 0 {
			_, _ = fmt.Fprintf(s.w, "    %-20s  %s\n", "old", "new")
		}
		differs := ""
		if mark && (p[0] == nil || p[1] == nil || !p[0].Equal(*p[1])) {
			differs = "  " + s.paint("failed", "differs")
		}
		_, _ = fmt.Fprintf(s.w, "    %-20s  %s%s\n", fireText(p[0]), fireText(p[1]), differs)
	}
}

func fireText(t *time.Time) string {
	if t == nil {
		return "none"
	}
	return t.UTC().Format(time.RFC3339)
}
