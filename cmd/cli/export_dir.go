package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/writ-automation/writ/cmd/cli/internal/manifest"
)

// exportDir is the target directory of an export. No name and no link can make it write outside the directory.
type exportDir struct {
	name string
	root *os.Root
}

// openExport opens or creates a directory. A directory with files is refused unless forced; names that begin with a dot
// do not count.
func openExport(dir string, force bool) (*exportDir, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("make the directory: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the directory: %w", err)
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the directory: %w", err), root.Close())
	}
	if !force && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !strings.HasPrefix(e.Name(), ".") }) {
		_ = root.Close()
		return nil,
			fmt.Errorf("%s is not empty: name another directory, or use --force to replace the files of the same objects",
				dir)
	}
	return &exportDir{name: dir, root: root}, nil
}

func (e *exportDir) close() error { return e.root.Close() }

// exportFolder is the folder of one kind.
type exportFolder struct {
	*exportDir
	kind  manifest.Kind
	files map[manifest.Key]string   // documents that are there, by their object
	texts map[manifest.Key][]string // and the files that they name
	taken map[string]bool           // names of documents, without extension
}

// folder reads the names in the folder of a kind.
func (e *exportDir) folder(k manifest.Kind) (*exportFolder, error) {
	f := &exportFolder{
		exportDir: e, kind: k, files: map[manifest.Key]string{}, texts: map[manifest.Key][]string{}, taken: map[string]bool{},
	}
	entries, err := fs.ReadDir(e.root.FS(), k.Plural)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the directory: %w", err)
	}
	for _, x := range entries {
		base, _, _ := strings.Cut(x.Name(), ".")
		f.taken[base] = true
		if path.Ext(x.Name()) != ".yaml" || !x.Type().IsRegular() {
			continue
		}
		// This command did not write a file with several documents, or with anything but documents.
		docs, err := manifest.Read(path.Join(e.name, k.Plural, x.Name()))
		if err == nil && len(docs) == 1 && docs[0].Kind == k.Name && f.files[docs[0].Key] == "" {
			f.files[docs[0].Key] = x.Name()
			f.texts[docs[0].Key] = docs[0].Texts
		}
	}
	return f, nil
}

// put writes a document and its text files, and returns their names.
func (f *exportFolder) put(d *manifest.Document, x manifest.Index) ([]string, error) {
	file := f.files[d.Key]
	if file == "" {
		base := manifest.Slug(d.Name)
		for n := 2; f.taken[base]; n++ {
			base = fmt.Sprintf("%s-%d", manifest.Slug(d.Name), n)
		}
		f.taken[base] = true
		file = base + ".yaml"
	}
	raw, beside, err := manifest.Encode(d, strings.TrimSuffix(file, ".yaml"), x)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Key, err)
	}
	if err := f.root.MkdirAll(f.kind.Plural, 0o750); err != nil {
		return nil, fmt.Errorf("make the directory: %w", err)
	}
	var written []string
	for _, name := range sortedNames(beside) {
		if err := f.file(name, beside[name], slices.Contains(f.texts[d.Key], name)); err != nil {
			return written, err
		}
		written = append(written, path.Join(f.kind.Plural, name))
	}
	if err := f.file(file, string(raw), f.files[d.Key] != ""); err != nil {
		return written, err
	}
	return append(written, path.Join(f.kind.Plural, file)), nil
}

func sortedNames(m map[string]string) []string {
	var out []string
	for name := range m {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// file writes a file whole or not at all. An existing file is replaced only if it belongs to the same object.
func (f *exportFolder) file(name, input string, known bool) error {
	at := path.Join(f.kind.Plural, name)
	if _, err := f.root.Lstat(at); !errors.Is(err, fs.ErrNotExist) && !known {
		return fmt.Errorf("%s exists and is not a file of an earlier export: move it away", path.Join(f.name, at))
	}
	part := path.Join(f.kind.Plural, "."+name+".part")
	w, err := f.root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("write the export: %w", err)
	}
	_, err = io.WriteString(w, input)
	if err := errors.Join(err, w.Close()); err != nil {
		_ = f.root.Remove(part)
		return fmt.Errorf("write the export: %w", err)
	}
	if err := f.root.Rename(part, at); err != nil {
		_ = f.root.Remove(part)
		return fmt.Errorf("write the export: %w", err)
	}
	return nil
}
