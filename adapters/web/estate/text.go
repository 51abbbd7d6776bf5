package estate

import (
	"net/url"
	"strconv"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/catalog"
)

const (
	noInventoriesText = "An inventory names the hosts that runs reach, with their groups and variables. This is one:"
	exampleInventory  = "[web]\nweb-1.example.net\nweb-2.example.net\n\n[web:vars]\nansible_user=deploy\n"
	noSourcesText     = "A source brings hosts from a plugin, a script, a project or a URL, by interval or before a run."
	treeCutText       = "The tree is cut here: it has more lines than a page shows. The view Hosts has every host."
)

func inventoryPath(id string) string { return "/ui/inventories/" + url.PathEscape(id) }

func hostPath(host string) string { return "/ui/fleet/" + url.PathEscape(host) }

func form(one bool, single, many string) string {
	if one {
		return single
	}
	return many
}

func rangeText(offset, shown, total int, noun string, irregular ...string) string {
	of := shell.Plural(total, noun, irregular...)
	switch shown {
	case 0:
		return "Nothing here of " + of
	case total:
		return of
	}
	return shell.Count(offset+1) + " to " + shell.Count(offset+shown) + " of " + of
}

func inventoriesText(total, hosts, failing int) string {
	if total == 0 {
		return "No inventory is stored that you may read."
	}
	text := shell.Plural(total, "inventory", "inventories") + " with " + shell.Plural(hosts, "host") + " altogether"
	if total > listed {
		text = shell.Plural(total, "inventory", "inventories") + ", the first " + shell.Count(listed) +
			" by name are listed"
	}
	if failing > 0 {
		return text + "; the last refresh of " + shell.Count(failing) + " failed, so " +
			form(failing == 1, "its content is", "their contents are") + " of an earlier time."
	}
	return text + "."
}

func inventoryText(v inventoryView) string {
	text := shell.Plural(v.Inventory.Hosts, "host") + " in " + shell.Plural(v.Groups, "group")
	if s := (inventoryRow{Sources: v.Sources}).failed(); s != nil {
		return text + "; the last refresh from " + s.Name + " failed, so the content is of an earlier time."
	}
	return text + ", version " + strconv.FormatInt(v.Revision, 10) + "."
}

func inventoryViews(v inventoryView) []shell.Tab {
	return []shell.Tab{{Path: viewGroups, Name: "Groups"}, {Path: viewHosts, Name: "Hosts"},
		{Path: viewContent, Name: "Content"}, {Path: viewSources, Name: "Sources " + strconv.Itoa(len(v.Sources))},
		{Path: viewVersions, Name: "Versions"}}
}

func sourcesState(list []catalog.InventorySource) shell.State {
	if (inventoryRow{Sources: list}).failed() != nil {
		return shell.State{Glyph: "fail", Word: "Refresh failed"}
	}
	for _, s := range list {
		if s.SyncedAt.IsZero() {
			return shell.State{Glyph: "wait", Word: "Not filled yet"}
		}
	}
	if len(list) > 0 {
		return shell.State{Glyph: "done", Word: "Filled"}
	}
	return shell.State{Glyph: "skip", Word: "By hand"}
}

func resolvedText(limit string, n int) string {
	if limit == "" {
		return "Without a limit: " + shell.Plural(n, "host") + "."
	}
	return shell.Plural(n, "host") + "."
}

func contentCutText(size int) string {
	return "Shown is the first " + shell.Bytes(maxContent) + " of " + shell.Bytes(int64(size)) + "."
}

func refreshText(s catalog.InventorySource) string {
	switch {
	case s.SyncInterval > 0 && s.UpdateOnLaunch:
		return "refreshed every " + shell.Duration(time.Duration(s.SyncInterval)*time.Second) + " and before each run"
	case s.SyncInterval > 0:
		return "refreshed every " + shell.Duration(time.Duration(s.SyncInterval)*time.Second)
	case s.UpdateOnLaunch:
		return "refreshed before each run"
	}
	return "refreshed on demand"
}
