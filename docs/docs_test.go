package docs_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/writ-automation/writ/docs"
)

// TestPagesHaveTitles opens every embedded page: menus show the title.
func TestPagesHaveTitles(t *testing.T) {
	t.Parallel()
	seen := 0
	err := fs.WalkDir(docs.Pages, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(docs.Pages, path)
		if err != nil {
			return err
		}
		seen++
		if !strings.HasPrefix(string(text), "# ") {
			t.Errorf("%s does not begin with its title", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen == 0 {
		t.Error("no pages are embedded")
	}
}
