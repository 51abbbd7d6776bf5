package scheduling

import (
	"fmt"
	"io"
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/scheduling"
)

// hooksPath is the path before the token of a trigger.
const hooksPath = "/hooks/"

// DeliveredBody is the result of a delivery.
type DeliveredBody struct {
	RunID   string `json:"run_id,omitempty"`
	Ignored string `json:"ignored,omitempty" doc:"Why nothing was launched."`
}

// deliver passes on the unchanged bytes of a delivery, which its signature covers. The router has limited their
// number.
func (h *handlers) deliver(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		httpapi.WriteError(w, r, fmt.Errorf("read a delivery: %w", err))
		return
	}
	header := r.Header.Clone()
	// The credentials of this server are no part of a delivery.
	for _, name := range []string{"Authorization", "Cookie", "Proxy-Authorization"} {
		header.Del(name)
	}
	d, err := h.Hooks.Deliver(r.Context(), scheduling.Delivery{Token: r.PathValue("token"), Header: header, Body: body})
	switch {
	case err != nil:
		httpapi.WriteError(w, r, err)
	case d.RunID != "":
		httpapi.WriteJSON(w, r, http.StatusAccepted, DeliveredBody{RunID: d.RunID})
	case d.Ignored != "":
		httpapi.WriteJSON(w, r, http.StatusOK, DeliveredBody{Ignored: d.Ignored})
	default:
		httpapi.WriteError(w, r, &fault.Error{Kind: fault.Unavailable,
			Message: "this delivery is already being handled; send it again later"})
	}
}

func (h *handlers) hooks(r *httpapi.Router) {
	r.Raw(httpapi.Route{
		Method: http.MethodPost, Path: hooksPath + "{token}", ID: "deliver-hook", Action: audit.RunSubmit, Tag: tag,
		Summary: "Receive a webhook delivery",
		Description: "For GitHub (X-Hub-Signature-256), Gitea and Forgejo (X-Gitea-Signature) and GitLab " +
			"(X-Gitlab-Token). 202 with run_id if a run was launched; 200 with ignored for a ping, another event, another " +
			"branch, and a template that is busy (template_busy). A delivery that came before gets its first answer again.",
		Access: httpapi.Public(), SecretPath: true, Status: http.StatusAccepted, MaxBody: scheduling.MaxHook,
		Consumes: "application/json,application/x-www-form-urlencoded",
		Example:  DeliveredBody{RunID: exampleRunID},
		Request:  `{"ref":"refs/heads/main","after":"5d1c3f0a9be7d1c5f0a9be7d1c5f0a9be7d1c5f0"}`,
		Errors:   []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusConflict},
	}, http.HandlerFunc(h.deliver))
}
