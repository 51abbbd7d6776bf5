package catalogtest

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

func templateCases() txtest.Cases[*env] {
	return txtest.Cases[*env]{
		"every member of a template": everyMember,
		"values keep their digits":   digits,
		"a large template":           largeTemplate,
	}
}

// raw returns compact JSON.
func raw(s string) json.RawMessage { return json.RawMessage(s) }

// hard returns variables whose values must not be reinterpreted by a store.
func hard() runs.Vars {
	return runs.Vars{
		"int": raw("123456789012345678901234567890"), "float": raw("0.10000000000000000001"), "exp": raw("1E+400"),
		"zero": raw("-0.0"),
		"text": raw(`"<a href='x'>&amp; \u0000 \ud800 漢"`), "null": raw("null"), "list": raw(`[1,1.0,{"a":{},"a b":[]}]`),
		odd: raw(`true`),
	}
}

// fullSpec sets every member.
func fullSpec() catalog.TemplateSpec {
	return catalog.TemplateSpec{
		Tool: "ansible", Playbook: "a/" + odd, Command: odd, Shards: 3, InventoryID: "inv_1", Inventory: odd,
		ProjectID: "prj_1", InventoryQuery: odd,
		ExtraVars: hard(),
		Controls: runs.Controls{Limit: odd, Tags: []string{"b", "a", odd}, SkipTags: []string{odd}, Forks: 5,
			Verbosity: 4, DiffMode: true},
		TimeoutSeconds: 1 << 30, Notifications: []runs.Notification{{Kind: "slack", URL: odd, Key: odd, To: odd,
			OnFailure: true}, {Kind: "b"}},
		Survey: raw(`[{"var":"n","type":"int","default":12345678901234567890,"help":"<&>"}]`),
		Steps: []runs.StepSpec{
			{Name: "a", Tool: "bash", Command: odd, Retries: 2, ContinueOnFailure: true, ExtraVars: hard(),
				Templated: []string{odd}, FailOn: []string{}, RequireApproval: true},
			{Name: odd, Playbook: odd, DependsOn: []string{"a"}, Limit: odd, Tags: []string{"t"}, SkipTags: []string{"s"},
				TimeoutSeconds: 7,
				CredentialIDs:  []string{"crd_1"}, InventoryID: "inv_2", Queue: odd},
		},
		CredentialIDs: []string{"crd_2", "crd_1"}, SelectableCredentialIDs: []string{"crd_9", "crd_3"}, Queue: odd,
		Labels: map[string]string{"a": odd, odd: ""}, Change: odd, DryRun: true, DryRunExecutes: true,
		AllowOverrides: []string{"tags", "limit"},
		AllowedVars:    []string{"ansible_user", odd}, IsolationProfile: odd, FailOn: []string{"unreachable", "no_hosts"},
		RequireApproval: true, MaxConcurrent: runs.MaxConcurrent, WhenBusy: runs.BusyReplace, Locks: []string{"b", odd},
		ExclusiveHosts: true,
	}
}

// everyMember checks that the fixture sets every member of the type, so that the cases cover new members.
func everyMember(t *testing.T, e *env) {
	spec := fullSpec()
	v := reflect.ValueOf(spec)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if v.Field(i).IsZero() {
			t.Errorf("the fixture leaves %s empty", name)
			continue
		}
		one := catalog.TemplateSpec{}
		reflect.ValueOf(&one).Elem().Field(i).Set(v.Field(i))
		s := templates(e)
		want := catalog.Template{Record: e.Record(s.Prefix, name), TemplateSpec: one}
		e.Must(t, func(ctx context.Context) error { return s.Insert(ctx, want) })
		txtest.Same(t, name+" alone", want, s.Get(t, want.ID))
	}
}

func digits(t *testing.T, e *env) {
	s := templates(e)
	v := s.Full(e.Record(s.Prefix, ""))
	e.Must(t, func(ctx context.Context) error { return s.Insert(ctx, v) })
	for range 3 {
		is := s.Get(t, v.ID)
		for name, value := range hard() {
			txtest.Same(t, name, string(value), string(is.ExtraVars[name]))
			txtest.Same(t, name+" of a step", string(value), string(is.Steps[0].ExtraVars[name]))
		}
		txtest.Same(t, "survey", string(v.Survey), string(is.Survey))
		e.Must(t, func(ctx context.Context) error { // stores the read value again
			_, err := s.Update(ctx, is, 0)
			return err
		})
	}
}

func largeTemplate(t *testing.T, e *env) {
	s := templates(e)
	v := s.Full(e.Record(s.Prefix, ""))
	v.ExtraVars["large"] = raw(`"` + strings.Repeat("漢?'", 30_000) + `"`)
	e.Must(t, func(ctx context.Context) error { return s.Insert(ctx, v) })
	txtest.Same(t, "read", v, s.Get(t, v.ID))
	txtest.Same(t, "listed", []catalog.Template{v}, s.All(t, catalog.Filter{}))
}
