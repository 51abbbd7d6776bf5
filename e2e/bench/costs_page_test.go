package bench

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// costsPage has the figures of BenchmarkCosts between two marks.
const costsPage = "../../docs/performance.md"

// write adds the tables of an engine.
func (c *costs) write(page *strings.Builder, engine string) {
	columns := []string{"us-cpu", "units", "commits", "B-written"}
	heads := "| Operation | us of processor time | units | commits | bytes written |"
	if c.db != nil {
		columns = []string{"us-cpu", "units", "commits", "statements", "trips", "B-wal"}
		heads = "| Operation | us of processor time | units | commits | statements | round trips | bytes of the log |"
	}
	fmt.Fprintf(page, "### %s\n\n%s\n|%s\n", engine, heads, strings.Repeat("---|", len(columns)+1))
	for _, op := range c.done {
		if op.totals == nil {
			continue
		}
		fmt.Fprintf(page, "| %s |", op.name)
		for _, column := range columns {
			fmt.Fprintf(page, " %s |", figure(op.totals[column]))
		}
		page.WriteString("\n")
	}
	fmt.Fprintf(page, "\nShares of the processor time of the server, in percent:\n\n| |")
	layers := map[string]bool{}
	for _, op := range c.done {
		fmt.Fprintf(page, " %s |", op.name)
		for layer := range op.shares {
			layers[layer] = true
		}
	}
	fmt.Fprintf(page, "\n|%s\n", strings.Repeat("---|", len(c.done)+1))
	for _, layer := range slices.Sorted(maps.Keys(layers)) {
		fmt.Fprintf(page, "| %s |", layer)
		for _, op := range c.done {
			fmt.Fprintf(page, " %s |", op.shares[layer])
		}
		page.WriteString("\n")
	}
	page.WriteString("\n")
	for _, op := range c.done {
		if op.statements != "" {
			fmt.Fprintf(page, "Statements of one operation, %s:\n\n```text\n%s```\n\n", op.name, op.statements)
		}
	}
}

// figure is a number with three digits, or whole.
func figure(n float64) string {
	switch {
	case n < 0.005:
		return "0"
	case n < 100:
		return fmt.Sprintf("%.3g", n)
	default:
		return fmt.Sprintf("%.0f", n)
	}
}

// update writes text between the marks of the page.
func update(b *testing.B, text string) {
	const begin, end = "<!-- costs:begin -->\n", "<!-- costs:end -->\n"
	raw, err := os.ReadFile(costsPage)
	must(b, err)
	head, rest, ok := strings.Cut(string(raw), begin)
	_, tail, ends := strings.Cut(rest, end)
	if !ok || !ends {
		b.Fatalf("%s lacks its marks", costsPage)
	}
	commit, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	must(b, err)
	load, err := os.ReadFile("/proc/loadavg")
	must(b, err)
	measured := fmt.Sprintf("\nMeasured on %s at commit `%s`, %d processors, load %s at the end.\n\n",
		time.Now().UTC().Format(time.DateOnly), strings.TrimSpace(string(commit)), runtime.NumCPU(),
		strings.Join(strings.Fields(string(load))[:2], " and "))
	must(b, os.WriteFile(costsPage, []byte(head+begin+measured+text+end+tail), 0o644)) //nolint:gosec // of the repository
}
