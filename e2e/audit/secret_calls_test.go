package audit

import "github.com/writ-automation/writ/e2e/harness"

func (w *world) credentialBody() harness.Body {
	return harness.Body{"name": w.name("d"), "kind": "token", "secret": harness.Body{"token": password}}
}

func (w *world) typeBody() harness.Body {
	return harness.Body{"name": w.name("y"), "fields": []harness.Body{{"name": "key", "type": "text", "secret": true}}}
}

// secretCalls prepares the recorded operations on credentials and on their custom types.
func secretCalls() map[string]func(w *world) call {
	out := map[string]func(w *world) call{}
	for _, k := range []struct {
		noun, path, kind string
		body             func(w *world) harness.Body
	}{
		{"credential", "/v1/credentials", "credential", (*world).credentialBody},
		{"credential-type", "/v1/credential-types", "credential_type", (*world).typeBody},
	} {
		out["create-"+k.noun] = func(w *world) call { return call{path: k.path, object: k.kind, body: k.body(w)} }
		out["update-"+k.noun] = func(w *world) call {
			body := k.body(w)
			return call{path: k.path + "/" + w.id(k.path, body), object: k.kind, body: body}
		}
		out["delete-"+k.noun] = func(w *world) call { return call{path: k.path + "/" + w.id(k.path, k.body(w)), object: k.kind} }
	}
	return out
}
