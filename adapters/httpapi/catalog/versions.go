package catalog

import (
	"context"
	"net/http"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/catalog"
)

// VersionRow is a version of an inventory without its content.
type VersionRow struct {
	Number   int64        `json:"number" doc:"1, 2, ... within the inventory."`
	At       time.Time    `json:"at"`
	By       *actor.Actor `json:"by,omitempty" doc:"Absent from a content that is older than its versions."`
	How      string       `json:"how" enum:"edit,refresh,earlier" doc:"A change of the content; the refresh of a source; what the inventory contained before versions were kept, with at being its last change."`
	SourceID string       `json:"source_id,omitempty" doc:"The source that was refreshed."`
	Format   string       `json:"format" enum:"ini,yaml,json"`
	Hosts    int          `json:"hosts"`
	Groups   int          `json:"groups" doc:"Without all and ungrouped."`
	Digest   string       `json:"digest" doc:"The SHA-256 of the content, in hex."`
}

func versionRow(v catalog.InventoryVersion) VersionRow {
	row := VersionRow{
		Number: v.Number, At: v.At, How: string(v.How), SourceID: v.SourceID, Format: string(v.Format), Hosts: v.Hosts,
		Groups: v.Groups, Digest: v.Digest,
	}
	if v.By != (actor.Actor{}) {
		row.By = &v.By
	}
	return row
}

// VersionBody is a version of an inventory.
type VersionBody struct {
	VersionRow
	Content string `json:"content"`
}

func versionBody(v catalog.InventoryVersion) VersionBody {
	return VersionBody{versionRow(v), string(v.Content)}
}

// VersionList is a list of versions, the newest first.
type VersionList struct {
	Versions []VersionRow `json:"versions"`
	httpapi.Listed
}

func versionList(rows []VersionRow, l httpapi.Listed) VersionList { return VersionList{rows, l} }

// DiffBody is the difference between two versions of an inventory.
type DiffBody struct {
	From      *VersionRow   `json:"from,omitempty" doc:"Absent if version 1 is compared with nothing."`
	To        VersionRow    `json:"to"`
	Hosts     EntryDiffBody `json:"hosts"`
	Groups    EntryDiffBody `json:"groups"`
	Text      string        `json:"text,omitempty" doc:"The difference of the contents in the unified form, at most 256 KiB with lines of at most 2 KiB."`
	Truncated bool          `json:"truncated" doc:"A bound left something out: names beyond 500 in a list, variables and groups beyond 100 of an entry, values beyond 256 KiB altogether, or a part of the text. The totals are whole."`
}

// EntryDiffBody are the hosts or the groups that differ, by name.
type EntryDiffBody struct {
	Added        []string           `json:"added"`
	Removed      []string           `json:"removed"`
	Changed      []ChangedEntryBody `json:"changed"`
	AddedTotal   int                `json:"added_total"`
	RemovedTotal int                `json:"removed_total"`
	ChangedTotal int                `json:"changed_total"`
}

// ChangedEntryBody is a host or a group that both versions have.
type ChangedEntryBody struct {
	Name   string           `json:"name"`
	Vars   []ChangedVarBody `json:"vars" doc:"Its own variables that differ."`
	Joined []string         `json:"joined" doc:"Groups: those that the host is in now, with their parents, or the new parents of the group."`
	Left   []string         `json:"left" doc:"Groups that it is not in any more."`
}

// ChangedVarBody is a variable that differs.
type ChangedVarBody struct {
	Name   string `json:"name"`
	Change string `json:"change" enum:"added,removed,changed"`
	From   any    `json:"from,omitempty" doc:"The values, unless a bound left them out."`
	To     any    `json:"to,omitempty"`
}

func changedVarBody(v catalog.ChangedVar) ChangedVarBody {
	b := ChangedVarBody{Name: v.Name, Change: "changed", From: unmarked(v.From), To: unmarked(v.To)}
	switch {
	case !v.Had:
		b.Change = "added"
	case !v.Has:
		b.Change = "removed"
	}
	return b
}

func entryDiffBody(d catalog.EntryDiff) EntryDiffBody {
	b := EntryDiffBody{
		Added: append([]string{}, d.Added...), Removed: append([]string{}, d.Removed...),
		Changed: make([]ChangedEntryBody, len(d.Changed)), AddedTotal: d.AddedTotal, RemovedTotal: d.RemovedTotal,
		ChangedTotal: d.ChangedTotal,
	}
	for i, e := range d.Changed {
		c := ChangedEntryBody{Name: e.Name, Vars: make([]ChangedVarBody, len(e.Vars)),
			Joined: append([]string{}, e.Joined...), Left: append([]string{}, e.Left...)}
		for k, v := range e.Vars {
			c.Vars[k] = changedVarBody(v)
		}
		b.Changed[i] = c
	}
	return b
}

func diffBody(d catalog.InventoryDiff) DiffBody {
	b := DiffBody{To: versionRow(d.To), Hosts: entryDiffBody(d.Hosts), Groups: entryDiffBody(d.Groups), Text: d.Text,
		Truncated: d.Truncated}
	if d.From.Number != 0 {
		from := versionRow(d.From)
		b.From = &from
	}
	return b
}

// VersionInput names a version of an inventory.
type VersionInput struct {
	ID      string        `path:"id"`
	Version httpapi.Count `path:"version" example:"3" doc:"Its number."`
}

// DiffInput names two versions of an inventory.
type DiffInput struct {
	VersionInput
	From httpapi.Count `query:"from" doc:"The version to compare with; the one before if absent or 0."`
}

func (h *handlers) versions(r *httpapi.Router, inventories string) {
	route := func(path, id, summary, description string, example any) httpapi.Route {
		return httpapi.Route{
			Method: http.MethodGet, Path: inventories + "/{id}/versions" + path, ID: id, Tag: tag, Summary: summary,
			Description: description, Access: read(), Status: http.StatusOK, Errors: []int{http.StatusNotFound},
			Example: example,
		}
	}
	httpapi.HandleList(r, route("", "list-inventory-versions", "List what an inventory contained, the newest first",
		"Each change of the content by a request or by a source makes a version. The newest 50 are kept, within 32 MiB.",
		nil),
		versionList, versionRow, func(ctx context.Context, in *HostsInput) ([]catalog.InventoryVersion, int, error) {
			return h.Versions.Versions(ctx, in.ID, in.Page())
		}, exampleVersions()...)
	httpapi.Handle(r, route("/{version}", "get-inventory-version", "Read a version of an inventory with its content",
		"To restore it, send the content in a change of the inventory.",
		VersionBody{exampleVersions()[0], "[web]\nweb1\nweb2\n"}),
		func(ctx context.Context, in *VersionInput) (*httpapi.Output[VersionBody], error) {
			return httpapi.Show(versionBody)(h.Versions.Version(ctx, in.ID, in.Version.N))
		})
	compare := route("/{version}/diff", "compare-inventory-versions",
		"Compare a version of an inventory with an older one",
		"Hosts and groups that were added, removed or changed, and the lines that differ.", exampleDiff())
	compare.Errors = append(compare.Errors, http.StatusConflict)
	httpapi.Handle(r, compare, func(ctx context.Context, in *DiffInput) (*httpapi.Output[DiffBody], error) {
		return httpapi.Show(diffBody)(h.Versions.Diff(ctx, in.ID, in.From.N, in.Version.N))
	})
}
