package settings

import (
	"cmp"
	"strings"

	"github.com/writ-automation/writ/adapters/web/shell"
)

// target is where a template sends notifications. Secrets read back masked.
type target struct {
	Kind      string `json:"kind"`
	URL       string `json:"url"`
	To        string `json:"to"`
	OnFailure bool   `json:"on_failure"`
}

// notifications lists where templates send notifications.
func (h *handlers) notifications(r *shell.Request) (*shell.Page, error) {
	var answer struct {
		Templates []struct {
			ID, Name      string
			Notifications []target
		}
		Total int
	}
	if err := r.Get("/v1/templates?limit=1000", &answer); err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	q := r.URL.Query().Get("q")
	t := table{Caption: tabNotifications, Heads: []string{"Template", "Kind", "Where", "When"}, Empty: "No notifications",
		Why: notificationsWhy}
	n := 0
	for _, x := range answer.Templates {
		for _, to := range x.Notifications {
			n++
			when := "Every end"
			if to.OnFailure {
				when = "Failures"
			}
			where := cmp.Or(to.URL, to.To, "set, not shown")
			if matches(q, x.Name, to.Kind, where) && len(t.Rows) < maxRows {
				t.Rows = append(t.Rows, row{Cells: []cell{{Text: x.Name, Href: editOf("templates", x.ID)},
					text(shell.Words(to.Kind)), mono(where), text(when)}})
			}
		}
	}
	if strings.TrimSpace(q) != "" {
		t.Empty, t.Why = noMatch, clearSearch
	}
	return pageOfList(r, head{Title: tabNotifications, Sentence: notificationsText(n)}, t,
		search{Label: "Find a notification", Value: q,
			Cut: cutText(len(answer.Templates), len(answer.Templates), answer.Total)})
}
