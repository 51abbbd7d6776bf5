package policies

import (
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/policy"
)

func TestListsEscapeAndShowTheOrder(t *testing.T) {
	t.Parallel()
	p := policy.Policy{Record: object.Record{ID: "pol_1", Name: `"><script>alert(1)</script>`}, Effect: policy.Deny,
		Enabled: true}
	hold := p
	hold.Effect, hold.Name = policy.RequireApproval, "second person"
	var b strings.Builder
	ctx := shell.WithViewer(t.Context(), shell.Viewer{}, time.Unix(0, 0))
	v := listView{Deny: []policy.Policy{p}, Hold: []policy.Policy{hold}, Total: 2}
	if err := listPage(v).Render(ctx, &b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if strings.Contains(page, "<script") || strings.Contains(page, newPolicyText) ||
		strings.Index(page, denyText) > strings.Index(page, holdText) || !strings.Contains(page, freeText) ||
		strings.Contains(page, fileText) {
		t.Error(page)
	}
	b.Reset()
	v.File = "/etc/writ/policies.yaml"
	if err := listPage(v).Render(ctx, &b); err != nil {
		t.Fatal(err)
	}
	if page := b.String(); !strings.Contains(page, fileText) || strings.Contains(page, v.File) {
		t.Errorf("the path of the file is for administrators: %s", page)
	}
}
