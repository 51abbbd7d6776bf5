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

// windowBody is of a window of the past.
func (w *fixture) windowBody() harness.Body {
	return harness.Body{"name": w.name("w"), "mode": "deny", "outside": "wait", "from": "2020-01-01T00:00",
		"to": "2020-01-01T01:00"}
}

// secretCalls prepares the recorded operations on credentials and their custom types, on policies and windows.
func secretCalls() map[string]func(w *fixture) call {
	out := map[string]func(w *fixture) call{}
	for _, k := range []struct {
		noun, path, kind string
		body             func(w *fixture) harness.Body
	}{
		{"credential", "/v1/credentials", "credential", (*fixture).credentialBody},
		{"credential-type", "/v1/credential-types", "credential_type", (*fixture).typeBody},
		{"policy", "/v1/policies", "policy", (*fixture).policyBody},
		{"window", "/v1/windows", "window", (*fixture).windowBody},
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
