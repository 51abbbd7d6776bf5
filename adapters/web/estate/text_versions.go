package estate

import (
	"strconv"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/catalog"
)

const (
	noVersionsText = "The next change of the content makes the first version. It also keeps what the inventory " +
		"contains now."
	sameVersionsText = "The two contain the same."
	truncatedText    = "The difference is too large to be shown as a whole. The numbers are complete."
)

func versionText(number int64) string { return "Version " + strconv.FormatInt(number, 10) }

func versionsText(total int) string {
	return shell.Plural(total, "version") + ", the newest first. The newest " + shell.Count(catalog.KeptVersions) +
		" are kept, within " + shell.Bytes(catalog.KeptVersionBytes) + "."
}

func byText(v catalog.InventoryVersion) string {
	if v.How == catalog.Earlier {
		return "unknown"
	}
	return v.By.Shown()
}

func howText(v catalog.InventoryVersion, sources []catalog.InventorySource) string {
	switch v.How {
	case catalog.Earlier:
		return "stored before versions were kept"
	case catalog.Refreshed:
		for _, s := range sources {
			if s.ID == v.SourceID {
				return "refresh of " + s.Name
			}
		}
		return "refresh of " + v.SourceID
	case catalog.Edited:
	}
	return "edit"
}

func comparedText(d catalog.InventoryDiff) string {
	if d.From.Number == 0 {
		return versionText(d.To.Number) + " compared with nothing"
	}
	return versionText(d.To.Number) + " compared with version " + strconv.FormatInt(d.From.Number, 10)
}

func entriesText(d catalog.EntryDiff, noun string) string {
	return shell.Plural(d.AddedTotal, noun) + " added, " + shell.Count(d.RemovedTotal) + " removed, " +
		shell.Count(d.ChangedTotal) + " changed"
}

func contentTitle(v inventoryView) string {
	if v.Version > 0 {
		return versionText(v.Version) + ", " + string(v.Format)
	}
	return string(v.Format)
}
