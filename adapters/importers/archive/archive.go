// Package archive reads zip files that nobody vouches for. Nothing is ever extracted to a disk.
package archive

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/importer"
)

// The limits of an archive.
const (
	MaxEntries = 10_000
	MaxTotal   = 256 << 20 // bytes of all files that are read
	MaxFile    = 25 << 20
	maxName    = 1024 // bytes
	maxDepth   = 32
)

// Is reports whether a body is a zip file, by its first bytes. An empty archive is one too.
func Is(body []byte) bool {
	return bytes.HasPrefix(body, []byte("PK\x03\x04")) || bytes.HasPrefix(body, []byte("PK\x05\x06"))
}

// Archive is a zip file whose directory was checked.
type Archive struct{ files []*zip.File }

// Open checks the directory of a zip file. ArchiveTooLarge is an archive beyond the limits. Malformed is one that
// cannot be read, or that has a name that is absolute, leads outside, or occurs twice, a link, an encrypted file, or
// files that share bytes; the fault names the entry.
func Open(body []byte) (*Archive, error) {
	if err := directory(body); err != nil {
		return nil, err
	}
	r, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, importer.Malformed.New("the archive cannot be read: %s", plain(err))
	}
	a := &Archive{}
	seen := make(map[string]bool, len(r.File))
	var total uint64
	for _, f := range r.File {
		if reason := refused(f); reason != "" {
			return nil, badEntry(f.Name, reason)
		}
		if f.CompressedSize64 > uint64(len(body)) {
			return nil, badEntry(f.Name, "is larger than the archive")
		}
		if name := path.Clean(f.Name); seen[name] {
			return nil, badEntry(f.Name, "occurs twice")
		} else {
			seen[name] = true
		}
		if total += f.UncompressedSize64; total > MaxTotal {
			return nil, importer.ArchiveTooLarge.New("the archive has more than %d MiB of files", MaxTotal>>20)
		}
		if !f.FileInfo().IsDir() {
			a.files = append(a.files, f)
		}
	}
	return a, a.overlap()
}

// Names returns the paths of all files, sorted, without directories.
func (a *Archive) Names() []string {
	names := make([]string, len(a.files))
	for i, f := range a.files {
		names[i] = f.Name
	}
	slices.Sort(names)
	return names
}

// Each calls fn with the name and the content of each file that want selects, by name. It stops at the first error.
// ArchiveTooLarge is a file of more than MaxFile bytes.
func (a *Archive) Each(want func(name string) bool, fn func(name string, data []byte) error) error {
	files := slices.SortedFunc(slices.Values(a.files), func(x, y *zip.File) int { return cmp.Compare(x.Name, y.Name) })
	left := int64(MaxTotal)
	for _, f := range files {
		if !want(f.Name) {
			continue
		}
		data, err := content(f, min(MaxFile, left))
		if err != nil {
			return err
		}
		left -= int64(len(data))
		if err := fn(f.Name, data); err != nil {
			return err
		}
	}
	return nil
}

func content(f *zip.File, limit int64) ([]byte, error) {
	if f.UncompressedSize64 > uint64(limit) {
		return nil, importer.ArchiveTooLarge.New("%q of the archive has more than %d MiB", f.Name, limit>>20)
	}
	r, err := f.Open()
	if err != nil {
		return nil, badEntry(f.Name, "cannot be read: "+plain(err))
	}
	defer func() { _ = r.Close() }()
	// The reader refuses more bytes than the directory says.
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, badEntry(f.Name, "cannot be read: "+plain(err))
	}
	if int64(len(data)) > limit {
		return nil, importer.ArchiveTooLarge.New("%q of the archive has more than %d MiB", f.Name, limit>>20)
	}
	return data, nil
}

// refused returns why an entry is not accepted, empty if it is.
func refused(f *zip.File) string {
	name := f.Name
	switch {
	case name == "" || len(name) > maxName || !utf8.ValidString(name) ||
		strings.ContainsFunc(name, unicode.IsControl):
		return "has no usable name"
	case strings.HasPrefix(name, "/") || strings.Contains(name, `\`) || len(name) > 1 && name[1] == ':':
		return "has a path that is not relative"
	case slices.Contains(strings.Split(name, "/"), ".."):
		return "leads outside of the archive"
	case strings.Count(name, "/") > maxDepth:
		return "is nested too deeply"
	case f.Flags&1 != 0:
		return "is encrypted"
	case !f.Mode().IsRegular() && !f.Mode().IsDir():
		return "is a link or a special file"
	}
	return ""
}

// overlap refuses files that share bytes of the archive: they expand to many times its size.
func (a *Archive) overlap() error {
	type span struct {
		from, to int64
		name     string
	}
	spans := make([]span, 0, len(a.files))
	for _, f := range a.files {
		from, err := f.DataOffset()
		if err != nil {
			return badEntry(f.Name, "cannot be read: "+plain(err))
		}
		//nolint:gosec // The directory of a body of this size holds no larger number that reads without an error.
		spans = append(spans, span{from, from + int64(f.CompressedSize64), f.Name})
	}
	slices.SortFunc(spans, func(x, y span) int { return cmp.Compare(x.from, y.from) })
	for i := 1; i < len(spans); i++ {
		if spans[i].from < spans[i-1].to {
			return badEntry(spans[i].name, "shares bytes with another entry")
		}
	}
	return nil
}

func badEntry(name, reason string) error {
	err := importer.Malformed.New("%q of the archive %s", name, reason)
	err.Fields = []fault.Field{{Location: name, Message: reason}}
	return err
}

// plain returns the text of an error of the archive's reader.
func plain(err error) string { return strings.TrimPrefix(err.Error(), "zip: ") }

// directory refuses a directory with too many entries before it is read, because each costs memory. The number that its
// end declares may be wrong, so the entries are counted, wherever the reader may look for them.
func directory(body []byte) error {
	const size = 22
	end := -1
	if len(body) >= size {
		end = bytes.LastIndex(body[:len(body)-size+4], []byte("PK\x05\x06"))
	}
	if end < 0 {
		return importer.Malformed.New("the archive has no directory; it may be cut off")
	}
	declared := int(binary.LittleEndian.Uint16(body[end+10:]))
	length := int(binary.LittleEndian.Uint32(body[end+12:]))
	offset := int(binary.LittleEndian.Uint32(body[end+16:]))
	if end >= 20 && bytes.HasPrefix(body[end-20:], []byte("PK\x06\x07")) && (length == 0xffff || offset == 0xffffffff) {
		return importer.ArchiveTooLarge.New("the archive has the form for more than 65,534 entries or 4 GiB")
	}
	for _, n := range []int{declared, headers(body, end-length), headers(body, offset)} {
		if n > MaxEntries {
			return importer.ArchiveTooLarge.New("the archive has more than %d entries", MaxEntries)
		}
	}
	return nil
}

// headers counts the entries of a directory at an offset of body.
func headers(body []byte, offset int) int {
	const size = 46
	n := 0
	for offset >= 0 && offset+size <= len(body) && bytes.HasPrefix(body[offset:], []byte("PK\x01\x02")) {
		n++
		length := size
		for _, at := range []int{28, 30, 32} { // the lengths of the name, the extra fields and the comment
			length += int(binary.LittleEndian.Uint16(body[offset+at:]))
		}
		offset += length
	}
	return n
}
