package shell

import (
	"strings"
	"testing"
	"time"
)

func TestCurrentTabIsTheClosest(t *testing.T) {
	t.Parallel()
	tabs := SectionTabs(Settings)
	for path, want := range map[string]string{
		"/ui/settings": "/ui/settings", "/ui/settings/teams/team_1": "/ui/settings/teams", "/ui/settingsx": "",
		"/ui/settings/credential-types": "/ui/settings/credential-types", "/ui/objects/users/new": "",
	} {
		if got := currentTab(&Page{}, path, tabs); got != want {
			t.Errorf("%s: %q, expected %q", path, got, want)
		}
	}
	if got := currentTab(&Page{Tab: "/ui/settings/orgs"}, "/ui/objects/orgs/new", tabs); got != "/ui/settings/orgs" {
		t.Error(got)
	}
}

// TestTabsAreWithinRights: whoever has no right to a page sees no tab of it, and a single tab is none.
func TestTabsAreWithinRights(t *testing.T) {
	t.Parallel()
	r := &Request{Viewer: Viewer{Role: "viewer"}}
	for _, section := range []string{Overview, Runs, Approvals, Launch, Fleet, Trust, Settings} {
		if tabs := tabsFor(r, &Page{Nav: section}); len(tabs) > 0 {
			t.Errorf("%s: %v", section, tabs)
		}
	}
}

func TestViewsEscape(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	ctx := WithViewer(t.Context(), Viewer{}, time.Unix(0, 0))
	if err := Views(`"><script>`, "b", View{"?v=<", "<b>"}, View{"?v=b", "b"}).Render(ctx, &b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if strings.Contains(page, "<script") || strings.Contains(page, "<b>") ||
		strings.Count(page, "aria-current") != 1 {
		t.Error(page)
	}
}
