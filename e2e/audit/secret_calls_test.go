package audit

import "github.com/writ-automation/writ/e2e/harness"

func (w *fixture) credentialBody() harness.Body {
	return harness.Body{"name": w.name("d"), "kind": "token", "secret": harness.Body{"token": password}}
}

func (w *fixture) typeBody() harness.Body {
	return harness.Body{"name": w.name("y"), "fields": []harness.Body{{"name": "key", "type": "text", "secret": true}}}
}

// policyBody is of a policy that holds no run.
func (w *fixture) policyBody() harness.Body {
	return harness.Body{"name": w.name("p"), "effect": "require_approval", "enabled": false}
}

// secretCalls prepares the recorded operations on credentials and their custom types, and on policies.
func secretCalls() map[string]func(w *fixture) call {
	out := map[string]func(w *fixture) call{}
	for _, k := range []struct {
		noun, path, kind string
		body             func(w *fixture) harness.Body
	}{
		{"credential", "/v1/credentials", "credential", (*fixture).credentialBody},
		{"credential-type", "/v1/credential-types", "credential_type", (*fixture).typeBody},
		{"policy", "/v1/policies", "policy", (*fixture).policyBody},
	} {
		out["create-"+k.noun] = func(w *fixture) call { return call{path: k.path, object: k.kind, body: k.body(w)} }
		out["update-"+k.noun] = func(w *fixture) call {
			body := k.body(w)
			return call{path: k.path + "/" + w.id(k.path, body), object: k.kind, body: body}
		}
		out["delete-"+k.noun] = func(w *fixture) call {
			return call{path: k.path + "/" + w.id(k.path, k.body(w)), object: k.kind}
		}
	}
	return out
}
