package manifest

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
)

// secretMember is the member of a credential that files may not have.
const secretMember = "secret"

// clearSecret is the message for a secret that a file contains.
const clearSecret = "is a secret, which no file may contain: let a source provide it, or give it to apply with " +
	"--secret 'CREDENTIAL.%s=@FILE' or =env:VARIABLE"

// clearSecrets refuses the secret members of a credential that a file contains.
func (d *decoder) clearSecrets(n *yaml.Node) {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value != secretMember {
			continue
		}
		v, at := n.Content[i+1], "spec."+secretMember
		for v.Kind == yaml.AliasNode {
			v = v.Alias
		}
		if v.Kind != yaml.MappingNode || len(v.Content) == 0 {
			d.wrong(n.Content[i], at, clearSecret, "MEMBER")
		}
		for j := 0; v.Kind == yaml.MappingNode && j+1 < len(v.Content); j += 2 {
			d.wrong(v.Content[j], join2(at, v.Content[j].Value), clearSecret, v.Content[j].Value)
		}
	}
	spec := d.doc.Spec
	kind, _ := spec["kind"].(string)
	for _, m := range secrets.Kind(kind).Members() {
		if settings, _ := spec["settings"].(map[string]any); m.Secret && settings[m.Name] != nil {
			d.clearSecret("spec.settings."+m.Name, m.Name)
		}
	}
	source, _ := spec["source"].(map[string]any)
	config, _ := source["config"].(map[string]any)
	engine, _ := source["engine"].(string)
	for _, name := range slices.Sorted(maps.Keys(config)) {
		if secretConfig(engine, name) {
			d.clearSecret("spec.source.config."+name, "source."+name)
		}
	}
}

func (d *decoder) clearSecret(at, name string) {
	d.file.problems = append(d.file.problems, d.doc.Problem(at, clearSecret, name))
}

// secretConfig reports whether a member of the config of a secret engine is a secret. Engines of extensions describe
// themselves to the server alone, so for theirs the name decides.
func secretConfig(engine, name string) bool {
	if slices.Contains(extension.BuiltinEngines(), engine) {
		own, known := map[string][]string{
			"vault": {"token", "secret_id"}, "vault_dynamic": {"token", "secret_id"},
			"aws_secretsmanager": {"secret_access_key"}, "azure_keyvault": {"client_secret"},
		}[engine]
		return known && slices.Contains(own, name)
	}
	return runs.LooksSecret(name)
}

// SourceLogins returns the secrets in the config of a built-in engine one of which it needs, none for other engines.
func SourceLogins(engine string) []string {
	return map[string][]string{
		"vault": {"token", "secret_id"}, "vault_dynamic": {"token", "secret_id"}, "azure_keyvault": {"client_secret"},
	}[engine]
}

// ClearFields lists the secret fields of a custom type that a document of a credential contains. fields are those of
// the type; if they are nil, the names decide.
func ClearFields(d *Document, fields []any) Problems {
	var out Problems
	given, _ := d.Spec["fields"].(map[string]any)
	for name := range given {
		secret := fields == nil && runs.LooksSecret(name)
		for _, f := range fields {
			if field, _ := f.(map[string]any); field["name"] == name {
				secret, _ = field["secret"].(bool)
			}
		}
		if secret {
			out = append(out, d.Problem("spec.fields."+name, clearSecret, name))
		}
	}
	slices.SortFunc(out, func(a, b Problem) int { return strings.Compare(a.Path, b.Path) })
	return out
}
