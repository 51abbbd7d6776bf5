package proc_test

import (
	"os/exec"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/writ-automation/writ/adapters/tools/proc"
)

// parallelism is the number of concurrent commands for each core.
const parallelism = 16

// BenchmarkRawSpawn is the baseline: a bare loop that starts bash and waits for it.
func BenchmarkRawSpawn(b *testing.B) {
	b.SetParallelism(parallelism)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := exec.Command("/bin/bash", "-c", "true").Run(); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkTrivial(b *testing.B) { trivial(b, proc.Config{Groups: groups(b)}) }

func BenchmarkTrivialMarker(b *testing.B) { trivial(b, proc.Config{}) }

type counter int

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

func trivial(b *testing.B, c proc.Config) {
	r := newRunner(b, c)
	dir := b.TempDir()
	b.SetParallelism(parallelism)
	var ids atomic.Int64
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			var out counter
			code, err := r.Run(b.Context(), proc.Command{
				Path: "/bin/bash", Args: []string{"-c", "true"}, Dir: dir, Stdout: &out,
				Env: []string{"PATH=/usr/bin:/bin", proc.RunIDVar + "=" + strconv.FormatInt(ids.Add(1), 10)},
			})
			if code != 0 || err != nil {
				b.Error(code, err)
			}
		}
	})
}
