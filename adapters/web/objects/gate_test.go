package objects

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// handled are the operations that a handler of a page calls itself, with the address that its form posts to.
func handled() map[string]string {
	return map[string]string{
		"sign-out":              "/ui/logout",
		"save-preferences":      "/ui/runs/views",
		"save-team-preferences": "/ui/runs/views",
		"simulate-policy":       "/ui/objects/policies/draft",
		"explain-run":           "/ui/runs/{id}/explain",
		"draft-script":          "/ui/launch/adhoc/draft",
	}
}

// withoutPage are the operations that no page has a form for, with what takes its place.
func withoutPage() map[string]string {
	const compared = "It says whether a file differs from what is stored, for the command line that applies files. " +
		"A form shows what is stored."
	return map[string]string{
		"check-token":              "A program asks it whether its token holds. The page of the account shows the session.",
		"exchange-code":            "It ends a sign-in of the command line.",
		"mint-live-ticket":         "It changes nothing. The pages have a cookie for the stream.",
		"mint-stream-ticket":       "It changes nothing. The pages have a cookie for the stream.",
		"compare-template":         compared,
		"compare-schedule":         compared,
		"compare-inventory-source": compared,
		"resolve-inventory": "It changes nothing. The pages of a launch and of an inventory read the same from " +
			"the port.",
		"submit-pipeline": "A workflow is a template with steps, which the page of the template launches. A pipeline " +
			"that is not stored is for programs.",
	}
}

// pageSource returns the sources of the pages, without tests and generated code.
func pageSource(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		if err != nil || d.IsDir() || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_templ.go") ||
			filepath.Ext(name) != ".go" && filepath.Ext(name) != ".templ" {
			return err
		}
		text, err := os.ReadFile(path)
		b.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestEveryChangeHasAPage: each operation of the API that changes something and is meant for people has a form or a
// button on a page, or says what takes its place.
func TestEveryChangeHasAPage(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../../e2e/golden/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	d := &document{}
	if err := json.Unmarshal(raw, d); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile("../../../docs/reference/pages.md")
	if err != nil {
		t.Fatal(err)
	}
	source, pages := pageSource(t), string(list)
	forms := map[string]string{} // the operations of the forms of records, with the name of the kind
	for _, k := range kinds(d) {
		for _, a := range []*action{k.Create, k.Update, k.Delete} {
			if a != nil {
				forms[a.ID] = k.Name
			}
		}
	}
	without, by := withoutPage(), handled()
	for path, item := range d.Paths {
		for method, op := range item {
			if method == "get" || method == "head" || op.Access == "worker" || !strings.HasPrefix(path, "/v1/") {
				continue
			}
			kind := forms[op.ID]
			linked := kind != "" && (strings.Contains(source, "/ui/objects/"+kind+"/") ||
				strings.Contains(source, `Of("`+kind+`"`))
			to := by[op.ID]
			posts := to != "" && strings.Contains(pages, "| `"+to+"` | POST |") && strings.Contains(source, `"`+to+`"`)
			has := linked || posts || strings.Contains(source, `"`+op.ID+`"`)
			reason, excepted := without[op.ID]
			if has == excepted || excepted && reason == "" {
				t.Errorf("%s: a page has a form: %v; what takes its place: %q", op.ID, has, reason)
			}
			delete(without, op.ID)
			delete(by, op.ID)
		}
	}
	for id := range without {
		t.Errorf("there is no operation %s", id)
	}
	for id := range by {
		t.Errorf("there is no operation %s", id)
	}
}
