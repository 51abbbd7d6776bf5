package probes

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/writ-automation/writ/ports/system"
)

const (
	mib = 1 << 20
	gib = 1 << 30
)

func TestDiskSpace(t *testing.T) {
	t.Parallel()
	volumes := map[string]volume{
		"roomy":   {device: 1, bytes: 100 * gib, freeBytes: 10 * gib, files: 1000, freeFiles: 100},
		"uncount": {device: 2, bytes: 100 * gib, freeBytes: 50 * gib},
		"unknown": {device: 9},
		"low":     {device: 3, bytes: 100 * gib, freeBytes: 10*gib - 1, files: 1000, freeFiles: 99},
		"small":   {device: 4, bytes: gib, freeBytes: gib - 1},
		"full":    {device: 5, bytes: 1000 * gib, freeBytes: 20*gib - 1, files: 1000, freeFiles: 19},
		"tiny":    {device: 6, bytes: 200 * mib, freeBytes: 100*mib - 1},
		"locked":  {device: 7, bytes: 100 * gib, freeBytes: 50 * gib, refuses: true},
		"frozen":  {device: 8, bytes: 100 * gib, freeBytes: 50 * gib, refuses: true, readOnly: true},
	}
	c, err := NewDisk(nil)
	if err != nil {
		t.Fatal(err)
	}
	c.measure = func(path string) (volume, error) {
		v, ok := volumes[path]
		if !ok {
			return v, errors.New("gone")
		}
		return v, nil
	}
	const (
		space  = "free or add space, or keep runs for a shorter time"
		inodes = "remove small files that nobody needs, or make a file system with more inodes"
	)
	for _, test := range []struct {
		paths []string
		want  []string
	}{
		{nil, nil},
		{[]string{"roomy", "uncount", "unknown"}, nil},
		{[]string{"low", "low"}, []string{
			"warning | use 0 | the file system of use 0, use 1 has 10239 MiB of 102400 MiB free | " + space,
			"warning | use 0 | the file system of use 0, use 1 has room for 99 more files of 1000 | " + inodes,
		}},
		{[]string{"small"}, []string{"warning | use 0 | the file system of use 0 has 1023 MiB of 1024 MiB free | " + space}},
		{[]string{"roomy", "full"}, []string{
			"error | use 1 | the file system of use 1 has 20479 MiB of 1024000 MiB free | " + space,
			"error | use 1 | the file system of use 1 has room for 19 more files of 1000 | " + inodes,
		}},
		{[]string{"tiny"}, []string{"error | use 0 | the file system of use 0 has 99 MiB of 200 MiB free | " + space}},
		{[]string{"locked", "frozen", "nowhere"}, []string{
			"error | use 0 | the use 0 locked cannot be written to | give it to the user that this server runs as",
			"error | use 1 | the use 1 frozen lies on a file system that is read-only | repair the file system and mount it " +
				"so that it can be written to",
			"error | use 2 | the use 2 nowhere cannot be looked at | make the directory again, or mount what it lies on",
		}},
	} {
		c.dirs = nil
		for i, p := range test.paths {
			c.dirs = append(c.dirs, Directory{Path: p, Use: fmt.Sprintf("use %d", i)})
		}
		examine(t, c, len(test.paths), test.want...)
	}
}

// TestDiskOfThisMachine measures real directories.
func TestDiskOfThisMachine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	v, err := measure(dir)
	if err != nil || v.bytes == 0 || v.freeBytes > v.bytes || v.readOnly || v.refuses {
		t.Errorf("%+v %v", v, err)
	}
	if other, err := measure(os.TempDir()); err != nil || other.device != v.device {
		t.Errorf("%+v %v", other, err)
	}
	if _, err := measure(filepath.Join(dir, "absent")); err == nil {
		t.Error("a directory that is not there was measured")
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := measure(file); err == nil {
		t.Error("a file was measured")
	}
	locked := filepath.Join(dir, "locked")
	if err := os.Mkdir(locked, 0o500); err != nil {
		t.Fatal(err)
	}
	// Root can access every directory.
	if v, err := measure(locked); err != nil || v.refuses != (os.Geteuid() != 0) {
		t.Errorf("%+v %v", v, err)
	}
	for _, bad := range []Directory{{Path: "x"}, {Use: "x"}} {
		if _, err := NewDisk([]Directory{bad}); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(at("good", 0o600), link); err != nil {
		t.Fatal(err)
	}
	k, err := NewKeys([]KeyFile{
		{at("read", 0o400), "signing key"}, {link, "signing key"}, {at("open", 0o640), "signing key"},
		{at("free", 0o604), "encryption key"},
		{filepath.Join(dir, "absent"), "encryption key"}, {dir, "encryption key"},
		{filepath.Join(dir, "good", "below"), "encryption key"},
	})
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	want := []string{
		"error | signing key | others may get at the file " + in("open") + " of the signing key: its mode is 0640 | " +
			"take the rights away with chmod 600, and think about a new key",
		"error | encryption key | others may get at the file " + in("free") + " of the encryption key: its mode is 0604 | " +
			"take the rights away with chmod 600, and think about a new key",
		"error | encryption key | the file " + in("absent") +
			" of the encryption key is missing | bring the file back from a backup before the server is started again",
		"error | encryption key | what " + dir +
			" is for the encryption key is no regular file | put a file with the key in its place",
		"error | encryption key | the file " + in("good/below") +
			" of the encryption key cannot be looked at | let this server's user pass the directories above it",
	}
	examine(t, k, 7, want...)

	k.files, k.user = k.files[:1], os.Geteuid()+1
	got, err := k.Examine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// Files of root are never reported; if the tests run as another user, the file belongs to a foreign user.
	if strangers := os.Geteuid() != 0; strangers != (len(got.Findings) == 1 &&
		got.Findings[0].Severity == system.Warning) {
		t.Errorf("%+v", got)
	}
	for _, bad := range []KeyFile{{Path: "x"}, {Use: "x"}} {
		if _, err := NewKeys([]KeyFile{bad}); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

// TestKeysOfSomebodyElse changes the owner of a file, if the tests have the permission.
func TestKeysOfSomebodyElse(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	owner := os.Geteuid()
	if owner == 0 {
		owner = 4711
		if err := os.Chown(path, owner, -1); err != nil {
			t.Fatal(err)
		}
	}
	k, err := NewKeys([]KeyFile{{path, "signing key"}})
	if err != nil {
		t.Fatal(err)
	}
	k.user = owner + 1
	examine(t, k, 1,
		fmt.Sprintf("warning | signing key | the file %s of the signing key belongs to the user %d, who is not the one "+
			"that this server runs as | give it to the user %d with chown", path, owner, owner+1))
}
