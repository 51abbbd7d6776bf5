package imports

import (
	"flag"
	"net/http"
	"net/url"
	"os"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/importer"
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(harness.Main(m))
}

// importing sends an export and returns the plan. Params are pairs of query parameters.
func importing(t *testing.T, c harness.Client, format string, body []byte, params ...string) importer.Body {
	t.Helper()
	a := post(c, format, string(body), params...)
	var plan importer.Body
	if a.JSON(t, &plan); a.Status != http.StatusOK {
		t.Fatalf("import %s: %d %.2000s", format, a.Status, a.Body)
	}
	if plan.Format != format {
		t.Errorf("the plan is of the format %q", plan.Format)
	}
	return plan
}

func post(c harness.Client, format, body string, params ...string) harness.Answer {
	query := url.Values{}
	for i := 0; i+1 < len(params); i += 2 {
		query.Set(params[i], params[i+1])
	}
	return c.Do(http.MethodPost, "/v1/import/"+format+"?"+query.Encode(), body,
		"Content-Type", "application/octet-stream")
}

// total returns how many objects of a collection there are.
func total(t *testing.T, c harness.Client, collection string) int {
	t.Helper()
	var list struct{ Total int }
	a := c.Do(http.MethodGet, "/v1/"+collection+"?limit=1", nil)
	if a.JSON(t, &list); a.Status != http.StatusOK {
		t.Fatalf("GET %s: %d %s", collection, a.Status, a.Body)
	}
	return list.Total
}
