package db_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/platform/db"
)

// TestDocuments keeps the characters of raw members and the digits of numbers.
func TestDocuments(t *testing.T) {
	t.Parallel()
	type document struct {
		Raw  json.RawMessage `json:"raw"`
		Any  any             `json:"any"`
		Text string          `json:"text"`
	}
	want := document{json.RawMessage(`{"b":"<&>","a":1.10}`), map[string]any{"n": json.Number("12345678901234567890.10")},
		"<a href='x'>&"}
	column, err := db.Document(want)
	if err != nil {
		t.Fatal(err)
	}
	if text := `{"raw":{"b":"<&>","a":1.10},"any":{"n":12345678901234567890.10},"text":"<a href='x'>&"}`; column != text {
		t.Error(column)
	}
	var got document
	if err := db.ReadDocument(column, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDocumentsFail(t *testing.T) {
	t.Parallel()
	if _, err := db.Document(make(chan int)); err == nil {
		t.Error("a channel has no form in JSON")
	}
	for _, column := range []string{"", "{", `"text"`} {
		var list []string
		if err := db.ReadDocument(column, &list); err == nil {
			t.Errorf("%q is read as %q", column, list)
		}
	}
}
