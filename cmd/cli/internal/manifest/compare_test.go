package manifest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/cmd/cli/internal/manifest"
)

type obj = map[string]any

// TestSame compares values with the different form in which the server stores them.
func TestSame(t *testing.T) {
	t.Parallel()
	n := func(s string) json.Number { return json.Number(s) }
	for _, c := range []struct {
		kind       string
		was, wants obj
		same       bool
	}{
		{manifest.Template, obj{"tool": "ansible"}, obj{}, true},
		{manifest.Template, obj{}, obj{"tool": "ansible", "forks": n("0"), "tags": []any{}, "labels": obj{}, "dry_run": false,
			"limit": ""}, true},
		{manifest.Template, obj{}, obj{"shards": n("1")}, true},
		{manifest.Template, obj{"shards": n("512"), "verbosity": n("4")},
			obj{"shards": n("99999999999999999999"), "verbosity": n("7")}, true},
		{manifest.Template, obj{"verbosity": n("3")}, obj{"verbosity": n("4")}, false},
		{manifest.Template, obj{"extra_vars": obj{"a": n("1.0"), "b": n("100")}},
			obj{"extra_vars": obj{"a": n("1"), "b": n("1e2")}}, true},
		{manifest.Template, obj{"extra_vars": obj{"a": n("9007199254740993")}},
			obj{"extra_vars": obj{"a": n("9007199254740992")}}, false},
		{manifest.Template, obj{"extra_vars": obj{"a": n("1")}}, obj{"extra_vars": obj{"a": "1"}}, false},
		{manifest.Template, obj{"extra_vars": obj{"a": nil}}, obj{"extra_vars": obj{}}, false},
		{manifest.Template, obj{"survey": []any{obj{"var": "a", "min": n("0")}}}, obj{"survey": []any{obj{"var": "a"}}},
			false},
		{manifest.Template, obj{"survey": []any{obj{"var": "a", "required": false}}},
			obj{"survey": []any{obj{"var": "a"}}}, true},
		{manifest.Template, obj{"steps": []any{obj{"name": "a", "fail_on": []any{}}}}, obj{"steps": []any{obj{"name": "a"}}},
			false},
		{manifest.Schedule, obj{"pipeline": obj{"steps": []any{obj{"name": "a", "credentials": []any{}}}}},
			obj{"pipeline": obj{"steps": []any{obj{"name": "a"}}}}, false},
		{manifest.Template, obj{"steps": []any{obj{"name": "a", "tags": []any{}}}}, obj{"steps": []any{obj{"name": "a"}}},
			true},
		{manifest.Schedule, obj{"enabled": true}, obj{}, true},
		{manifest.Schedule, obj{"overlap": "skip"}, obj{}, true},
		{manifest.Schedule, obj{"overlap": "allow"}, obj{}, false},
		{manifest.Template, obj{"when_busy": "queue"}, obj{}, true},
		{manifest.Template, obj{"max_concurrent": json.Number("1")}, obj{}, true},
		{manifest.Template, obj{"max_concurrent": json.Number("0")}, obj{}, false},
		{manifest.Template, obj{"max_concurrent": json.Number("0")}, obj{"max_concurrent": json.Number("0")}, true},
		{manifest.Inventory, obj{"max_concurrent": json.Number("0")}, obj{}, true},
		{manifest.Schedule, obj{"enabled": false}, obj{}, false},
		{manifest.Trigger, obj{"require_signature": true, "events": []any{}, "branch": ""}, obj{}, true},
		{manifest.Inventory, obj{"content": "x", "format": "json"}, obj{}, true},
		{manifest.Inventory, obj{"content": "x", "format": "json"}, obj{"content": ""}, false},
		{manifest.Source, obj{"kind": "plugin", "config": obj{"plugin": "x", "url": ""}},
			obj{"kind": "plugin", "config": obj{"plugin": "x"}}, false},
	} {
		k, _ := manifest.KindOf(c.kind)
		if got := len(manifest.Compare(k, c.was, c.wants)) == 0; got != c.same {
			t.Errorf("%s %v and %v: same is %v", c.kind, c.was, c.wants, got)
		}
	}
}

