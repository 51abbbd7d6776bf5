package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Limits for reading a directory.
const (
	MaxBytes     = 64 << 20
	MaxDocuments = 10_000
	maxFiles     = 50_000
	maxValues    = 1_000_000
	maxDepth     = 64
)

// reader reads the files of one directory. No name and no link can make it read outside the directory.
type reader struct {
	root   *os.Root
	prefix string // of file names in messages
	bytes  int64  // that may still be read
	values int    // that may still be made
	size   int64  // of texts that may still be made: aliases repeat values
	docs   int
}

// file is the content of one file.
type file struct {
	name     string
	docs     []*Document
	problems Problems
	texts    map[string]Problem // files that it names, with the problem of each that is no text
}

// Read reads a file, or every .yaml and .yml file of a directory except those below names that begin with a dot. Errors
// in the content are Problems.
func Read(name string) ([]*Document, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	dir, one := name, ""
	if !info.IsDir() {
		dir, one = filepath.Dir(name), filepath.Base(name)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	defer func() { _ = root.Close() }()
	r := &reader{root: root, prefix: dir, bytes: MaxBytes, values: maxValues, size: MaxBytes}
	names := []string{one}
	if one == "" {
		if names, err = r.walk(); err != nil {
			return nil, err
		}
	}
	files := make([]*file, 0, len(names))
	for _, n := range names {
		files = append(files, r.file(n))
	}
	return join(files)
}

func (r *reader) walk() ([]string, error) {
	var out []string
	seen := 0
	err := fs.WalkDir(r.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if seen++; seen > maxFiles {
			return Problem{File: r.prefix, Text: fmt.Sprintf("holds more than %d files", maxFiles)}
		}
		switch {
		case name != "." && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
		case !d.IsDir() && (path.Ext(name) == ".yaml" || path.Ext(name) == ".yml"):
			out = append(out, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	return out, nil
}

// join drops files that are the text of a member elsewhere, and refuses an object that is defined twice.
func join(files []*file) ([]*Document, error) {
	texts := make(map[string]Problem)
	for _, f := range files {
		for name, p := range f.texts {
			texts[name] = p
		}
	}
	var docs []*Document
	var problems Problems
	for _, f := range files {
		p, isText := texts[f.name]
		switch {
		case isText && (len(f.problems) == 0 && len(f.docs) > 0 || len(f.texts) > 0):
			problems = append(problems, p)
		case isText:
		default:
			problems = append(problems, f.problems...)
			docs = append(docs, f.docs...)
		}
	}
	first := make(map[Key]*Document)
	for _, d := range docs {
		if other := first[d.Key]; other != nil {
			problems = append(problems, d.Problem("", "%s is already in %s:%d", d.Key, other.File, other.Line))
		} else {
			first[d.Key] = d
		}
	}
	return docs, problems.orNil()
}

// load reads one file within the bounds. The error is a sentence without the file's name.
func (r *reader) load(name string) ([]byte, error) {
	info, err := r.root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("there is no such file")
	case err != nil:
		return nil, fmt.Errorf("cannot be read: %w", bare(err))
	case !info.Mode().IsRegular():
		return nil, errors.New("is not a regular file")
	}
	f, err := r.root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", bare(err))
	}
	defer func() { _ = f.Close() }()
	raw, err := io.ReadAll(io.LimitReader(f, r.bytes+1))
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", bare(err))
	}
	if r.bytes -= int64(len(raw)); r.bytes < 0 {
		r.bytes = 0
		return nil, fmt.Errorf("all files together are larger than %d MiB", MaxBytes>>20)
	}
	if !utf8.Valid(raw) {
		return nil, errors.New("is not UTF-8")
	}
	return raw, nil
}

// bare removes operation and path from an error.
func bare(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func (r *reader) file(name string) *file {
	f := &file{name: name, texts: map[string]Problem{}}
	display := filepath.Join(r.prefix, name)
	raw, err := r.load(name)
	if err != nil {
		f.problems = append(f.problems, Problem{File: display, Text: err.Error()})
		return f
	}
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	for {
		var n yaml.Node
		err := dec.Decode(&n)
		if errors.Is(err, io.EOF) {
			return f
		}
		if err != nil {
			f.problems = append(f.problems, syntax(display, raw, err))
			return f
		}
		if len(n.Content) == 0 || n.Content[0].Kind == yaml.ScalarNode && n.Content[0].Tag == "!!null" {
			continue
		}
		if r.docs++; r.docs > MaxDocuments {
			f.problems = append(f.problems, Problem{File: display, Line: n.Line,
				Text: fmt.Sprintf("there are more than %d documents", MaxDocuments)})
			return f
		}
		d := &decoder{reader: r, file: f, doc: &Document{File: display, Line: n.Content[0].Line, lines: map[string]int{}}}
		d.document(n.Content[0])
		f.docs = append(f.docs, d.doc)
	}
}

// syntax splits an error of the YAML library into line and text. The library names no line for the first one and for
// control characters.
func syntax(name string, raw []byte, err error) Problem {
	p := Problem{File: name, Line: 1, Text: strings.TrimPrefix(err.Error(), "yaml: ")}
	var line int
	if n, _ := fmt.Sscanf(p.Text, "line %d:", &line); n == 1 {
		p.Line = line
		_, p.Text, _ = strings.Cut(p.Text, ": ")
	} else if i := bytes.IndexFunc(raw, func(r rune) bool {
		return unicode.IsControl(r) && !strings.ContainsRune("\t\n\r", r)
	}); i >= 0 {
		p.Line += bytes.Count(raw[:i], []byte("\n"))
	}
	p.Text = "is not YAML: " + p.Text
	return p
}

// beside reads the text file that a member names, relative to the file of the member.
func (r *reader) beside(f *file, name string, at Problem) (string, error) {
	if name == "" || path.IsAbs(name) || strings.ContainsAny(name, "\\\x00") || !filepath.IsLocal(name) {
		return "", fmt.Errorf("%q is not a path below the directory", name)
	}
	name = path.Join(path.Dir(f.name), name)
	raw, err := r.load(name)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	at.Text = fmt.Sprintf("%s is a file of the catalog itself", name)
	f.texts[name] = at
	return string(raw), nil
}

// Answers reads a file of answers: an object whose members are single values, each as written. The file has the limits
// of a catalog; a member without a value is omitted.
func Answers(name string, from io.Reader) (map[string]string, error) {
	raw, err := io.ReadAll(io.LimitReader(from, maxAnswers+1))
	if err != nil {
		return nil, Problem{File: name, Text: "cannot be read: " + bare(err).Error()}
	}
	if len(raw) > maxAnswers {
		return nil, Problem{File: name, Text: fmt.Sprintf("is larger than %d MiB", maxAnswers>>20)}
	}
	var n yaml.Node
	if err := yaml.Unmarshal(raw, &n); err != nil {
		return nil, syntax(name, raw, err)
	}
	out := map[string]string{}
	if len(n.Content) == 0 || plainNull(n.Content[0]) {
		return out, nil
	}
	f := &file{name: name}
	d := &decoder{reader: &reader{values: maxValues, size: MaxBytes}, file: f,
		doc: &Document{File: name, lines: map[string]int{}}}
	d.entries(n.Content[0], "", func(key string, _, v *yaml.Node) {
		if !plainNull(v) {
			out[key] = d.text(v, key)
		}
	})
	return out, f.problems.orNil()
}

// maxAnswers bounds a file of answers, as the server bounds a request.
const maxAnswers = 1 << 20
