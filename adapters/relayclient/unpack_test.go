package relayclient

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
)

// small are bounds that a test reaches.
func small() bounds { return bounds{entries: 20, bytes: 10_000, name: 200, names: 1500, depth: 8} }

func regular(name, text string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(text)),
		PAXRecords: map[string]string{"WRIT.text": text}}
}

func folder(name string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o755}
}

func symlink(name, target string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: target}
}

func special(name string, kind byte) tar.Header {
	return tar.Header{Name: name, Typeflag: kind, Linkname: "project/a", Devmajor: 1, Devminor: 3}
}

// packed makes an archive of entries; the text of a file stands in a record of its header.
func packed(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range entries {
		text := h.PAXRecords["WRIT.text"]
		h.PAXRecords = nil
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// picture describes the content of a directory: modes, texts and link targets.
func picture(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		text := ""
		switch {
		case info.Mode().IsRegular():
			raw, failed := os.ReadFile(path)
			text, err = string(raw), failed
		case info.Mode()&fs.ModeSymlink != 0:
			out[rel], err = os.Readlink(path)
			out[rel] = "-> " + out[rel]
			return err
		}
		out[rel] = info.Mode().String() + " " + text
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestUnpack(t *testing.T) {
	t.Parallel()
	mode := func(h tar.Header, mode int64) tar.Header { h.Mode = mode; return h }
	raw := packed(t,
		tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "c0ffee"}},
		folder("project/"), mode(folder("project/d/"), 0o777), regular("project/d/a", "A"),
		mode(regular("project/run.sh", "#!"), 0o4777),
		mode(regular("project/ro", "R"), 0o444), mode(regular("project/shut", "S"), 0o000),
		regular("project/deep/er/ö \\n.yml", "D"),
		symlink("project/l", "d/a"), symlink("project/d/up", "../run.sh"), symlink("project/d/none", "not/there"),
		symlink("project/self", "self"),
		regular("collections/ansible_collections/x/y/MANIFEST.json", "{}"),
		symlink("collections/ansible_collections/z", "./x"),
		regular("project/"+strings.Repeat("long/", 6)+strings.Repeat("n", 120), "L"), regular("project/empty", ""),
	)
	dir := filepath.Join(t.TempDir(), "project")
	deps, err := unpack(t.Context(), iotest.HalfReader(bytes.NewReader(append(raw, make([]byte, 8192)...))), dir, small())
	if err != nil || deps != (catalog.Deps{Collections: dir + ".collections"}) {
		t.Fatalf("%+v %v", deps, err)
	}
	want := map[string]string{
		"project": "drwx------ ", "project/d": "drwx------ ", "project/d/a": "-rw-r--r-- A",
		"project/run.sh": "-rwxr-xr-x #!", "project/ro": "-rw-r--r-- R",
		"project/shut": "-rw------- S", "project/deep": "drwx------ ", "project/deep/er": "drwx------ ",
		"project/deep/er/ö \\n.yml": "-rw-r--r-- D",
		"project/l":                 "-> d/a", "project/d/up": "-> ../run.sh", "project/d/none": "-> not/there",
		"project/self": "-> self", "project/empty": "-rw-r--r-- ",
		"project.collections": "drwx------ ", "project.collections/ansible_collections": "drwx------ ",
		"project.collections/ansible_collections/x":                 "drwx------ ",
		"project.collections/ansible_collections/x/y":               "drwx------ ",
		"project.collections/ansible_collections/x/y/MANIFEST.json": "-rw-r--r-- {}",
		"project.collections/ansible_collections/z":                 "-> ./x",
	}
	at := "project"
	for range 6 {
		at += "/long"
		want[at] = "drwx------ "
	}
	want[at+"/"+strings.Repeat("n", 120)] = "-rw-r--r-- L"
	if diff := cmp.Diff(want, picture(t, filepath.Dir(dir))); diff != "" {
		t.Error(diff)
	}
}

func TestNothingToUnpack(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "project")
	deps, err := unpack(t.Context(), bytes.NewReader(make([]byte, 1024)), dir, small())
	if entries, read := os.ReadDir(dir); err != nil || read != nil || len(entries) != 0 || deps != (catalog.Deps{}) {
		t.Errorf("%v %+v %v %v", entries, deps, err, read)
	}
}

