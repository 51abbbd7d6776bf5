package bench

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// quantile returns the q-th quantile of samples, which it sorts.
func quantile(samples []time.Duration, q float64) time.Duration {
	if len(samples) == 0 {
		return 0
	}
	slices.Sort(samples)
	return samples[min(len(samples)-1, int(q*float64(len(samples))))]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// procStatus reads a size in KiB from /proc/<pid>/status, in MiB.
func procStatus(b *testing.B, pid int, key string) float64 {
	b.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if v, ok := strings.CutPrefix(line, key+":"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(v), "kB")), 64)
			if err != nil {
				b.Fatal(err)
			}
			return kib / 1024
		}
	}
	b.Fatalf("no %s in the status of %d", key, pid)
	return 0
}

// cpuSeconds returns the user and system time of a process itself, without its children.
func cpuSeconds(b *testing.B, pid int) float64 {
	b.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	f := strings.Fields(rest)
	var ticks float64
	for _, i := range []int{11, 12} {
		n, err := strconv.ParseFloat(f[i], 64)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	const ticksPerSecond = 100
	return ticks / ticksPerSecond
}
