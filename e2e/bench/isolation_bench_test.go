package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/platform/podmantest"
)

// row of the isolation, by level and profile.
type boundaryRow struct {
	name    string
	level   boundary.Level
	profile boundary.Profile
}

// starts measures starts of `true` in each level and profile, in turn with starts without any.
func starts() subject {
	return subject{name: "starts", sizes: []int{1}, open: func(b *testing.B) func(int) []probe {
		return func(int) (out []probe) {
			for _, r := range levels() {
				out = append(out, newBox(b, r.level, r.profile).compare("start, "+r.name, 20, "/bin/true"))
			}
			image, env := podmantest.Image(b, podmantest.Account{}, "true")
			name, value, _ := strings.Cut(env, "=")
			b.Setenv(name, value)
			inside := newBox(b, boundary.Namespaces, boundary.Profile{Image: image})
			return append(out, inside.compare("start, container", 2, "/bin/true"))
		}
	}}
}

// modules is starts with a module of Ansible.
func modules() subject {
	return subject{name: "modules", sizes: []int{1}, long: true, open: func(b *testing.B) func(int) []probe {
		return func(int) (out []probe) {
			for _, r := range levels() {
				out = append(out, newBox(b, r.level, r.profile).compare("module of Ansible, "+r.name, 1, "/usr/bin/ansible",
					"localhost", "-m", "ping"))
			}
			return out
		}
	}}
}

func levels() []boundaryRow {
	sealed := boundary.Profile{NoNetwork: true, ReadOnly: true, Hide: []string{"/home"}}
	rows := []boundaryRow{
		{"namespaces standard", boundary.Namespaces, boundary.Profile{}}, {"namespaces sealed", boundary.Namespaces, sealed},
	}
	if os.Geteuid() != 0 {
		return append(rows, boundaryRow{"landlock standard", boundary.Landlock, boundary.Profile{}})
	}
	return append(rows, boundaryRow{"users standard", boundary.Users, boundary.Profile{}},
		boundaryRow{"namespaces host", boundary.Namespaces, boundary.Profile{Host: true}}) // nobody else gives it
}

// box is a run's directory with its boundary.
type box struct {
	b        *testing.B
	boundary *boundary.Boundary
	account  *boundary.Account
	profile  boundary.Profile
	files    string
	env      []string
}

func newBox(b *testing.B, level boundary.Level, p boundary.Profile) *box {
	b.Helper()
	x := &box{b: b, profile: p}
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

// compare measures the processor time of a start, this process and all children included, beside that of a plain one.
func (x *box) compare(name string, n int, path string, args ...string) probe {
	var inside, plain []time.Duration
	each := func(took *[]time.Duration, start func()) float64 {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		before := ofChildren(x.b)
		return spent(x.b, os.Getpid(), n, func() {
			for range n {
				begin := time.Now()
				start()
				*took = append(*took, time.Since(begin))
			}
		}) + micro(ofChildren(x.b)-before, n)
	}
	return probe{rows: []row{{name, "us"}}, rounds: 5, round: func() []Round {
		return []Round{{each(&inside, func() { x.start(x.b, path, args) }), each(&plain, func() {
			c := &exec.Cmd{Path: path, Args: append([]string{path}, args...), Env: x.env, Dir: "/"}
			must(x.b, c.Run())
		})}}
	}, beside: func() string {
		return fmt.Sprintf("p50 %.1f ms, plain %.1f ms", ms(quantile(inside, 0.5)), ms(quantile(plain, 0.5)))
	}}
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
