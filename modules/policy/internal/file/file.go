package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/policy"
)

// readEvery is the pause between two looks at the file.
const readEvery = 10 * time.Second

// File is a file with policies. It is safe for concurrent use.
type File struct {
	source policy.Source
	now    atomic.Pointer[content]
	// Loop reads the file. It has to be started, and may be stopped at any time.
	Loop *background.Loop
}

// content is what was read last: the text, the last good policies by name with those of them that are enabled, their
// number, and what is wrong with the text.
type content struct {
	text         []byte
	all, enabled []policy.Policy
	number       int64
	problem      string
}

// New reads a file. The error names the file, and the field at fault.
func New(source policy.Source, log *slog.Logger, o background.Observer) (*File, error) {
	f := &File{source: source}
	f.now.Store(&content{})
	f.Loop = &background.Loop{Name: "policy file", Pass: f.read, First: readEvery, Every: readEvery, Log: log, Observer: o}
	if err := f.read(context.Background()); err != nil {
		return nil, err
	}
	return f, nil
}

// read reads the file again. A bad file leaves the last good policies in force. It returns an error once for each text.
func (f *File) read(context.Context) error {
	was := f.now.Load()
	text, changed, err := f.source.Read()
	if err == nil && was.number > 0 && bytes.Equal(text, was.text) {
		return nil
	}
	var all []policy.Policy
	if err == nil {
		all, err = parse(text, changed.UTC().Truncate(time.Microsecond))
	}
	if err == nil {
		enabled := slices.DeleteFunc(slices.Clone(all), func(p policy.Policy) bool { return !p.Enabled })
		f.now.Store(&content{text: text, all: all, enabled: enabled, number: was.number + 1})
		return nil
	}
	problem := fmt.Sprintf("policy-file: %s: %v", f.source.Path, err)
	if problem == was.problem {
		return nil
	}
	next := *was
	next.text, next.problem = text, problem
	f.now.Store(&next)
	return errors.New(problem)
}

// All returns the policies by name. The caller does not change them.
func (f *File) All() []policy.Policy { return f.now.Load().all }

// Enabled returns the enabled policies by name, with a number that changes with them. The caller does not change them.
func (f *File) Enabled() ([]policy.Policy, int64) {
	c := f.now.Load()
	return c.enabled, c.number
}

// Problem says why the present file is not used, and is empty if it is.
func (f *File) Problem() string { return f.now.Load().problem }
