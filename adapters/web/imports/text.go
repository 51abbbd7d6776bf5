package imports

import (
	"cmp"
	"strings"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/importer"
)

// product is a product whose exports can be imported.
type product struct{ Format, Name, Export string }

func products() []product {
	return []product{
		{"awx", "AWX", "The output of awx export, as JSON or YAML"},
		{"semaphore", "Semaphore", "The backup of a project"},
		{"rundeck", "Rundeck", "Jobs as XML, YAML or JSON, or the archive of a project"},
		{"jenkins", "Jenkins", "One config.xml, or a zip of the folder jobs"},
		{"puppet", "Puppet", "Answers of PuppetDB, facts of a node, a site manifest"},
		{"chef", "Chef", "Nodes or a list from knife, or a zip of node files"},
	}
}

// The texts of the page.
const (
	title       = "Import"
	fileText    = "File"
	fileHelp    = "At most 25 MiB. A larger one goes by the command line: writ import FORMAT FILE."
	targetText  = "Inventory"
	targetHelp  = "The hosts on which the jobs run, which such an export does not name."
	targetName  = " Its id or its name."
	noInventory = "None"
	noFile      = "Choose the file of the export. An empty one has nothing to import."
	noTime      = "none"
	differText  = "Differs"
	sameText    = "The same"
	lacksText   = "No secret yet"
	againLabel  = "The same file again"
	againHelp   = "The server keeps no copy of an export between the steps, so each step needs the file."

	nothingToDo = "Applying this import changes nothing: what it would write is here already, or has no place."
	nothingDone = "The import changed nothing: what it would write is here already, or has no place."
)

func glyphOf(c importer.Class) string {
	switch c {
	case importer.Same:
		return "done"
	case importer.Adapted:
		return "chg"
	case importer.NeedsYou:
		return "hold"
	}
	return "skip"
}

func means(c importer.Class) string {
	switch c {
	case importer.Same:
		return "It does the same as before."
	case importer.Adapted:
		return "It is written and differs, as its lines say."
	case importer.NeedsYou:
		return "It is written, and somebody has to complete it."
	}
	return "It is not written."
}

func actionText(o importer.PlannedBody, applied bool) string {
	text := "Unchanged"
	switch {
	case o.Class == importer.NoHome:
		return "Left out"
	case o.Action == importer.Skip:
		return text
	case o.Action == importer.Update:
		text = "Update"
	default:
		text = "Create"
	}
	if applied {
		text += "d"
	}
	return text
}

func setsText(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "Sets " + strings.Join(names[:min(len(names), maxLines)], ", ") + "."
}

func leftText(n int, noun string) string {
	if n <= 0 {
		return ""
	}
	return shell.Plural(n, noun) + " more: in the report as a file."
}

func barText(n importer.Counts) string {
	var parts []string
	for _, class := range importer.Classes() {
		parts = append(parts, class.Title()+": "+shell.Count(n.Of(class)))
	}
	return strings.Join(parts, ", ")
}

// summaryText says what the export has and what becomes of it.
func summaryText(r *report) string {
	var parts []string
	for _, x := range []struct {
		n    int
		what string
	}{{r.Counts.Create, " to create"}, {r.Counts.Update, " to update"}, {r.Counts.Skip - r.Counts.NoHome, " unchanged"},
		{r.Counts.NoHome, " without a place here"}} {
		if x.n > 0 {
			parts = append(parts, shell.Count(x.n)+x.what)
		}
	}
	return r.File + " has " + shell.Plural(len(r.Objects), "object") + ": " + strings.Join(parts, ", ") + "."
}

// headText says what an import did, or that it has nothing to do.
func headText(r *report, entry string) (text, more string) {
	switch {
	case r.Applied && r.changes() > 0:
		if entry != "" {
			more = "Entry " + entry + " of the trail. "
		}
		return "Imported: " + shell.Count(r.Counts.Create) + " created, " + shell.Count(r.Counts.Update) + " updated.",
			more + "Applying the same export again changes nothing."
	case r.Applied:
		return nothingDone, ""
	case r.changes() == 0:
		return nothingToDo, ""
	}
	return "", ""
}

func secretsText(n int, applied bool) string {
	if n == 0 {
		return ""
	}
	text := shell.Plural(n, "credential") + " without a secret: an export has none. "
	if applied {
		return text + "Their rows lead to the form."
	}
	return text + "Enter it after the import."
}

func applyText(n int) string {
	if n == 0 {
		return ""
	}
	return "Import " + shell.Plural(n, "object")
}

func movedText(n int) string {
	if n == 1 {
		return "1 differs"
	}
	return shell.Count(n) + " differ"
}

func tooLarge(format, file string) string {
	return "The export has more than 25 MiB. On the command line, writ import " + cmp.Or(format, "FORMAT") + " " +
		cmp.Or(file, "FILE") + " takes it."
}

func tooLong(applied bool) string {
	if applied {
		return "The import was applied, and its report is too long for a page. The trail has an entry of each object."
	}
	return "The report is too long for a page. The command writ import prints it."
}
