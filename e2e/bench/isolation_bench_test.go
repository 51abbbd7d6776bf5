package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/writ-automation/writ/platform/boundary"
)

// BenchmarkIsolation starts a program in each level and profile, in turn with a start without any: `true`, of which 50
// are one after the other in a round, and one module of Ansible.
func BenchmarkIsolation(b *testing.B) {
	weak := boundary.Landlock
	if os.Geteuid() == 0 {
		weak = boundary.Users
	}
	type row struct {
		name    string
		level   boundary.Level
		profile boundary.Profile
	}
	sealed := boundary.Profile{NoNetwork: true, ReadOnly: true, Hide: []string{"/home"}}
	rows := []row{
		{"namespaces-standard", boundary.Namespaces, boundary.Profile{}}, {"namespaces-sealed", boundary.Namespaces, sealed},
		{string(weak) + "-standard", weak, boundary.Profile{}},
	}
	if os.Geteuid() == 0 { // nobody else gives it
		rows = append(rows, row{"namespaces-host", boundary.Namespaces, boundary.Profile{Host: true}})
	}
	for _, c := range rows {
		b.Run(c.name, func(b *testing.B) {
			box := newBox(b, c.level, c.profile)
			for name, w := range map[string]struct {
				path string
				args []string
				n    int
			}{
				"true": {"/bin/true", nil, 50}, "ansible": {"/usr/bin/ansible", []string{"localhost", "-m", "ping"}, 1},
			} {
				b.Run(name, func(b *testing.B) { box.compare(b, w.n, w.path, w.args...) })
			}
		})
	}
}

// box is a run's directory with its boundary.
type box struct {
	boundary *boundary.Boundary
	account  *boundary.Account
	profile  boundary.Profile
	files    string
	env      []string
}

func newBox(b *testing.B, level boundary.Level, p boundary.Profile) *box {
	b.Helper()
	x := &box{profile: p}
	var err error
	x.boundary, err = boundary.Open(boundary.Config{Mode: boundary.Auto, Only: level, Hide: []string{"/srv"}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = x.boundary.Close() })
	if s := x.boundary.Status(); s.Level != level {
		b.Fatalf("the level is %s: %s", s.Level, s.Reason)
	}
	if x.account, err = x.boundary.Lease(""); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = x.account.Close() })
	dir, err := os.MkdirTemp("", "writ-bench-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	x.files = filepath.Join(dir, "files")
	must(b, os.Chmod(dir, 0o711)) //nolint:gosec // runs pass it
	must(b, os.Mkdir(x.files, 0o711))
	for _, name := range []string{"work", "tmp"} {
		path := filepath.Join(x.files, name)
		must(b, os.Mkdir(path, 0o700))
		if x.account.Own() {
			must(b, os.Chown(path, x.account.UID, x.account.GID))
		}
	}
	x.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(x.files, "work")}
	return x
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// compare reports the time and the processor time of a start, this process and all children included, beside those of
// a plain one.
func (x *box) compare(b *testing.B, n int, path string, args ...string) {
	var inside, plain []time.Duration
	var cpuInside, cpuPlain time.Duration
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for b.Loop() {
		before := processor(b)
		for range n {
			start := time.Now()
			x.start(b, path, args)
			inside = append(inside, time.Since(start))
		}
		between := processor(b)
		for range n {
			start := time.Now()
			c := &exec.Cmd{Path: path, Args: append([]string{path}, args...), Env: x.env, Dir: "/"}
			must(b, c.Run())
			plain = append(plain, time.Since(start))
		}
		cpuInside, cpuPlain = cpuInside+between-before, cpuPlain+processor(b)-between
	}
	starts := float64(len(inside))
	b.ReportMetric(total(inside)/total(plain), "ratio")
	b.ReportMetric(ms(quantile(inside, 0.5)), "ms-p50")
	b.ReportMetric(ms(quantile(plain, 0.5)), "ms-p50-plain")
	b.ReportMetric(ms(cpuInside)/starts, "ms-cpu")
	b.ReportMetric(ms(cpuPlain)/starts, "ms-cpu-plain")
}

func total(list []time.Duration) (sum float64) {
	for _, d := range list {
		sum += ms(d)
	}
	return sum
}

// processor is the processor time of this process and of the children that it awaited, with theirs.
func processor(b *testing.B) (sum time.Duration) {
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		must(b, unix.Getrusage(who, &u))
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum
}

// start executes a program inside.
func (x *box) start(b *testing.B, path string, args []string) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	must(b, err)
	defer null.Close()
	s, err := x.boundary.Prepare(boundary.Command{Path: path, Args: args, Env: x.env, Dir: "/",
		Files: []*os.File{null, null, null}, Account: x.account, Home: x.files, Profile: x.profile})
	must(b, err)
	defer s.Close()
	p, err := os.StartProcess(s.Path, s.Argv, s.Attr)
	must(b, err)
	s.Started()
	state, err := p.Wait()
	must(b, err)
	must(b, s.Failure())
	if !state.Success() {
		b.Fatalf("%s ended with %s", path, state)
	}
}
