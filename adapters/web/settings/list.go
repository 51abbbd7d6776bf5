package settings

import "github.com/writ-automation/writ/adapters/web/shell"

// search is what narrows a list. Cut says that the list is not complete.
type search struct {
	Label, Value, Cut string
	Pages             *pages
}

// pageOfList returns a page with one table.
func pageOfList(r *shell.Request, h head, t table, s search) (*shell.Page, error) {
	return show(r, h, listPage(t, s))
}
