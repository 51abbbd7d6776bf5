package boundary

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/writ-automation/writ/platform/boundary/internal/child"
)

// containerStep is the step in which the engine starts a container.
const containerStep = "start a container with podman"

// stateAt is where the engine sees its files: socket paths are short, and /dev/shm is its own.
const stateAt = "/dev/shm/writ"

// container is what belongs to the start of a container.
type container struct {
	inner *Start // of the tool, in the container
	state string // the files of the engine
	errs  *os.File
}

func (c *container) close() {
	if c == nil {
		return
	}
	c.inner.Close()
	_ = errors.Join(c.errs.Close(), os.RemoveAll(c.state)) // what is left goes with the directory of the run
}

// reason returns what the engine wrote about its failure.
func (c *container) reason() error {
	text := make([]byte, 4<<10)
	n, err := c.errs.ReadAt(text, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read what it wrote: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(text[:n])), "\n")
	for _, line := range lines {
		if message, ok := strings.CutPrefix(line, "Error: "); ok {
			return errors.New(message)
		}
	}
	return errors.New(cmp.Or(lines[len(lines)-1], "it ended before the container had begun"))
}

// contain returns the start of an engine that starts a container. The engine executes in namespaces of its own, so that
// everything ends with them, and keeps its files in the directory of the run: nothing of a container outlasts the run.
// In the container this program starts the tool, by a plan of its own.
func (b *Boundary) contain(p *child.Plan, c Command) (_ *Start, err error) {
	e, err := b.engine()
	if err != nil {
		return nil, err
	}
	p.Scope, p.Filter = b.status.Scoped, b.status.Filtered
	p.PIDNamespace, p.Loopback = true, false
	p.Output = child.FirstFile + p.Files
	k := &container{}
	if k.inner, err = order(p); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			k.close()
		}
	}()
	if k.errs, err = memory("errors", 0); err != nil {
		return nil, fmt.Errorf("make a file for errors: %w", err)
	}
	if k.state, err = os.MkdirTemp(filepath.Dir(c.Home), "container-"); err != nil {
		return nil, fmt.Errorf("make a directory for the container: %w", err)
	}
	files := append([]*os.File{c.Files[0], c.Files[0], k.errs, k.inner.plan, k.inner.status}, c.Files[3:]...)
	files = append(files, c.Files[1], c.Files[2], b.file)
	args, err := b.arguments(c, e, k.state, len(files)-3)
	if err != nil {
		return nil, err
	}
	outer := Command{
		Path: e.path, Files: files, Profile: Profile{Image: c.Profile.Image, SharedMemory: stateShared, Hide: c.Profile.Hide},
		Show: append(b.shown(c), Path{Name: k.state, At: stateAt, Write: true}, Path{Name: e.store}),
	}
	mounts, err := b.mounts(outer)
	if err != nil {
		return nil, err
	}
	s, err := b.start(&child.Plan{
		Path: e.path, Dir: "/", Args: append([]string{e.path}, args...), Env: e.environ(), UID: -1, GID: -1,
		Files: len(files) - 3, PIDNamespace: true, Free: true, Mounts: append(mounts, ungrouped),
	}, outer)
	if err != nil {
		return nil, err
	}
	s.container = k
	return s, nil
}

// stateShared is the size of the engine's own shared memory.
const stateShared = 16 << 20

// ungrouped hides the second version of control groups where the first one is in use as well: crun refuses to start
// there, although it makes no group.
var ungrouped = child.Mount{Kind: child.Memory, From: maskOptions, To: "/sys/fs/cgroup/unified"}

// arguments returns those of the engine, whose directory is state, for a container with a number of descriptors, the
// last of which is this program.
func (b *Boundary) arguments(c Command, e engine, state string, files int) ([]string, error) {
	p := c.Profile
	uid, gid, id := os.Getuid(), os.Getgid(), strconv.Itoa
	if c.Account.Own() {
		uid, gid = c.Account.UID, c.Account.GID
	}
	args := []string{
		"--root", stateAt + "/root", "--runroot", stateAt + "/run", "--tmpdir", stateAt + "/tmp",
		"--runtime-flag", "root=" + stateAt + "/runtime", "--storage-driver", e.driver,
		"--storage-opt", e.driver + ".imagestore=" + e.store, "--cgroup-manager=cgroupfs", "--events-backend=none",
		"run", "--rm", "--pull=never", "--cap-drop=all", "--security-opt=no-new-privileges",
		"--security-opt=label=disable", "--cgroups=disabled", "--log-driver=none", "--systemd=false", "--http-proxy=false",
		"--no-healthcheck", "--image-volume=ignore", "--workdir=/", "--user=" + id(uid) + ":" + id(gid),
		"--preserve-fds=" + id(files), "--env=" + child.Marker, "--entrypoint=[\"" + child.SelfFD + id(files+2) + "\"]",
		"--passwd-entry=writ-run:x:" + id(uid) + ":" + id(gid) + ":a run:" + filepath.Join(c.Home, "work") + ":/bin/sh",
		"--shm-size=" + strconv.FormatInt(cmp.Or(p.SharedMemory, b.config.SharedMemory, defaultShared), 10) + "b",
	}
	if os.Getuid() != 0 { // the only account of the engine's namespace, under its own number
		args = append(args, "--uidmap="+id(uid)+":0:1", "--gidmap="+id(gid)+":0:1")
	}
	if p.NoNetwork { // the engine permits pings to the group 0, which there may be none of
		args = append(args, "--network=none", "--sysctl=net.ipv4.ping_group_range="+id(gid)+" "+id(gid))
	} else {
		args = append(args, "--network=host")
	}
	if p.ReadOnly {
		args = append(args, "--read-only", "--read-only-tmpfs=false")
	}
	for _, g := range p.Groups {
		args = append(args, "--group-add="+id(g))
	}
	limits, err := b.ulimits(c)
	if err != nil {
		return nil, err
	}
	binds, err := b.binds(c, state)
	if err != nil {
		return nil, err
	}
	return append(append(append(args, limits...), binds...), p.Image), nil
}

