package metrics_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPagesNameEveryMetric finds each name of a metric in the reference.
func TestPagesNameEveryMetric(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`"(writ_[a-z_]+)"`)
	found := 0
	for _, dir := range []string{".", filepath.Join("..", "..", "platform", "telemetry")} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range name.FindAllStringSubmatch(string(source), -1) {
				found++
				if !strings.Contains(string(page), "`"+m[1]+"`") {
					t.Errorf("docs/reference/metrics.md lacks %s, which %s has", m[1], file)
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("%d metrics found", found)
	}
}
