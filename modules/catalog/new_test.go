package catalog_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/modules/catalog"
	portcatalog "github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
)

func TestInventories(t *testing.T) {
	t.Parallel()
	in := catalog.NewInventories()
	const text = "[web]\nw[1:3] port=80\n[all:vars]\nenv=prod\n"
	got, err := in.Parse([]byte(text), portcatalog.INI)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"w1", "w2", "w3"}, got.Hosts); diff != "" {
		t.Error(diff)
	}
	if hosts, groups, err := in.Count([]byte(text), portcatalog.INI); hosts != 3 || groups != 1 || err != nil {
		t.Errorf("%d hosts, %d groups, %v", hosts, groups, err)
	}
	if _, err := in.Parse([]byte("[web\n"), portcatalog.INI); !fault.Is(err, fault.Invalid) {
		t.Errorf("a group that is not closed: %v", err)
	}
}

func TestSurveys(t *testing.T) {
	t.Parallel()
	s := catalog.NewSurveys()
	fields, err := s.Decode(json.RawMessage(`[{"var": "n", "type": "int", "min": 1, "max": 3, "required": true}]`))
	if err != nil {
		t.Fatal(err)
	}
	if vars, err := s.Answer(fields, map[string]any{"n": json.Number("2")}); err != nil || vars["n"] != int64(2) {
		t.Errorf("%v, %v", vars, err)
	}
	if _, err := s.Answer(fields, map[string]any{"n": json.Number("4")}); !fault.Is(err, fault.Invalid) {
		t.Errorf("beyond the bound: %v", err)
	}
	if _, err := s.Decode(json.RawMessage(`[{"var": "n", "type": "int", "min": 3, "max": 1}]`)); !fault.Is(err, fault.Invalid) {
		t.Errorf("a survey that contradicts itself: %v", err)
	}
}
