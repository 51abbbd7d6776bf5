package archive_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/importers/archive"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/importer"
)

// entry is a file of an archive of a test.
type entry struct {
	name string
	text string
	mode fs.FileMode
	flag uint16
}

func pack(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Flags: e.flag}
		if e.mode != 0 {
			h.SetMode(e.mode)
		}
		f, err := w.CreateHeader(h)
		if err == nil {
			_, err = io.WriteString(f, e.text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// read opens an archive and returns its files in their order.
func read(body []byte) ([]entry, error) {
	a, err := archive.Open(body)
	if err != nil {
		return nil, err
	}
	var out []entry
	err = a.Each(func(string) bool { return true }, func(name string, data []byte) error {
		out = append(out, entry{name: name, text: string(data)})
		return nil
	})
	return out, err
}

func TestOpenReadsFiles(t *testing.T) {
	inner := pack(t, entry{name: "secret", text: "x"})
	body := pack(t, entry{name: "b/", mode: fs.ModeDir | 0o755}, entry{name: "b/two.xml", text: "2"},
		entry{name: `a "quoted" <name>'s.xml`, text: "1"}, entry{name: "empty"}, entry{name: "in.zip", text: string(inner)})
	if !archive.Is(body) || !archive.Is(pack(t)) || archive.Is([]byte("<project/>")) {
		t.Error("Is does not tell archives from other bodies")
	}
	got, err := read(body)
	if err != nil {
		t.Fatal(err)
	}
	want := []entry{
		{name: `a "quoted" <name>'s.xml`, text: "1"}, {name: "b/two.xml", text: "2"}, {name: "empty"},
		{name: "in.zip", text: string(inner)}, // a file like any other
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("files %v, want %v", got, want)
	}
	a, err := archive.Open(body)
	if err != nil || strings.Join(a.Names(), "|") != `a "quoted" <name>'s.xml|b/two.xml|empty|in.zip` {
		t.Errorf("names %q, %v", a.Names(), err)
	}
	stop := errors.New("stop")
	err = a.Each(func(n string) bool { return n != "empty" }, func(string, []byte) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("Each returned %v, want the error of the function", err)
	}
}

// Each of these archives is refused, with a fault that names the entry.
func TestOpenRefusesEntries(t *testing.T) {
	for name, entries := range map[string][]entry{
		"parent":          {{name: "a/../../etc/x"}},
		"parent alone":    {{name: ".."}},
		"absolute":        {{name: "/etc/x"}},
		"drive":           {{name: "C:/x"}},
		"drive, relative": {{name: "c:x"}},
		"backslash":       {{name: `a\..\x`}},
		"network":         {{name: `\\host\x`}},
		"line break":      {{name: "a\nb"}},
		"zero":            {{name: "a\x00b"}},
		"escape":          {{name: "a\x1b[2Jb"}},
		"not UTF-8":       {{name: "a\xff"}},
		"no name":         {{name: ""}},
		"long name":       {{name: strings.Repeat("n", 1025)}},
		"deep":            {{name: strings.Repeat("d/", 40) + "x"}},
		"twice":           {{name: "a", text: "1"}, {name: "a", text: "2"}},
		"twice, cleaned":  {{name: "a/b", text: "1"}, {name: "a//./b", text: "2"}},
		"file and folder": {{name: "a", text: "1"}, {name: "a/", mode: fs.ModeDir}},
		"link":            {{name: "l", text: "/etc/passwd", mode: fs.ModeSymlink | 0o777}},
		"link, written":   {{name: "l", text: "/etc", mode: fs.ModeSymlink | 0o777}, {name: "l/x", text: "1"}},
		"device":          {{name: "d", mode: fs.ModeDevice}},
		"pipe":            {{name: "p", mode: fs.ModeNamedPipe}},
		"encrypted":       {{name: "e", text: "1", flag: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(pack(t, append([]entry{{name: "good", text: "1"}}, entries...)...))
			last := entries[len(entries)-1].name
			if name == "link, written" {
				last = entries[0].name
			}
			var f *fault.Error
			if !errors.As(err, &f) || !importer.Malformed.Is(err) {
				t.Fatalf("fault %v, want malformed_export", err)
			}
			if len(f.Fields) != 1 || f.Fields[0].Location != last {
				t.Errorf("the fault names %v, want %q", f.Fields, last)
			}
			if strings.ContainsAny(err.Error(), "\n\x1b\x00") {
				t.Errorf("the fault has control characters: %q", err)
			}
		})
	}
}

// refuse checks that an archive is refused soon, with little memory.
func refuse(t *testing.T, body []byte, want fault.Code) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	_, err := read(body)
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	if !want.Is(err) {
		t.Errorf("fault %v, want %s", err, want.Name)
	}
	if took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 130 {
		t.Errorf("it allocated %d MiB", used)
	}
}

func TestOpenRefusesManyEntries(t *testing.T) {
	for _, n := range []int{archive.MaxEntries, archive.MaxEntries + 1, 65_000, 65_537} {
		entries := make([]entry, n)
		for i := range entries {
			entries[i].name = fmt.Sprint(i)
		}
		body := pack(t, entries...)
		if n == archive.MaxEntries {
			if files, err := read(body); err != nil || len(files) != n {
				t.Errorf("%d files, %v, want %d", len(files), err, n)
			}
			continue
		}
		refuse(t, body, importer.ArchiveTooLarge)
		// The number in the end of the directory does not matter.
		end := bytes.LastIndex(body, []byte("PK\x05\x06"))
		for _, lie := range []uint16{0, 1, uint16(n)} { //nolint:gosec // The format has the number in 16 bits.
			binary.LittleEndian.PutUint16(body[end+10:], lie)
			refuse(t, body, importer.ArchiveTooLarge)
		}
		// Nor does the place that the end declares.
		size := binary.LittleEndian.Uint32(body[end+12:])
		binary.LittleEndian.PutUint32(body[end+12:], 0)
		refuse(t, body, importer.ArchiveTooLarge)
		binary.LittleEndian.PutUint32(body[end+12:], size)
	}
}

func TestOpenRefusesBombs(t *testing.T) {
	zeros := strings.Repeat("\x00", archive.MaxFile)
	t.Run("file", func(t *testing.T) {
		refuse(t, pack(t, entry{name: "a", text: zeros + "\x00"}), importer.ArchiveTooLarge)
	})
	t.Run("total", func(t *testing.T) {
		var entries []entry
		for i := range archive.MaxTotal/archive.MaxFile + 1 {
			entries = append(entries, entry{name: fmt.Sprint(i), text: zeros})
		}
		refuse(t, pack(t, entries...), importer.ArchiveTooLarge)
	})
	t.Run("largest", func(t *testing.T) {
		if _, err := read(pack(t, entry{name: "a", text: zeros})); err != nil {
			t.Error(err)
		}
	})
	t.Run("file that is not wanted", func(t *testing.T) {
		a, err := archive.Open(pack(t, entry{name: "a", text: zeros + "\x00"}, entry{name: "b", text: "1"}))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		err = a.Each(func(n string) bool { return n == "b" }, func(name string, data []byte) error {
			got = append(got, name+string(data))
			return nil
		})
		if err != nil || fmt.Sprint(got) != "[b1]" {
			t.Errorf("files %v, %v", got, err)
		}
	})
}

// Entries that share the bytes of one compressed file expand to many times the size of the archive.
func TestOpenRefusesSharedBytes(t *testing.T) {
	body := pack(t, entry{name: "a", text: strings.Repeat("0", 1<<20)}, entry{name: "b", text: strings.Repeat("1", 1<<20)})
	dir := bytes.Index(body, []byte("PK\x01\x02"))
	second := dir + 46 + 1
	copy(body[second+16:second+28], body[dir+16:dir+28]) // checksum and sizes
	copy(body[second+42:second+46], body[dir+42:dir+46]) // place of the local header
	refuse(t, body, importer.Malformed)
	// So does one whose bytes contain the header of the next.
	body = pack(t, entry{name: "a", text: "some text"}, entry{name: "b", text: "some more text"})
	dir = bytes.Index(body, []byte("PK\x01\x02"))
	size := binary.LittleEndian.Uint32(body[dir+20:])
	binary.LittleEndian.PutUint32(body[dir+20:], size+40)
	refuse(t, body, importer.Malformed)
}

// Sizes in the directory that are wrong are found, and bound what is read.
func TestEachRefusesLies(t *testing.T) {
	text := strings.Repeat("x", 1<<20)
	for name, size := range map[string]uint32{"smaller": 10, "zero": 0, "larger": 1<<20 + 1, "most": archive.MaxFile} {
		t.Run(name, func(t *testing.T) {
			body := pack(t, entry{name: "a", text: text})
			dir := bytes.Index(body, []byte("PK\x01\x02"))
			binary.LittleEndian.PutUint32(body[dir+24:], size)
			refuse(t, body, importer.Malformed)
		})
	}
	body := pack(t, entry{name: "a", text: text})
	dir := bytes.Index(body, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(body[dir+20:], 1<<30)
	refuse(t, body, importer.Malformed)
	binary.LittleEndian.PutUint32(body[dir+20:], 0xffffffff)
	refuse(t, body, importer.Malformed)
	body = pack(t, entry{name: "a", text: text})
	dir = bytes.Index(body, []byte("PK\x01\x02"))
	body[dir+16] ^= 1 // the checksum
	refuse(t, body, importer.Malformed)
	body[dir+10] = 99 // the method
	refuse(t, body, importer.Malformed)
}

func TestOpenRefusesDamage(t *testing.T) {
	body := pack(t, entry{name: "a", text: "some text"}, entry{name: "b/c", text: "more"})
	for n := range body {
		if _, err := read(body[:n]); !importer.Malformed.Is(err) {
			t.Errorf("the first %d bytes: %v, want malformed_export", n, err)
		}
	}
	large := append([]byte(nil), body...)
	end := bytes.LastIndex(large, []byte("PK\x05\x06"))
	locator := append([]byte("PK\x06\x07"), make([]byte, 16)...)
	large = append(append(append([]byte(nil), large[:end]...), locator...), large[end:]...)
	binary.LittleEndian.PutUint32(large[end+20+16:], 0xffffffff)
	refuse(t, large, importer.ArchiveTooLarge)
}

func FuzzOpen(f *testing.F) {
	f.Add(pack(f, entry{name: "a", text: "1"}, entry{name: "b/c", text: "22"}))
	f.Add(pack(f, entry{name: "../a", text: "1"}))
	f.Add(pack(f))
	f.Fuzz(func(t *testing.T, body []byte) {
		files, err := read(body)
		if err != nil && !importer.Malformed.Is(err) && !importer.ArchiveTooLarge.Is(err) {
			t.Fatalf("an error that is no fault of an archive: %v", err)
		}
		for _, e := range files {
			if !fs.ValidPath(strings.ReplaceAll(e.name, "//", "/")) && !strings.Contains(e.name, "./") {
				t.Errorf("a file with the name %q", e.name)
			}
		}
	})
}
