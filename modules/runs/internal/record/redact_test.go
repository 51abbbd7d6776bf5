package record

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/runs"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	r := &runs.Run{
		Vars: runs.Vars{"db_password": []byte(`"s3cret"`), "copy": []byte(`{"deep":["s3cret","plain"]}`),
			"empty_token": []byte(`""`), "n": []byte(`12345678901234567890`)},
		Outputs: runs.Vars{"o": []byte(`"s3cret"`), "e": []byte(`""`)},
		Spec:    runs.Spec{Env: map[string]string{"A": "s3cret", "B": "b"}},
		Graph: &runs.Graph{Vars: runs.Vars{"api_key": []byte(`"k"`)},
			Steps: []runs.StepState{{StepSpec: runs.StepSpec{ExtraVars: runs.Vars{"x": []byte(`"k"`)}},
				Outputs: runs.Vars{"y": []byte(`"k"`)}}}},
	}
	got := Redact(r)
	hidden := []byte(`"[redacted]"`)
	want := &runs.Run{
		Vars: runs.Vars{"db_password": hidden, "copy": []byte(`{"deep":["[redacted]","plain"]}`), "empty_token": hidden,
			"n": []byte(`12345678901234567890`)},
		Outputs: runs.Vars{"o": hidden, "e": []byte(`""`)},
		Spec:    runs.Spec{Env: map[string]string{"A": "[redacted]", "B": "b"}},
		Graph: &runs.Graph{Vars: runs.Vars{"api_key": hidden},
			Steps: []runs.StepState{{StepSpec: runs.StepSpec{ExtraVars: runs.Vars{"x": hidden}},
				Outputs: runs.Vars{"y": hidden}}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if string(r.Vars["db_password"]) != `"s3cret"` || r.Spec.Env["A"] != "s3cret" ||
		string(r.Graph.Vars["api_key"]) != `"k"` {
		t.Error("the record itself changed")
	}
}

func TestRedactHidesTheParentsSecrets(t *testing.T) {
	t.Parallel()
	got := Redact(&runs.Run{Outputs: runs.Vars{"o": []byte(`"s"`)}}, "s")
	if string(got.Outputs["o"]) != `"[redacted]"` {
		t.Errorf("outputs %s", got.Outputs["o"])
	}
	if Redact(nil) != nil {
		t.Error("a missing run is redacted to a run")
	}
}

func TestNamesThatLookSecret(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"password", "db_password", "dbpassword", "DBPassword", "ansible_ssh_pass", "ansible-become-password", "API_TOKEN",
		"APIToken", "authtoken",
		"apiKey", "SSHKey", "private_keys", "client_secret", "clientsecret", "awsSecretAccessKey", "passphrase",
		"credentials", "pwd", "HTTPKey",
	} {
		if !runs.LooksSecret(name) {
			t.Errorf("%s reads back", name)
		}
	}
	for _, name := range []string{"", "name", "keyboard", "monkey", "compass", "tokenizer", "version", "passenger",
		"hosts", "turkeys"} {
		if runs.LooksSecret(name) {
			t.Errorf("%s is hidden", name)
		}
	}
}
