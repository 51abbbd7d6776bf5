package httpapi

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// TestEncodedListsAreThoseOfJSON compares bodies whose rows were encoded one by one with the same bodies encoded at
// once.
func TestEncodedListsAreThoseOfJSON(t *testing.T) {
	t.Parallel()
	type row struct {
		Name string  `json:"name"`
		More []int64 `json:"more"`
	}
	type body struct {
		Rows []row  `json:"rows"`
		Next string `json:"next"`
	}
	e := new(encoder)
	rapid.Check(t, func(t *rapid.T) {
		whole := body{Rows: []row{}, Next: rapid.String().Draw(t, "next")}
		var rows [][]byte
		for _, name := range rapid.SliceOfN(rapid.String(), 0, 5).Draw(t, "names") {
			one := row{Name: name, More: rapid.SliceOfN(rapid.Int64(), 0, 3).Draw(t, "more")}
			text, err := Encode(one)
			if err != nil {
				t.Fatal(err)
			}
			whole.Rows, rows = append(whole.Rows, one), append(rows, text)
		}
		made, err := EncodedList(body{Rows: []row{}, Next: whole.Next}, rows)
		if err != nil {
			t.Fatal(err)
		}
		var got, want bytes.Buffer
		if err := e.marshal(&got, made); err != nil {
			t.Fatal(err)
		}
		if err := e.marshal(&want, whole); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Fatalf("%s\n%s", got.String(), want.String())
		}
	})
	for _, frame := range []any{
		struct{ Rows []row }{}, struct{ Rows []row }{[]row{{}}}, struct{ A int }{}, struct{ A, B []row }{B: []row{}}, 7,
	} {
		if made, err := EncodedList(frame, nil); err == nil {
			t.Errorf("%+v is a frame: %+v", frame, made)
		}
	}
}

// TestWhatCannotBeEncodedIsAnError uses the buffer again after it.
func TestWhatCannotBeEncodedIsAnError(t *testing.T) {
	t.Parallel()
	e := new(encoder)
	var out bytes.Buffer
	if err := e.marshal(&out, map[string]any{"f": func() {}}); err == nil || out.Len() > 0 {
		t.Errorf("wrote %q, %v", out.String(), err)
	}
	if err := e.marshal(&out, []int{1}); err != nil || out.String() != "[1]\n" {
		t.Errorf("wrote %q, %v", out.String(), err)
	}
}
