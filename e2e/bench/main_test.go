package bench

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/writ-automation/writ/e2e/harness"
)

func TestMain(m *testing.M) {
	if driver := os.Getenv(baselineDriver); driver != "" {
		if err := serveBaseline(driver, os.Getenv(baselineURL)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(harness.Main(m))
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

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
	must(b, err)
	for line := range strings.Lines(string(raw)) {
		if v, ok := strings.CutPrefix(line, key+":"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(v), "kB")), 64)
			must(b, err)
			return kib / 1024
		}
	}
	b.Fatalf("no %s in the status of %d", key, pid)
	return 0
}

// peakMemory returns the most memory in MiB that a process had while fn ran.
func peakMemory(b *testing.B, pid int, fn func()) float64 {
	b.Helper()
	must(b, os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0))
	fn()
	return procStatus(b, pid, "VmHWM")
}

// processorTime returns the user and system time of a process itself, without its children, from its clock: what
// /proc/<pid>/stat says, in nanoseconds instead of hundredths of a second.
func processorTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	const scheduled = 2 // the kind of clock that the scheduler keeps
	var t unix.Timespec
	must(b, unix.ClockGettime(int32(^pid<<3|scheduled), &t))
	return time.Duration(t.Nano())
}

// spent returns the processor time that a process takes while fn runs, in microseconds for each of n operations.
func spent(b *testing.B, pid, n int, fn func()) float64 {
	b.Helper()
	before := processorTime(b, pid)
	fn()
	return micro(processorTime(b, pid)-before, n)
}

func micro(d time.Duration, n int) float64 {
	return float64(d) / float64(time.Microsecond) / float64(n)
}

// ofChildren is the processor time of the awaited children of this process, with theirs.
func ofChildren(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	must(b, unix.Getrusage(unix.RUSAGE_CHILDREN, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
