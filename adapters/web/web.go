package web

import (
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/web/assets"
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/importer"
)

// maxForm bounds a posted form, and maxFields what a form with the file of an import has beside it. Other files that
// are uploaded go to the API.
const (
	maxForm   = 4 << 20
	maxFields = 64 << 10
)

// New returns the routes of the web interface.
func New(p Params) (httpapi.Routes, error) {
	files, err := assets.New()
	if err != nil {
		return httpapi.Routes{}, err
	}
	return httpapi.Routes{Name: "web", Register: func(r *httpapi.Router) {
		s := shell.New(shell.Config{Router: r, Runs: p.Runs, Info: p.Info, Clock: p.Clock, Assets: files.Path,
			Advice: p.Advisor != nil && p.Advisor.Enabled()})
		for _, section := range p.Sections {
			section.Register(s)
		}
		page := httpapi.Route{
			Method: http.MethodGet, Tag: "system", Access: httpapi.Public(), Status: http.StatusOK, Produces: "text/html",
			Example: "<!doctype html>", Errors: []int{http.StatusNotFound}, Hidden: true,
		}
		assetRoute := page
		assetRoute.Path, assetRoute.ID, assetRoute.Summary = assets.Pattern, "read-ui-asset", "The files of the pages"
		r.Raw(assetRoute, files)
		page.Path, page.ID, page.Summary = "/ui/{path...}", "read-ui", "The pages"
		r.Raw(page, s)
		page.Method, page.ID, page.Summary = http.MethodPost, "post-ui", "The forms of the pages"
		page.Harmless, page.MaxBody = true, maxForm
		page.Consumes = "application/x-www-form-urlencoded, multipart/form-data"
		r.Raw(page, s)
		page.Path, page.ID, page.Summary = shell.ImportPath, "post-ui-import", "The form with the file of an import"
		page.Consumes, page.MaxBody, page.Unread = "multipart/form-data", importer.MaxBody+maxFields, true
		r.Raw(page, s)
	}}, nil
}