func TestArchivesThatAreRefused(t *testing.T) {
	t.Parallel()
	many := make([]tar.Header, 21)
	for i := range many {
		many[i] = regular(fmt.Sprint("project/", i), "")
	}
	for name, entries := range map[string][]tar.Header{
		"up":                         {regular("project/../../x", "x")},
		"up from nowhere":            {regular("../x", "x")},
		"up within":                  {regular("project/a/../b", "x")},
		"absolute":                   {regular("/etc/x", "x")},
		"absolute behind":            {regular("project//etc/x", "x")},
		"a dot":                      {regular("./project/x", "x")},
		"another folder":             {regular("projects/x", "x")},
		"no folder":                  {regular("x", "x")},
		"a folder that is a file":    {regular("project", "x")},
		"a folder that is a link":    {symlink("roles", "/etc")},
		"a link out":                 {symlink("project/l", "../x")},
		"a link out further in":      {symlink("project/d/l", "../../x")},
		"an absolute link":           {symlink("project/l", "/etc/passwd")},
		"a link to the other folder": {symlink("project/l", "../project.roles/x"), regular("roles/x", "")},
		"a link out behind nothing":  {symlink("project/l", "not/there/../../../x")},
		"a link out by another": {folder("project/d/"), symlink("project/d/up", ".."),
			symlink("project/l", "d/up/../x")},
		"a link out by a later one":   {symlink("project/l", "d/up/../x"), symlink("project/d/up", "..")},
		"through a link":              {folder("project/d/"), symlink("project/l", "d"), regular("project/l/x", "x")},
		"through a link into nothing": {symlink("project/l", "d"), regular("project/l/x", "x")},
		"a directory over a link":     {symlink("project/l", "d"), folder("project/l/")},
		"a file over a link":          {regular("project/a", "a"), symlink("project/l", "a"), regular("project/l", "x")},
		"a link over a link":          {symlink("project/l", "a"), symlink("project/l", "b")},
		"a link over a file":          {regular("project/a", "a"), symlink("project/a", "b")},
		"a file twice":                {regular("project/a", "a"), regular("project/a", "b")},
		"a file over a directory":     {folder("project/a/"), regular("project/a", "b")},
		"a directory over a file":     {regular("project/a", "a"), folder("project/a/")},
		"a file below a file":         {regular("project/a", "a"), regular("project/a/b", "b")},
		"a hard link":                 {regular("project/a", "a"), special("project/b", tar.TypeLink)},
		"a character device":          {special("project/a", tar.TypeChar)},
		"a block device":              {special("project/a", tar.TypeBlock)},
		"a pipe":                      {special("roles/a", tar.TypeFifo)},
		"too many":                    many,
		"too large": {regular("project/a", strings.Repeat("x", 5001)),
			regular("roles/b", strings.Repeat("x", 5000))},
		"a name too long": {regular("project/"+strings.Repeat("x/", 100)+"y", "")},
		"a part too long": {regular("project/"+strings.Repeat("x", 190), ""),
			regular("project/"+strings.Repeat("y", 260), "")},
		"a target too long": {symlink("project/l", strings.Repeat("x", 201))},
		"too many names": {regular("project/"+strings.Repeat("a", 190), ""),
			regular("roles/"+strings.Repeat("b", 192), "")},
		"too deep": {regular("project/"+strings.Repeat("x/", 9)+"y", "")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			b := small()
			if name == "too many names" {
				b.names = 300
			}
			deps, err := unpack(t.Context(), bytes.NewReader(packed(t, entries...)), filepath.Join(base, "project"), b)
			if !catalog.SyncFailed.Is(err) || deps != (catalog.Deps{}) {
				t.Errorf("%+v %v", deps, err)
			}
			if left := picture(t, base); len(left) != 0 {
				t.Errorf("left are %v", left)
			}
		})
	}
}

