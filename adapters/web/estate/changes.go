package estate

import (
	"net/url"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/system"
)

const (
	changesPage  = 100
	membersPage  = 200
	shownTouched = 200
)

type changesView struct {
	estate.ChangeList
	Sentence, Range, Newer, Older string
	Register                      bool   // the reader may read the register, and the install has it
	Tier                          string // what the register needs, for who may read it
}

func (h *handlers) changes(r *shell.Request) (*shell.Page, error) {
	q := r.URL.Query()
	offset := number(q.Get("offset"))
	list, err := h.Changes.List(r.Context(), page.Window{Offset: offset, Limit: changesPage})
	if err != nil {
		return nil, err
	}
	v := changesView{ChangeList: list, Sentence: changesText(list),
		Range: rangeText(offset, len(list.Changes), list.Total, "change")}
	v.Newer, v.Older = pager("/ui/changes", q, offset, len(list.Changes), changesPage, list.Total)
	if r.May("audit", "register") {
		if v.Register = h.Licenses.Require(r.Context(), audit.FeatureRegister) == nil; !v.Register {
			v.Tier = string(system.LicensedFeatures()[audit.FeatureRegister])
		}
	}
	return &shell.Page{Title: "Changes", Nav: shell.Fleet, Body: changesPageOf(v)}, nil
}

type changeView struct {
	estate.ChangeDetail
	Sentence, Range, Newer, Older string
	Remarks                       []string
}

func (h *handlers) change(r *shell.Request) (*shell.Page, error) {
	label, q := r.PathValue("label"), r.URL.Query()
	offset := number(q.Get("offset"))
	c, err := h.Changes.Get(r.Context(), label, page.Window{Offset: offset, Limit: membersPage})
	if err != nil {
		return nil, err
	}
	v := changeView{ChangeDetail: c, Sentence: changeText(r.Context(), c), Remarks: changeRemarks(c),
		Range: rangeText(offset, len(c.Members), c.Runs, "run")}
	v.Newer, v.Older = pager(changePath(label), q, offset, len(c.Members), membersPage, c.Runs)
	return &shell.Page{Title: label, Nav: shell.Fleet, Glyph: changeState(c.Outcome).Glyph, Body: changePage(v)}, nil
}

func changePath(label string) string { return "/ui/changes/" + url.PathEscape(label) }
