package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync"

	"github.com/danielgtaylor/huma/v2"
)

// encode marshals without the HTML escapes that make text hard to read; nothing here is embedded in HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	err := encodeTo(&b, v)
	return b.Bytes(), err
}

func encodeTo(b *bytes.Buffer, v any) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Encode returns the JSON of a value as answers have it, without the line end that follows them. It fails where JSON
// has no form for the value.
func Encode(v any) ([]byte, error) {
	b, err := encode(v)
	return bytes.TrimSuffix(b, []byte("\n")), err
}

// Encoded is a body of type B with a list whose rows are JSON already.
type Encoded[B any] struct {
	frame []byte
	at    int // of the rows in the frame
	rows  [][]byte
}

// EncodedList returns the body whose first member is a list of these rows, each from Encode. The frame is the rest of
// the body, in which the list is empty and not null. It fails where the frame has another form.
func EncodedList[B any](frame B, rows [][]byte) (Encoded[B], error) {
	b, err := encode(frame)
	if err != nil {
		return Encoded[B]{}, fmt.Errorf("encode answer: %w", err)
	}
	at := bytes.Index(b, []byte(`":[]`)) + len(`":[`)
	if at < len(`":[`) || bytes.IndexByte(b, ',') < at {
		return Encoded[B]{}, errors.New("encode answer: the first member is no empty list")
	}
	return Encoded[B]{b, at, rows}, nil
}

// Schema is that of the type.
func (Encoded[B]) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[B](), true, "")
}

func (e Encoded[B]) encodeTo(b *bytes.Buffer) error {
	b.Write(e.frame[:e.at])
	for i, row := range e.rows {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(row)
	}
	b.Write(e.frame[e.at:])
	return nil
}

// maxKept bounds the buffers that an encoder keeps.
const maxKept = 1 << 20

// encoder encodes bodies of answers into buffers that it uses again.
type encoder struct{ buffers sync.Pool }

// marshal encodes before it writes, so that a value that cannot be encoded is still answered with an error. A failed
// write means that the client is gone, which is not an error of the server.
func (e *encoder) marshal(w io.Writer, v any) error {
	b, ok := e.buffers.Get().(*bytes.Buffer)
	if !ok {
		b = new(bytes.Buffer)
	}
	b.Reset()
	var err error
	if made, ok := v.(interface{ encodeTo(b *bytes.Buffer) error }); ok {
		err = made.encodeTo(b)
	} else {
		err = encodeTo(b, v)
	}
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	_, _ = w.Write(b.Bytes())
	if b.Cap() <= maxKept {
		e.buffers.Put(b)
	}
	return nil
}