// Nothing remains of an archive with an incomplete end.
func TestArchivesThatBreakOff(t *testing.T) {
	t.Parallel()
	raw := packed(t,
		folder("project/d/"), regular("project/"+strings.Repeat("d/", 4)+strings.Repeat("n", 150), strings.Repeat("x", 700)),
		regular("project/zeros", strings.Repeat("\x00", 4096)), symlink("roles/l", "d"),
		regular("roles/z", strings.Repeat("\x00", 2048)),
	)
	base := t.TempDir()
	for n := 0; n < len(raw); n += 128 {
		_, err := unpack(t.Context(), bytes.NewReader(raw[:n]), filepath.Join(base, "project"), small())
		if !fault.Is(err, fault.Unavailable) {
			t.Fatalf("%d of %d bytes: %v", n, len(raw), err)
		}
		if left := picture(t, base); len(left) != 0 {
			t.Fatalf("%d of %d bytes: left are %v", n, len(raw), left)
		}
	}
	for name, bad := range map[string][]byte{
		"an error at the end": append(bytes.Clone(raw), make([]byte, 512)...), "no archive": bytes.Repeat([]byte("x"), 4096),
		"a wrong sum": append([]byte("x"), raw[1:]...),
	} {
		r := iotest.TimeoutReader(bytes.NewReader(bad))
		if _, err := unpack(t.Context(), r, filepath.Join(base, "project"), small()); !fault.Is(err, fault.Unavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	endless := append(bytes.Clone(raw), make([]byte, maxExcess+10_240)...)
	if _, err := unpack(t.Context(), bytes.NewReader(endless), filepath.Join(base, "project"),
		small()); !catalog.SyncFailed.Is(err) {
		t.Errorf("an archive without an end: %v", err)
	}
	if left := picture(t, base); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
}

// sparse is a header that says a few bytes are a large file.
func TestFilesWithHoles(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	record := func(k, v string) string {
		for n := len(k) + len(v) + 3; ; n++ {
			if s := fmt.Sprintf("%d %s=%s\n", n, k, v); len(s) == n {
				return s
			}
		}
	}
	text := record("GNU.sparse.major", "0") + record("GNU.sparse.minor", "1") + record("GNU.sparse.size", "9000") +
		record("GNU.sparse.numblocks", "1") + record("GNU.sparse.map", "0,1") + record("GNU.sparse.name", "project/hole")
	whole := packed(t, regular("project/x", text))
	copy(whole[156:], "x") // an extended header
	sum := 0
	copy(whole[148:156], "        ")
	for _, c := range whole[:512] {
		sum += int(c)
	}
	copy(whole[148:156], fmt.Sprintf("%06o\x00 ", sum))
	b.Write(whole[:1024])
	b.Write(packed(t, regular("project/hole", "h")))
	base := t.TempDir()
	if _, err := unpack(t.Context(), &b, filepath.Join(base, "project"), small()); !catalog.SyncFailed.Is(err) ||
		!strings.Contains(err.Error(), "holes") {
		t.Errorf("%v", err)
	}
}

func TestWhatIsThereIsNotTouched(t *testing.T) {
	t.Parallel()
	for _, taken := range []string{"project", "project.roles", "project.collections"} {
		base := t.TempDir()
		path := filepath.Join(base, taken)
		if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		raw := packed(t, regular("project/a", "a"), regular("roles/a", "a"), regular("collections/a", "a"))
		if _, err := unpack(t.Context(), bytes.NewReader(raw), filepath.Join(base, "project"), small()); err == nil {
			t.Errorf("%s is taken", taken)
		}
		if diff := cmp.Diff(map[string]string{taken: "-rw------- mine"}, picture(t, base)); diff != "" {
			t.Error(diff)
		}
	}
}

// FuzzUnpack unpacks arbitrary archives: an accepted one is complete, within its bounds and without a link out of it,
// and a refused one leaves nothing. Neither changes other files.
func FuzzUnpack(f *testing.F) {
	for _, entries := range [][]tar.Header{
		{folder("project/"), regular("project/a", "x"), symlink("project/l", "a")}, {regular("roles/../x", "x")},
		{symlink("project/l", "../../x")},
		{folder("project/d/"), symlink("project/d/up", ".."), symlink("project/l", "d/up/../x"), regular("project/l/x", "x")},
		{special("project/a", tar.TypeChar)}, {regular("collections/"+strings.Repeat("n", 120), "x")},
	} {
		raw := packed(f, entries...)
		f.Add(raw)
		f.Add(raw[:len(raw)-1024])
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		base := t.TempDir()
		beside := filepath.Join(base, "beside")
		if err := os.WriteFile(beside, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(base, "run", "project")
		if err := os.Mkdir(filepath.Dir(dir), 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := unpack(t.Context(), bytes.NewReader(raw), dir, small())
		made := picture(t, base)
		if made["beside"] != "-rw------- mine" {
			t.Errorf("what lay beside is %q", made["beside"])
		}
		delete(made, "beside")
		delete(made, "run")
		if err != nil && len(made) != 0 {
			t.Errorf("after %v there are %v", err, made)
		}
		if err == nil && !bytes.Contains(raw, make([]byte, trailer)) {
			t.Error("an archive without an end is accepted")
		}
		checkUnpacked(t, base, made)
	})
}

func checkUnpacked(t *testing.T, base string, made map[string]string) {
	t.Helper()
	size := 0
	for name, what := range made {
		top, _, _ := strings.Cut(strings.TrimPrefix(name, "run/"), "/")
		if top != "project" && top != "project.roles" && top != "project.collections" {
			t.Errorf("%s is outside", name)
		}
		switch {
		case what[0] == 'd':
		case what[0] == '-' && what[1] == '>':
			full, err := filepath.EvalSymlinks(filepath.Join(base, name))
			if err == nil && full != filepath.Join(base, "run", top) &&
				!strings.HasPrefix(full, filepath.Join(base, "run", top)+"/") {
				t.Errorf("%s leads to %s", name, full)
			}
		case what[0] == '-':
			size += len(what) - len("-rw-r--r-- ")
		default:
			t.Errorf("%s is %s", name, what)
		}
	}
	if b := small(); size > int(b.bytes) || len(made) > b.entries*(b.depth+1)+3 {
		t.Errorf("%d bytes in %d files", size, len(made))
	}
}
