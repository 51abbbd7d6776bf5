package inject_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/modules/secrets/internal/inject"
	"github.com/writ-automation/writ/ports/secrets"
)

func fields() []secrets.Field {
	return []secrets.Field{
		{Name: "url", Type: secrets.Text, Default: "https://d.example"}, {Name: "note", Type: secrets.Text},
		{Name: "verify", Type: secrets.Bool}, {Name: "quick", Type: secrets.Bool, Default: true},
		{Name: "hidden", Type: secrets.Bool, Secret: true},
		{Name: "level", Type: secrets.Choice, Choices: []string{"low", "high"}},
		{Name: "api_key", Type: secrets.Text, Secret: true, Required: true},
		{Name: "cert", Type: secrets.Multiline, Secret: true},
	}
}

func custom(in secrets.Injectors, values map[string]string, set map[string]any) inject.Opened {
	o := opened(secrets.Custom, values, nil)
	o.TypeID, o.Fields = "cty_1", set
	o.Type = secrets.Type{Fields: fields(), Inject: in}
	return o
}

func TestOfCustom(t *testing.T) {
	t.Parallel()
	key := map[string]string{"api_key": "key-1"}
	for _, tt := range []struct {
		name   string
		o      inject.Opened
		want   plain
		hidden []string
	}{
		{
			"texts", custom(secrets.Injectors{Env: map[string]string{"A": "{{ api_key }}@{{url}}/{{note}}", "B": "{{level}}"}},
				key,
				map[string]any{"level": "high"}),
			plain{Env: map[string]string{"A": "key-1@https://d.example/", "B": "high"}}, []string{"key-1"},
		},
		{
			"what a value holds is no template", custom(secrets.Injectors{Env: map[string]string{"A": "{{note}}"}}, key,
				map[string]any{"note": "{{api_key}} {{files.x}}"}),
			plain{Env: map[string]string{"A": "{{api_key}} {{files.x}}"}}, []string{"key-1"},
		},
		{
			"switches", custom(secrets.Injectors{
				Env: map[string]string{"V": "{{verify}}", "Q": "{{quick}}", "H": "{{hidden}}"},
				ExtraVars: map[string]any{
					"v": "{{ verify }}", "q": "{{quick}}", "h": "{{hidden}}", "text": "is {{quick}}",
					"deep": map[string]any{"list": []any{"{{quick}}", "{{url}}", float64(3), nil, true}},
				},
			}, map[string]string{"api_key": "key-1", "hidden": "true"}, map[string]any{"quick": false}),
			plain{
				Env: map[string]string{"V": "", "Q": "false", "H": "true"},
				Vars: map[string]any{
					"v": false, "q": false, "h": true, "text": "is false",
					"deep": map[string]any{"list": []any{false, "https://d.example", float64(3), nil, true}},
				},
			}, []string{"key-1"},
		},
		{
			"files", custom(secrets.Injectors{
				Env:       map[string]string{"KUBECONFIG": "{{files.kube-config}}", "TAKEN": "mine"},
				ExtraVars: map[string]any{"path": "at {{ files.CERT_FILE }}"},
				Files: map[string]string{"kube-config": "key={{api_key}}", "CERT_FILE": "{{cert}}", "TAKEN": "x",
					"WRIT_RUN_ID": "y"},
			}, map[string]string{"api_key": "key-1", "cert": "line one\nline two"}, nil),
			plain{
				Files: map[string]string{id + "/kube-config": "key=key-1", id + "/CERT_FILE": "line one\nline two",
					id + "/TAKEN": "x", id + "/WRIT_RUN_ID": "y"},
				Env: map[string]string{
					"KUBECONFIG": mark("kube-config"), "WRIT_FILE_KUBE_CONFIG": mark("kube-config"),
					"WRIT_FILE_CERT_FILE": mark("CERT_FILE"),
					"CERT_FILE":           mark("CERT_FILE"), "TAKEN": "mine", "WRIT_FILE_TAKEN": mark("TAKEN"),
					"WRIT_FILE_WRIT_RUN_ID": mark("WRIT_RUN_ID"),
				},
				Vars: map[string]any{"path": "at " + mark("CERT_FILE")},
			}, []string{"key-1", "line one\nline two"},
		},
		{
			"a secret is never taken from what is shown", custom(secrets.Injectors{Env: map[string]string{"A": "{{cert}}"}}, key,
				map[string]any{"cert": "shown"}),
			plain{Env: map[string]string{"A": ""}}, []string{"key-1"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := inject.Of(tt.o, keys{})
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Hide = slices.Sorted(slices.Values(tt.hidden))
			if diff := cmp.Diff(tt.want, show(got)); diff != "" {
				t.Errorf("injection (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOfRefusesFilesOutsideOfItsDirectory(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"..", ".", "a/b", "../x", "a\x00", ""} {
		_, err := inject.Of(custom(secrets.Injectors{Files: map[string]string{name: "x"}}, nil, nil), keys{})
		if err == nil {
			t.Errorf("a file %q was made", name)
		}
	}
}
