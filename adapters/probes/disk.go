package probes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/writ-automation/writ/ports/system"
)

// The required free space of a file system, in percent and in bytes.
const (
	lowShare   = 10
	leastShare = 2
	lowBytes   = 1 << 30
	leastBytes = 100 << 20
)

// Directory is a directory that the server writes to, and its use, such as "data directory".
type Directory struct{ Path, Use string }

// Disk checks the free space of directories, in bytes and in files, and whether they are writable.
type Disk struct {
	dirs    []Directory
	measure func(path string) (volume, error)
}

// volume is the file system of a directory, as available to this user. Values that the file system does not report are
// 0.
type volume struct {
	device            uint64
	bytes, freeBytes  uint64
	files, freeFiles  uint64
	readOnly, refuses bool
}

var _ system.Check = (*Disk)(nil)

// NewDisk returns the check for the directories. It returns an error for a directory without a path or a use.
func NewDisk(dirs []Directory) (*Disk, error) {
	for _, d := range dirs {
		if d.Path == "" || d.Use == "" {
			return nil, errors.New("probes: a directory lacks a path or a use")
		}
	}
	return &Disk{dirs: dirs, measure: measure}, nil
}

func (*Disk) Name() string { return "disk" }

// Directories on one file system share their findings.
func (c *Disk) Examine(ctx context.Context) (system.Examination, error) {
	var out system.Examination
	var order []uint64
	volumes, uses := map[uint64]volume{}, map[uint64][]Directory{}
	for _, d := range c.dirs {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		out.Examined++
		v, err := c.measure(d.Path)
		if err != nil {
			out.Findings = append(out.Findings, unusable(d, "cannot be looked at",
				"make the directory again, or mount what it lies on"))
			continue
		}
		switch {
		case v.readOnly:
			out.Findings = append(out.Findings, unusable(d, "lies on a file system that is read-only",
				"repair the file system and mount it so that it can be written to"))
		case v.refuses:
			out.Findings = append(out.Findings, unusable(d, "cannot be written to",
				"give it to the user that this server runs as"))
		}
		if _, seen := volumes[v.device]; !seen {
			volumes[v.device] = v
			order = append(order, v.device)
		}
		uses[v.device] = append(uses[v.device], d)
	}
	for _, device := range order {
		out.Findings = append(out.Findings, volumes[device].findings(uses[device])...)
	}
	return out, nil
}

func unusable(d Directory, problem, fix string) system.Finding {
	return system.Finding{
		Severity: system.Error, Object: directory(d), Problem: fmt.Sprintf("the %s %s %s", d.Use, d.Path, problem), Fix: fix,
	}
}

func directory(d Directory) system.Subject {
	return system.Subject{Kind: "directory", ID: d.Path, Name: d.Use}
}

// findings returns the findings about the free space of a file system with these directories.
func (v volume) findings(used []Directory) []system.Finding {
	names := make([]string, 0, len(used))
	for _, d := range used {
		names = append(names, d.Use)
	}
	on := strings.Join(names, ", ")
	var out []system.Finding
	if s := short(v.freeBytes, v.bytes, lowBytes, leastBytes); v.bytes > 0 && s != "" {
		out = append(out, system.Finding{
			Severity: s, Object: directory(used[0]),
			Problem: fmt.Sprintf("the file system of %s has %d MiB of %d MiB free", on, v.freeBytes>>20, v.bytes>>20),
			Fix:     "free or add space, or keep runs for a shorter time",
		})
	}
	if s := short(v.freeFiles, v.files, 0, 0); v.files > 0 && s != "" {
		out = append(out, system.Finding{
			Severity: s, Object: directory(used[0]),
			Problem: fmt.Sprintf("the file system of %s has room for %d more files of %d", on, v.freeFiles, v.files),
			Fix:     "remove small files that nobody needs, or make a file system with more inodes",
		})
	}
	return out
}

// short returns the severity of a shortage of free space; empty if there is enough.
func short(free, whole, low, least uint64) system.Severity {
	share := float64(free) * 100
	switch {
	case share < leastShare*float64(whole) || free < least:
		return system.Error
	case share < lowShare*float64(whole) || free < low:
		return system.Warning
	default:
		return ""
	}
}

// measure examines a directory. Space that is reserved for root counts neither as free nor in the total.
func measure(path string) (volume, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return volume{}, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return volume{}, unix.ENOTDIR
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return volume{}, err
	}
	block := cmp.Or(uint64(fs.Frsize), uint64(fs.Bsize))
	v := volume{
		device: uint64(st.Dev), bytes: (fs.Blocks - fs.Bfree + fs.Bavail) * block, freeBytes: fs.Bavail * block,
		files: fs.Files, freeFiles: fs.Ffree, readOnly: fs.Flags&unix.ST_RDONLY != 0,
	}
	v.refuses = unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK|unix.X_OK, unix.AT_EACCESS) != nil
	return v, nil
}
