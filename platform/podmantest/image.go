// Package podmantest makes images for tests out of files of this machine, since tests reach no registry.
package podmantest

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Account is who has the images. The zero value is that of the test.
type Account struct {
	// Dir belongs to the account; empty makes one. As is the program that turns itself into another one as the account.
	Dir string
	As  []string
}

// Image makes an image of the named programs and absolute directories, with the libraries that they need. It returns
// its name with its digest, and the variable of the environment by which podman finds it. The test's end removes it.
func Image(t testing.TB, a Account, paths ...string) (image, env string) {
	t.Helper()
	if a.Dir == "" {
		a.Dir = t.TempDir()
	}
	file := filepath.Join(a.Dir, "storage.conf")
	text := fmt.Sprintf("[storage]\ndriver = \"overlay\"\ngraphroot = \"%[1]s/images\"\nrunroot = \"%[1]s/run\"\n", a.Dir)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil { //nolint:gosec // the account reads it
		t.Fatal(err)
	}
	t.Cleanup(func() { open(filepath.Join(a.Dir, "images")) })
	env = "CONTAINERS_STORAGE_CONF=" + file
	engine := append(slices.Clone(a.As), "unshare", "--mount")
	if len(a.As) > 0 || os.Geteuid() != 0 {
		engine = append(engine, "--map-root-user") // podman's own way leaves a process
	}
	engine = append(engine, "sh", "-c", `mount -t tmpfs locks /dev/shm && exec "$@"`, "sh", "podman",
		"--tmpdir="+a.Dir+"/tmp", "--events-backend=none", "--cgroup-manager=cgroupfs")
	tar := exec.Command("tar", "--owner=0", "--group=0", "-C", "/", "-cf", "-", "-T", "-")
	tar.Stdin = strings.NewReader(strings.Join(files(t, paths), "\n") + "\n")
	run(t, env, a.Dir, append(slices.Clone(engine), "import", "-", "localhost/writ-test:1"), tar)
	digest := run(t, env, a.Dir, append(engine, "images", "--digests", "--format={{.Digest}}"), nil)
	return "localhost/writ-test@" + strings.TrimSpace(digest), env
}

// open makes all directories removable, also those that the image closes.
func open(dir string) {
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, _ error) error {
		if e != nil && e.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // it is removed
		}
		return nil
	})
}

// run executes a program, whose input is the output of another one.
func run(t testing.TB, env, dir string, args []string, from *exec.Cmd) string {
	t.Helper()
	c := exec.Command(args[0], args[1:]...)
	c.Env = append(os.Environ(), env, "HOME="+dir, "XDG_RUNTIME_DIR="+dir)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	ended := func() error { return nil }
	if from != nil {
		pipe, err := from.StdoutPipe()
		if err = errors.Join(err, from.Start()); err != nil {
			t.Fatal(err)
		}
		c.Stdin = pipe
		ended = func() error { return errors.Join(pipe.Close(), from.Wait()) } // it may not have been read to its end
	}
	err := c.Run()
	if err = errors.Join(err, ended()); err != nil {
		t.Fatalf("%v: %v\n%s\n(make setup installs podman)", args, err, errs.Bytes())
	}
	return out.String()
}

// files lists what the paths need, relative to the root and without links of directories in them.
func files(t testing.TB, paths []string) []string {
	t.Helper()
	c := collection{t: t, seen: map[string]bool{}}
	for _, path := range []string{"/bin", "/sbin", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/passwd", "/etc/group"} {
		if info, err := os.Lstat(path); err == nil && !info.IsDir() {
			c.seen[path] = true
		}
	}
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			program, err := exec.LookPath(path)
			if err != nil {
				t.Fatalf("%v; make setup installs what tests need", err)
			}
			c.add(program)
			continue
		}
		err := filepath.WalkDir(path, func(path string, e fs.DirEntry, err error) error {
			switch {
			case err == nil && e.Name() == "__pycache__":
				return fs.SkipDir
			case err == nil && !e.IsDir():
				c.add(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var out []string
	for path := range c.seen {
		out = append(out, path[1:])
	}
	slices.Sort(out)
	return out
}

// collection is a set of files with all that they need.
type collection struct {
	t    testing.TB
	seen map[string]bool
}

// add adds a file, what it links to, and the libraries of a program.
func (c collection) add(path string) {
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		c.t.Fatal(err)
	}
	path = filepath.Join(dir, filepath.Base(path))
	if c.seen[path] {
		return
	}
	c.seen[path] = true
	if to, err := os.Readlink(path); err == nil {
		if !filepath.IsAbs(to) {
			to = filepath.Join(dir, to)
		}
		if _, err := os.Stat(to); err == nil {
			c.add(to)
		}
		return
	}
	f, err := elf.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			name, _ := io.ReadAll(p.Open())
			c.add(string(bytes.TrimRight(name, "\x00")))
		}
	}
	needed, _ := f.ImportedLibraries()
	for _, name := range needed {
		for _, dir := range []string{"/lib/*-linux-gnu", "/usr/lib/*-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"} {
			if found, _ := filepath.Glob(filepath.Join(dir, name)); len(found) > 0 {
				c.add(found[0])
				break
			}
		}
	}
}
