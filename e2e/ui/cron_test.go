package ui

import (
	"net/http"
	"net/url"
	"testing"
	"time"
)

// TestCronPreview checks that the form of a schedule shows when its expression fires, in its time zone, without script.
func TestCronPreview(t *testing.T) {
	t.Parallel()
	r := newSettingsRig(t)
	q := url.Values{"cron": {"30 2 * * *"}, "timezone": {"Europe/Berlin"}}.Encode()
	var preview struct {
		Next  []time.Time
		Notes []string
	}
	r.Do(http.MethodGet, "/v1/schedules/preview?"+q, nil).JSON(t, &preview)
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil || len(preview.Next) == 0 {
		t.Fatalf("%v %+v", err, preview)
	}
	for _, path := range []string{"/ui/objects/schedules/new?", "/ui/objects/windows/new?", "/ui/objects/cron?"} {
		html := settingsPage(t, r.Client, path+q, http.StatusOK)
		contains(t, html, "In Europe/Berlin.")
		for _, at := range preview.Next {
			contains(t, html, at.In(zone).Format("Mon 2 Jan 2006 15:04 MST"))
		}
		contains(t, html, preview.Notes...)
	}
	html := settingsPage(t, r.Client, "/ui/objects/cron?cron=61+*+*+*+*", http.StatusOK)
	contains(t, html, "cron")
	lacks(t, html, "Next times.")
	form := hiddenOf(settingsPage(t, r.Client, "/ui/objects/schedules/new", http.StatusOK))
	form.Set("name", "nightly")
	form.Set("cron", "0 99 * * *")
	refused := submitForm(r.Client, "create-schedule", "", form)
	if refused.Status != http.StatusBadRequest {
		t.Errorf("a wrong expression: %d", refused.Status)
	}
	contains(t, string(refused.Body), `value="0 99 * * *"`, `value="nightly"`, `href="#f-`)
}
