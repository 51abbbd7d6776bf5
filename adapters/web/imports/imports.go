package imports

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/importer"
)

const operation = "import-export"

// The fields of the form.
const (
	fieldFormat    = "format"
	fieldFile      = "file"
	fieldInventory = "inventory"
	fieldDo        = "do"
)

// The values of fieldDo. All others are previews.
const (
	doApply = "apply"
	doHTML  = "html"
	doJSON  = "json"
)

// maxInventories is how many inventories the form offers. With more of them it takes a name.
const maxInventories = "500"

// New returns the section.
func New() shell.Section {
	return shell.Section{Name: "imports", Register: func(s *shell.Shell) {
		need := identity.Need{Kind: "import", Act: "write"}
		s.Get(shell.ImportPath, need, func(r *shell.Request) (*shell.Page, error) {
			return show(r, view{Format: r.URL.Query().Get(fieldFormat)}), nil
		})
		s.Post(shell.ImportPath, need, post)
	}}
}

// view is the page.
type view struct {
	Format, Inventory string
	// Target is the field of the inventory.
	Target shell.FieldSpec
	// Report is nil before a file was read.
	Report *report
}

func fileField(again, label, help string) shell.FieldSpec {
	return shell.FieldSpec{Name: fieldFile + again, Label: label, Kind: "file", Help: help, Required: true}
}

func show(r *shell.Request, v view) *shell.Page {
	v.Target = shell.FieldSpec{Name: fieldInventory, Label: targetText, Help: targetHelp + targetName, Value: v.Inventory}
	var list struct {
		Inventories []struct{ ID, Name string }
		Total       int
	}
	if r.Get("/v1/inventories?limit="+maxInventories, &list) == nil && list.Total == len(list.Inventories) {
		v.Target.Kind, v.Target.Help, v.Target.Choices = "select", targetHelp, []shell.Choice{{Label: noInventory}}
		for _, x := range list.Inventories {
			v.Target.Choices = append(v.Target.Choices, shell.Choice{Value: x.ID, Label: x.Name})
		}
	}
	if !slices.ContainsFunc(products(), func(p product) bool { return p.Format == v.Format }) {
		v.Format = products()[0].Format
	}
	return &shell.Page{Title: title, Nav: shell.Settings, Body: page(v)}
}

// post previews or applies an import, or answers its report as a file.
func post(r *shell.Request) (*shell.Page, error) {
	u, err := read(r)
	v := view{Format: u.Values.Get(fieldFormat), Inventory: u.Values.Get(fieldInventory)}
	if err != nil {
		return refused(r, v, u, httpapi.Explain(r.Writer, r.Request, err)), nil
	}
	if len(u.Export) == 0 {
		return refused(r, v, u, shell.Invalid(fieldFile, noFile)), nil
	}
	do := u.Values.Get(fieldDo)
	q := url.Values{fieldFile: {u.File}}
	if v.Inventory != "" && (v.Format == "rundeck" || v.Format == "jenkins") { // the field is hidden for others
		q.Set(fieldInventory, v.Inventory)
	}
	if do == doApply {
		q.Set("apply", "true")
	}
	a := r.Call(httpapi.Call{Method: http.MethodPost, Body: u.Export,
		Path: "/v1/import/" + url.PathEscape(v.Format) + "?" + q.Encode()})
	if !a.OK() {
		return refused(r, v, u, shell.Problem(a)), nil
	}
	var plan importer.Body
	if json.Unmarshal(a.Body, &plan) != nil {
		return refused(r, v, u, shell.Invalid(fieldFile, tooLong(do == doApply))), nil
	}
	if do == doHTML || do == doJSON {
		return nil, download(r, do, plan, a.Body)
	}
	entry, _, _ := strings.Cut(a.Header.Get("Audit-Receipt"), ":")
	v.Report = reportOf(r.Context(), plan, u.File, entry)
	return show(r, v), nil
}

// refused returns the page with why the import was refused, beside the field at fault.
func refused(r *shell.Request, v view, u upload, p *httpapi.Problem) *shell.Page {
	if p.Status == http.StatusRequestEntityTooLarge && p.Reason == fault.TooLarge.String() {
		p.Text = tooLarge(v.Format, u.File)
	}
	if p.Status < http.StatusInternalServerError && p.Status != http.StatusForbidden {
		at := fieldFile // also what is at a line or an entry of it
		switch {
		case p.Reason == importer.UnknownFormat.Name:
			at = fieldFormat
		case p.Reason == "inventory_not_found", len(p.Errors) > 0 && p.Errors[0].Location == fieldInventory:
			at = fieldInventory
		}
		p.Errors = []httpapi.FieldError{{Location: at, Message: p.Text}}
	}
	u.Values.Del(fieldDo)
	r.Refuse(operation, u.Values, p)
	page := show(r, v)
	page.Status = p.Status
	return page
}

// download answers a report as a file.
func download(r *shell.Request, do string, plan importer.Body, raw []byte) error {
	h := r.Writer.Header()
	h.Set("Content-Disposition", `attachment; filename="import-`+plan.Format+"."+do+`"`)
	if do == doJSON {
		h.Set("Content-Type", "application/json")
		_, err := r.Writer.Write(raw)
		return err //nolint:wrapcheck // the reader is gone
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")
	return importer.WriteReport(r.Writer, plan) //nolint:wrapcheck // the reader is gone
}
