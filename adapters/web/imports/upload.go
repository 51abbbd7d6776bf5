package imports

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/importer"
)

// Bounds of what the form has beside the file.
const (
	maxParts = 16
	maxValue = 4 << 10
)

// upload is the posted form.
type upload struct {
	Values url.Values
	File   string // the name of the file
	Export []byte
}

// read reads the posted form, and keeps its file in memory only. The frame has admitted the caller before. What was
// read until a fault is in the answer too.
func read(r *shell.Request) (upload, error) {
	u := upload{Values: url.Values{}}
	parts, err := r.MultipartReader()
	if err != nil {
		return u, fault.BadField("body", "is no form with a file")
	}
	for range maxParts {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return u, nil
		}
		if err != nil {
			return u, broken(err)
		}
		name, _, _ := strings.Cut(part.FormName(), ":")
		var b bytes.Buffer
		var from io.Reader = part
		if name != fieldFile {
			from = io.LimitReader(part, maxValue)
		} else if part.FileName() != "" && u.Export == nil && r.ContentLength > 0 { // a buffer of that size is made once
			b.Grow(int(min(r.ContentLength, importer.MaxBody)) + bytes.MinRead)
		}
		if _, err := b.ReadFrom(from); err != nil {
			return u, broken(err)
		}
		if name != fieldFile {
			u.Values.Set(name, b.String())
		} else if part.FileName() != "" {
			u.File, u.Export = part.FileName(), b.Bytes()
		}
	}
	return u, fault.BadField("body", "has more than %d parts", maxParts)
}

// broken returns the reason of a form that ends early: that of the frame, or that it is no form.
func broken(err error) error {
	var f *fault.Error
	if errors.As(err, &f) {
		return f
	}
	return fmt.Errorf("read the form of an import: %w", fault.BadField("body", "is no whole form"))
}