// TestDiffsShowNoSecrets changes every secret that a document can hold.
func TestDiffsShowNoSecrets(t *testing.T) {
	t.Parallel()
	secrets := func(s string) map[string]obj {
		notify := []any{obj{"kind": "slack", "url": "https://user:" + s + "@chat.example.org/" + s},
			obj{"kind": "pagerduty", "key": s}}
		vars := obj{"db_password": s, "a": obj{"tokens": []any{s}, "b": []any{obj{"api_key": s}}}}
		return map[string]obj{
			manifest.Template: {"extra_vars": vars, "notifications": notify,
				"steps": []any{obj{"name": "a", "extra_vars": vars}}},
			manifest.Source: {"kind": "http", "config": obj{"url": "https://x", "headers": obj{"Authorization": s, "X": s}}},
			manifest.Schedule: {"answers": obj{"password": s},
				"run": obj{"extra_vars": vars, "notifications": notify, "env": obj{"API_TOKEN": s}}},
		}
	}
	one, two := secrets("hunter1"), secrets("hunter2")
	plugin := func(s string) obj { return obj{"kind": "plugin", "config": obj{"plugin": "x", "password": s}} }
	for _, c := range []struct {
		kind     string
		was, now obj
	}{
		{manifest.Template, one[manifest.Template], two[manifest.Template]}, {manifest.Template, nil, two[manifest.Template]},
		{manifest.Source, one[manifest.Source], two[manifest.Source]},
		{manifest.Schedule, one[manifest.Schedule], two[manifest.Schedule]},
		{manifest.Source, plugin("hunter1"), plugin("hunter2")},
	} {
		k, _ := manifest.KindOf(c.kind)
		changes := manifest.Compare(k, c.was, c.now)
		if len(changes) == 0 {
			t.Errorf("%s: no change", c.kind)
		}
		for _, x := range changes {
			if content := strings.Join(x.Lines, "\n"); strings.Contains(content, "hunter") {
				t.Errorf("%s: %s shows\n%s", c.kind, x.Member, content)
			}
		}
	}
}

// TestAPIForm converts a document to a request body and back.
func TestAPIForm(t *testing.T) {
	t.Parallel()
	web := manifest.Key{Kind: manifest.Inventory, Name: "web"}
	d := &manifest.Document{Key: manifest.Key{Kind: manifest.Schedule, Name: "s"}, Spec: obj{
		"cron": "@daily", "run": obj{"tool": "bash", "command": "x", "inventory": manifest.Ref{Key: web},
			"inventory_path": "hosts",
			"credentials":    []any{manifest.Ref{Key: manifest.Key{Kind: manifest.Credential}, ID: "crd_1"}}},
	}}
	body, err := manifest.ToAPI(d, nil, func(k manifest.Key) (string, error) { return "id of " + k.Name, nil })
	want := obj{"name": "s", "cron": "@daily", "enabled": true, "run": obj{
		"tool": "bash", "command": "x", "inventory_id": "id of web", "inventory": "hosts", "credential_ids": []any{"crd_1"},
	}}
	if diff := cmp.Diff(want, body); diff != "" || err != nil {
		t.Error(diff, err)
	}
	k, _ := manifest.KindOf(manifest.Schedule)
	back := manifest.FromAPI(k, body, func(kind, id string) manifest.Ref {
		if id == "id of web" {
			return manifest.Ref{Key: web}
		}
		return manifest.Ref{Key: manifest.Key{Kind: kind}, ID: id}
	})
	if diff := cmp.Diff(d.Spec, back); diff != "" {
		t.Error(diff)
	}
	i := &manifest.Document{Key: web, Spec: obj{}}
	if body, err := manifest.ToAPI(i, nil, nil); err != nil ||
		!cmp.Equal(body, obj{"name": "web", "content": "", "known_hosts": "", "format": "ini"}) {
		t.Errorf("a new inventory without content: %v %v", body, err)
	}
	if body, err := manifest.ToAPI(i, obj{"content": "{}", "format": "json"}, nil); err != nil ||
		!cmp.Equal(body, obj{"name": "web", "format": "json"}) {
		t.Errorf("one that is there: %v %v", body, err)
	}
}
