package setup

import (
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// help returns the output of the binary for the arguments.
func help(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), harness.Binary(t), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("writ %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// names returns the first group of every match, sorted, each once.
func names(text, pattern string) []string {
	var out []string
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// differ reports names that are on only one side.
func differ(t *testing.T, page string, documented, offered []string) {
	t.Helper()
	for _, n := range offered {
		if !slices.Contains(documented, n) {
			t.Errorf("%s does not mention %s", page, n)
		}
	}
	for _, n := range documented {
		if !slices.Contains(offered, n) {
			t.Errorf("%s mentions %s, which this build does not have", page, n)
		}
	}
}

func page(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(root(t, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestConfigurationPage compares the tables of flags with the flags of serve and worker.
func TestConfigurationPage(t *testing.T) {
	t.Parallel()
	const path = "docs/reference/configuration.md"
	var documented []string
	for _, row := range names(page(t, path), "(?m)^\\| (`--[^|]*) \\|") {
		documented = append(documented, names(row, "`--([a-z-]+)`")...)
	}
	const flag = `(?m)^\s+(?:-[a-zA-Z], )?--([a-z][a-z-]*)`
	offered := slices.Concat(names(help(t, "serve", "--help"), flag), names(help(t, "worker", "--help"), flag))
	offered = slices.DeleteFunc(offered, func(f string) bool { return f == "help" || f == "config" || f == "no-color" })
	differ(t, path, documented, offered)
}

// TestMetricsPage holds the table of metrics to those of a server that has done something.
func TestMetricsPage(t *testing.T) {
	t.Parallel()
	const path = "docs/reference/metrics.md"
	s := harness.Start(t, harness.Options{})
	s.Await(s.Submit(harness.Body{"tool": "bash", "command": "true"}).ID)
	var documented []string
	for _, row := range names(page(t, path), "(?m)^\\| (`writ_[^|]*) \\| (?:gauge|counter|histogram) ") {
		documented = append(documented, names(row, "`(writ_[a-z_]+)`")...)
	}
	const histogram = "writ_run_duration_seconds"
	var offered []string
	for deadline := time.Now().Add(time.Minute); !slices.Contains(offered, histogram) && time.Now().
		Before(deadline); <-time.After(50 * time.Millisecond) {
		offered = names(string(s.Do(http.MethodGet, "/metrics", nil).Body), `(?m)^# HELP (writ_[a-z_]+) `)
	}
	differ(t, path, documented, offered)
}
