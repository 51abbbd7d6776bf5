package contract

import (
	"net/http"

	"github.com/writ-automation/writ/ports/identity"
)

// changeRows are the operations on changes and on hosts by their facts, which every account reads.
func changeRows() map[string]row {
	return map[string]row{
		"list-changes":         {least: identity.Viewer, status: http.StatusOK},
		"get-change":           {least: identity.Viewer, status: http.StatusNotFound, missing: "change_not_found"},
		"get-estate-inventory": {least: identity.Viewer, status: http.StatusOK},
	}
}