// ulimits gives a container the limits of this process. The engine's own are above them, and refused without a right.
func (b *Boundary) ulimits(c Command) ([]string, error) {
	var out []string
	for _, l := range []struct {
		name string
		kind int
	}{{"nofile", unix.RLIMIT_NOFILE}, {"nproc", unix.RLIMIT_NPROC}} {
		var limit unix.Rlimit
		if err := unix.Getrlimit(l.kind, &limit); err != nil {
			return nil, fmt.Errorf("read the limit %s: %w", l.name, err)
		}
		most := strconv.FormatInt(int64(limit.Max), 10) //nolint:gosec // no limit is -1, as the engine writes it
		if n := cmp.Or(c.Profile.Processes, b.config.Processes); l.name == "nproc" && n > 0 && c.Account.Own() {
			most = strconv.Itoa(n)
		}
		out = append(out, "--ulimit="+l.name+"="+most+":"+most)
	}
	return out, nil
}

// engine is the program that starts containers, and where it keeps its images.
type engine struct{ path, store, driver string }

// findEngine finds podman and the images of this account.
func findEngine() (engine, error) {
	path, err := exec.LookPath("podman")
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return engine{}, errors.New("podman is not installed on this machine, or not on the PATH of the server; " +
			"install the package podman")
	}
	e := engine{path: path, store: imageStore()}
	for _, driver := range []string{"overlay", "vfs"} {
		if _, err := os.Stat(filepath.Join(e.store, driver+"-images")); err == nil {
			e.driver = driver
			return e, nil
		}
	}
	return engine{}, fmt.Errorf("the account of the server has no images in %s; get one by podman pull or podman load, "+
		"with the storage driver overlay", e.store)
}

// imageStore returns where podman keeps the images of this account, by the rules of containers-storage.conf(5).
func imageStore() string {
	home, _ := os.UserHomeDir()
	files := []string{"/usr/share/containers/storage.conf", "/etc/containers/storage.conf"}
	store, key := "/var/lib/containers/storage", "graphroot"
	if os.Getuid() != 0 {
		store = filepath.Join(cmp.Or(os.Getenv("XDG_DATA_HOME"), filepath.Join(home, ".local/share")), "containers/storage")
		key = "rootless_storage_path"
		files = append(files, filepath.Join(configHome(), "containers/storage.conf"))
	}
	if own := os.Getenv("CONTAINERS_STORAGE_CONF"); own != "" {
		files = append(files, own)
	}
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if i > 1 {
			key = "graphroot" // the account's own file
		}
		if value := setting(string(text), key); value != "" {
			store = value
		}
	}
	return real(os.ExpandEnv(store))
}

// configHome is where this account has settings of programs.
func configHome() string {
	home, _ := os.UserHomeDir()
	return cmp.Or(os.Getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config"))
}

// setting returns a text of a file in the format TOML whose keys are unique.
func setting(text, key string) string {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, "=")
		if f := strings.FieldsFunc(value, func(r rune) bool { return r == '"' || r == '\'' }); len(f) > 1 &&
			strings.TrimSpace(name) == key {
			return f[1]
		}
	}
	return ""
}

// environ returns the environment of the engine, which gets nothing of the run's.
func (e engine) environ() []string {
	out := []string{"HOME=" + stateAt, "TMPDIR=" + stateAt, "XDG_RUNTIME_DIR=" + stateAt, "LANG=C.UTF-8"}
	for _, name := range []string{"PATH", "CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF"} {
		if value := os.Getenv(name); value != "" {
			out = append(out, name+"="+value)
		}
	}
	if _, err := os.Stat(filepath.Join(configHome(), "containers")); err == nil {
		out = append(out, "XDG_CONFIG_HOME="+configHome())
	}
	return out
}

// containerRemedy says what can be done about a failure of the engine.
func containerRemedy(text string) string {
	for _, known := range []struct{ part, remedy string }{
		{"image not known", "get the image for the account of the server by podman pull or podman load"},
		{"no such image", "get the image for the account of the server by podman pull or podman load"},
		{"conmon", "install the package conmon"},
		{"not found: invalid argument", "install the package crun"}, // of the runtime
	} {
		if strings.Contains(text, known.part) {
			return known.remedy
		}
	}
	return "see whether the account of the server can start the image by podman run --rm --network=host"
}
