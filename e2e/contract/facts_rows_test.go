package contract

import (
	"net/http"

	"github.com/writ-automation/writ/ports/identity"
)

// factRows are the operations on facts, which every account reads.
func factRows() map[string]row {
	return map[string]row{
		"get-estate":          {least: identity.Viewer, status: http.StatusOK},
		"diff-estate":         {least: identity.Viewer, status: http.StatusBadRequest},
		"get-estate-timeline": {least: identity.Viewer, status: http.StatusOK},
		"get-host-facts":      {least: identity.Viewer, status: http.StatusNotFound, missing: "host_not_found"},
	}
}
